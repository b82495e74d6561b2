"""The knowledge of one seat about a match, rebuilt from the competition's messages as a state of the engine.

The state holds the seat's hand, all cards played, the cards left, levels, tributes and the action to beat. The cards
that the seat cannot know are dealt to the other hands in the right numbers. `GuanDan.observe` shows the same for this
state as for the real one.
"""

import numpy as np

from dancfr.serve.guandan.incoming import MAX_HAND, Beginning, EpisodeOver, Exchange, Play, Request, Route
from envs.game import States
from envs.guandan.rules.cards import CARDS, DECK_HIGH, DECK_LOW, PASS, card_bit
from envs.guandan.rules.shown import note
from envs.guandan.rules.state import NOBODY, OVER, PAY, PLAY, SEATS, clear_trick, state_dtype
from envs.guandan.rules.tables import finish_levels

_DECK = int(DECK_LOW) | int(DECK_HIGH) << 64
_ONES = _DECK >> 1  # the lower bit of the two that count each card
_MAX_COUNT = 65_535  # of the counters in a state


class View:
    """The knowledge of one seat. Each method handles one kind of message.

    Attributes:
        states: The state, `[1]` records; an agent can decide on it after `act`.
        seat: The client's seat; None until it is known or guessed.
        certain: Whether a message has named the seat; otherwise it was guessed from a request.
    """

    def __init__(self) -> None:
        self.states: States = np.zeros(1, state_dtype)
        self.seat: int | None = None
        self.certain = False
        self._asked = False  # with an uncertain seat: the next play message shows the client's action, and so the seat
        self.forget_match()

    @property
    def _table(self) -> np.void:
        state: np.void = self.states[0]
        return state

    @property
    def rounds(self) -> int:
        """Rounds of the match that have ended, as far as the seat knows."""
        return int(self._table["number"])

    def forget_match(self) -> None:
        """Begins a new match."""
        self.states[:] = np.zeros(1, state_dtype)
        self._decisions = 0
        self._began: tuple[int, int, int] = (0, 0, 0)  # hand, rounds and decisions at the beginning of this round
        for name in ("winner", "owner", "former", "to_move"):
            self._table[name] = NOBODY
        self._begin_round()

    def _begin_round(self) -> None:
        table = self._table
        for name in ("low", "high", "tributes", "settled", "refused", "phase"):
            table[name] = 0
        table["left"] = 27
        self._exchanged: dict[str, list[Route]] = {}
        self._forget_plays()

    def _forget_plays(self) -> None:
        table = self._table
        for name in ("played_low", "played_high", "last_low", "last_high", "out", "shown"):
            table[name] = 0
        table["order"] = NOBODY
        clear_trick(self.states[0])
        self._last_play: tuple[int, bytes] | None = None

    def beginning(self, message: Beginning) -> None:
        """A round begins."""
        low, high, count = message.hand
        seat = message.seat
        levels = message.level, message.own_level, message.other_level
        if levels == (0, 0, 0):
            self.forget_match()
        self.seat, self.certain, self._asked = seat, True, False
        self._begin_round()
        table = self._table
        if self._began[:2] == (_joined(low, high), self.rounds):  # repeated after a reconnection, as the plays will be
            self._decisions = self._began[2]
        self._began = (_joined(low, high), self.rounds, self._decisions)
        table["winner"] = NOBODY
        table["low"][seat], table["high"][seat], table["left"][seat] = low, high, count
        self._set_levels(seat, *levels)
        former = [int(each) for each in table["former"]]
        if former[0] != NOBODY:  # who pays whom, unless an anti-tribute follows
            table["tributes"] = 2 if former[0] % 2 == former[1] % 2 else 1
            for i in range(int(table["tributes"])):
                table["payer"][i], table["receiver"][i] = former[3 - i], former[i]

    def _set_levels(self, seat: int, level: int, own: int, others: int) -> None:
        table, team = self._table, seat % 2
        for side, known in ((team, own), (1 - team, others)):
            if known < table["levels"][side]:  # the team fell back after its failures at level A
                table["attempts"][side] = 0
            table["levels"][side] = known
        table["level"] = level
        if table["former"][0] == NOBODY and own != others and level in (own, others):
            table["owner"] = team if level == own else 1 - team

    def anti_tribute(self) -> None:
        """The payers hold both red jokers, so neither pays tribute."""
        self._table["tributes"], self._table["refused"] = 0, 2

    def tribute(self, message: Exchange) -> None:
        """All tributes of the round have been paid."""
        self._exchange(message.routes, "payer", "receiver", "paid")

    def back(self, message: Exchange) -> None:
        """All cards in return for tributes have been given back."""
        self._exchange(message.routes, "receiver", "payer", "back")

    def _exchange(self, routes: list[Route], giver: str, taker: str, card: str) -> None:
        if self._exchanged.get(card) == routes:
            return  # the message was repeated
        self._exchanged[card] = routes
        table = self._table
        table["tributes"], table["refused"] = len(routes), 0
        for i, (gives, takes, index) in enumerate(routes):
            table[giver][i], table[taker][i], table[card][i] = gives, takes, index
            table["left"][gives] = max(0, int(table["left"][gives]) - 1)
            table["left"][takes] = min(MAX_HAND, int(table["left"][takes]) + 1)
        self._decisions = min(_MAX_COUNT, self._decisions + len(routes))

    def play(self, message: Play) -> None:
        """A seat has played or passed. A message that is repeated immediately counts once."""
        seat, action = message.seat, message.action
        if self._asked:
            self.seat, self.certain, self._asked = seat, True, False
        played = (seat, action.tobytes())
        if played == self._last_play:
            return
        self._add(seat, action[0])
        note(self.states[0], seat, action[0])
        self._last_play = played
        table = self._table
        table["left"][seat] = max(0, int(table["left"][seat]) - int(action["size"][0]))
        if table["left"][seat] == 0:
            self._note_out(seat)
        self._follow_trick(seat, action[0])
        self._decisions = min(_MAX_COUNT, self._decisions + 1)

    def _add(self, seat: int, action: np.void) -> None:
        """Adds an action. If its cards were played before, those plays belong to another round and are forgotten."""
        if not is_part(_joined(action["low"], action["high"]), _DECK - self._played()):
            self._forget_plays()
        table = self._table
        table["last_low"][seat], table["last_high"][seat] = action["low"], action["high"]
        table["played_low"][seat] += action["low"]
        table["played_high"][seat] += action["high"]

    def _follow_trick(self, seat: int, action: np.void) -> None:
        """Keeps the move to beat, on which the meaning of a pass depends; a request states it as well."""
        table = self._table
        if action["kind"] == PASS:
            table["passes"] = min(SEATS, int(table["passes"]) + 1)
        else:
            for name in ("low", "high", "kind", "rank", "size"):
                table[f"beat_{name}"] = action[name]
            table["holder"], table["passes"] = seat, 0
        others = SEATS - int(table["out"]) - int(table["left"][table["holder"]] > 0)
        if table["passes"] >= others:
            clear_trick(self.states[0])

    def _played_by(self, seat: int) -> int:
        return _joined(self._table["played_low"][seat], self._table["played_high"][seat])

    def _played(self) -> int:
        return sum(self._played_by(seat) for seat in range(SEATS))

    def _note_out(self, seat: int) -> None:
        table = self._table
        if seat not in table["order"].tolist():
            table["order"][table["out"]] = seat
            table["out"] += 1

    def episode_over(self, message: EpisodeOver) -> None:
        """A round has ended; points and levels follow from the order in which the seats went out."""
        order, table = message.order, self._table
        if table["phase"] == OVER and table["former"].tolist() == order:
            return  # the message was repeated
        table["order"] = order
        finish_levels(self.states[0], 0)  # a level that falls is in the next messages
        table["phase"] = OVER
        table["number"] = min(_MAX_COUNT, int(table["number"]) + 1)

    def act(self, request: Request) -> None:
        """The seat is asked for a decision; completes the state from the request."""
        if not self.certain or self.seat is None:
            self.seat, self._asked = request.guessed_seat(), request.phase == PLAY
        seat, table = self.seat, self._table
        self._set_levels(seat, request.level, request.own_level, request.other_level)
        table["low"][seat], table["high"][seat], _ = request.hand
        table["to_move"], table["phase"] = seat, request.phase
        table["left"] = self._settled_hands(request, seat)
        table["left"][seat] = request.hand.size
        table["decisions"] = min(_MAX_COUNT, self._decisions + int(table["settled"] if request.phase != PLAY else 0))
        self._fit_plays(request, seat)
        self._set_trick(request)
        self._deal_unknown(seat)

    def _settled_hands(self, request: Request, seat: int) -> list[int]:
        """Cards left at each seat; sets how many tributes or returns are done.

        After the first of two tributes or returns, the messages show its card in no hand. The engine counts it
        at the payer.
        """
        table, left = self._table, [shown.left for shown in request.shown]
        if request.phase == PLAY:
            table["settled"] = table["tributes"]
            return left
        table["settled"] = 0
        short = [other for other in range(SEATS) if other != seat and left[other] < 27]
        if sum(left) == 2 * len(CARDS) - 1 and short:
            payer = int(table["payer"][0])
            payer = payer if payer in short else short[0]
            if request.phase == PAY:
                table["payer"], table["tributes"] = (payer, seat), 2
            table["settled"] = 1
            left[payer] += 1
        return left

    def _fit_plays(self, request: Request, seat: int) -> None:
        """Forgets plays that contradict the hands. For a seat without known plays, adds its shown action."""
        hand, left = _joined(*request.hand[:2]), [int(each) for each in self._table["left"]]
        played = [count_cards(self._played_by(other)) for other in range(SEATS)]
        if request.phase != PLAY:
            fits = sum(played) == 0
        else:
            fits = all(played[other] + left[other] <= 27 for other in range(SEATS))
        if not fits or not is_part(hand, _DECK - self._played()):
            self._forget_plays()
            played = [0] * SEATS
        for other, shown in enumerate(request.shown):
            if request.phase == PLAY and played[other] == 0 and shown.area is not None:
                area = shown.area[0]
                known = _DECK - hand - self._played()
                if left[other] + int(area["size"]) <= 27 and is_part(_joined(area["low"], area["high"]), known):
                    self._add(other, area)
            if left[other] == 0:
                self._note_out(other)

    def _set_trick(self, request: Request) -> None:
        table, beat, holder = self._table, request.to_beat, request.holder
        for name in ("beat_low", "beat_high", "beat_kind", "beat_rank", "beat_size", "passes"):
            table[name] = 0  # the kind PASS
        table["holder"] = holder
        if beat is not None:
            for name in ("low", "high", "kind", "rank", "size"):
                table[f"beat_{name}"] = beat[name][0]
            between = [(holder + 1 + i) % SEATS for i in range((int(table["to_move"]) - holder - 1) % SEATS)]
            table["passes"] = sum(request.shown[other].left > 0 for other in between)

    def _deal_unknown(self, seat: int) -> None:
        """Deals the cards that were not seen, in order, to the other hands."""
        table = self._table
        unknown = _DECK - _joined(table["low"][seat], table["high"][seat]) - self._played()
        cards = [index for index in range(len(CARDS)) for _ in range(unknown >> 2 * index & 3)]
        for other in range(SEATS):
            if other != seat:
                count = int(table["left"][other])
                bits = [card_bit(index) for index in cards[:count]]
                table["low"][other], table["high"][other] = sum(low for low, _ in bits), sum(high for _, high in bits)
                cards = cards[count:]


def _joined(low: int, high: int) -> int:
    """The two words of a multiset as one number, two bits for each card."""
    return int(low) | int(high) << 64


def count_cards(cards: int) -> int:
    """The number of cards in a multiset."""
    return (cards & _ONES).bit_count() + 2 * (cards >> 1 & _ONES).bit_count()


def is_part(cards: int, whole: int) -> bool:
    """Whether `whole` contains the multiset `cards`: no card has a greater count in `cards`."""
    ones, twos, has_one, has_two = cards & _ONES, cards >> 1 & _ONES, whole & _ONES, whole >> 1 & _ONES
    return not (twos & ~has_two or ones & ~has_one & ~(twos ^ has_two))
