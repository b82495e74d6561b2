"""A second implementation of Cheat, one game in plain Python with a list for each heap of cards, to test the compiled
rules. Ranks are counted from Ace here, and turned only where an action or a state of the compiled rules is read."""

from collections import Counter
from itertools import combinations_with_replacement
from typing import Any

from envs.cheat import Cheat

PASS, CHALLENGE, LAY, ADD = 0, 1, 2, 3


def discards_of(game: Cheat) -> list[tuple[int, ...]]:
    """Every discard that is chosen as a whole, as distances from the current rank, in the order of its actions."""
    found: list[tuple[int, ...]] = []
    for size in range(1, game.max_discard + 1):
        chosen = combinations_with_replacement(range(game.ranks), size)
        found += [c for c in chosen if max(c.count(rank) for rank in c) <= game.copies]
    return found


class StatedCheat:
    """One game after the deal.

    Attributes:
        hands: Ranks that each player holds.
        pile: Who put which rank, the oldest first; without cards that are picked and not yet laid.
        last: Ranks of the discard that is picked or answered.
        known: All that each player has observed, in order.
        seen: For each viewer and holder, ranks that the holder surely has in hand or has put into the pile.
    """

    def __init__(self, game: Cheat, hands: list[list[int]], first: int) -> None:
        self.game, self.hands = game, [sorted(hand) for hand in hands]
        self.wholes = [] if game.picking else discards_of(game)
        self.pile: list[tuple[int, int]] = []
        self.last: list[int] = []
        self.health = [game.health] * game.players
        self.rank = self.plies = self.passes = self.floor = 0
        self.discarder = first
        self.mover: int | None = first
        self.answering = False
        self.turns: list[tuple[int, bool]] = []
        self.winner: int | None = None
        self.loser: int | None = None
        self.ending = "running"
        self.seen = [[Counter[int]() for _ in range(game.players)] for _ in range(game.players)]
        self.known: list[list[Any]] = [[("deal", first, tuple(hand))] for hand in self.hands]

    def distance(self, rank: int) -> int:
        """How many turns away a rank is."""
        return (rank - self.rank) % self.game.ranks

    def face(self, distance: int) -> int:
        return (self.rank + distance) % self.game.ranks

    def legal(self) -> set[int]:
        """Numbers of the legal actions."""
        if self.mover is None:
            return set()
        if self.answering:
            last = not self.hands[self.discarder] and self.passes == self.game.players - 2
            return {CHALLENGE} if last and self.game.challenge_last else {PASS, CHALLENGE}
        hand = self.hands[self.mover]
        if not self.game.picking:
            held = [hand.count(self.face(r)) for r in range(self.game.ranks)]
            return {2 + a for a, whole in enumerate(self.wholes) if all(whole.count(r) <= held[r] for r in whole)}
        more = {ADD + self.distance(rank) for rank in hand if self.distance(rank) >= self.floor}
        return more | ({LAY} if self.last else set())

    def play(self, action: int) -> None:
        """Plays a legal action."""
        self.plies += 1
        if self.answering:
            self._answer(action == CHALLENGE)
        elif not self.game.picking:
            self._lay([self.face(r) for r in self.wholes[action - 2]])
        elif action == LAY:
            self._claim()
        else:
            self._pick(action - ADD)
        if self.mover is not None and self.plies == self.game.ply_limit:
            self._end("ply limit")

    def _tell(self, what: Any) -> None:
        for one in self.known:
            one.append(what)

    def _pick(self, distance: int) -> None:
        assert self.mover is not None
        self.hands[self.mover].remove(self.face(distance))
        self.last.append(self.face(distance))
        self.floor = distance
        if len(self.last) == self.game.max_discard or not self.hands[self.mover]:
            self._claim()
        else:
            self._tell("a card")
            self.known[self.mover].append(distance)

    def _lay(self, cards: list[int]) -> None:
        assert self.mover is not None
        for rank in cards:
            self.hands[self.mover].remove(rank)
        self.last = cards
        self._claim()

    def _claim(self) -> None:
        assert self.mover is not None
        self.pile += [(self.mover, rank) for rank in self.last]
        self._tell(("claim", len(self.last)))
        self.known[self.mover].append(tuple(sorted(self.last)))
        self.answering, self.passes = True, 0
        self.mover = (self.mover + 1) % self.game.players

    def _answer(self, challenge: bool) -> None:
        assert self.mover is not None
        if challenge:
            self._show(self.mover)
            return
        self._tell("pass")
        self.passes += 1
        self.mover = (self.mover + 1) % self.game.players
        if self.passes < self.game.players - 1:
            return
        if self.hands[self.discarder]:
            self._next_turn(False)
        else:
            self.winner = self.discarder
            self._end("hand empty")

    def _show(self, challenger: int) -> None:
        honest = all(rank == self.rank for rank in self.last)
        loser = challenger if honest else self.discarder
        self._learn(loser)
        self._tell(("challenge", tuple(sorted(self.last))))
        self.known[loser].append(("pile", tuple(sorted(rank for _, rank in self.pile))))
        self.hands[loser] = sorted(self.hands[loser] + [rank for _, rank in self.pile])
        self.pile = []
        if self.game.health:
            self.health[loser] -= 1
        if self.game.health and self.health[loser] == 0:
            self.loser = loser
            self._end("health gone")
        elif not self.hands[self.discarder]:
            self.winner = self.discarder
            self._end("hand empty")
        else:
            self._next_turn(True)

    def _learn(self, loser: int) -> None:
        """All see the last discard, each knows their own cards in the pile, and one takes it.

        Of two players the one who takes it knows the cards of the other; of more, not whose they are.
        """
        put, last = [Counter(self.put_by(p)) for p in range(self.game.players)], Counter(self.last)
        for viewer, row in enumerate(self.seen):
            for holder in {*range(self.game.players)} - {viewer}:
                shown = last if holder == self.discarder else Counter[int]()
                if holder == loser:
                    taken = last if self.discarder not in (viewer, holder) else Counter[int]()
                    row[holder] = (row[holder] | shown) + taken + put[viewer]
                elif self.game.players == 2:
                    row[holder] -= put[holder]
                else:
                    row[holder] -= shown
                    hidden = put[holder].total() - shown.total()
                    row[holder] = Counter({rank: n - hidden for rank, n in row[holder].items() if n > hidden})

    def _next_turn(self, challenged: bool) -> None:
        self.turns.append((len(self.last), challenged))
        self.rank = (self.rank + 1) % self.game.ranks
        self.discarder = self.mover = (self.discarder + 1) % self.game.players
        self.answering, self.last, self.floor = False, [], 0

    def _end(self, ending: str) -> None:
        self.ending, self.mover = ending, None

    def returns(self) -> list[float]:
        """1 to a winner from the others in equal shares, or -1 of who lost his health to them."""
        others = self.game.players - 1
        if self.winner is not None:
            return [1.0 if p == self.winner else -1.0 / others for p in range(self.game.players)]
        if self.loser is not None:
            return [-1.0 if p == self.loser else 1.0 / others for p in range(self.game.players)]
        return [0.0] * self.game.players

    def counts(self, cards: list[int]) -> list[int]:
        """Cards by distance from the current rank."""
        return [cards.count(self.face(r)) for r in range(self.game.ranks)]

    def put_by(self, player: int) -> list[int]:
        return [rank for owner, rank in self.pile if owner == player]


__all__ = ["StatedCheat", "discards_of"]
