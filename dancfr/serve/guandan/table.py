"""A match of GuanDan as the competition's messages: the engine's states, written for each seat."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancfr.serve.guandan.notation import NO_ACTION, JokerBomb, written
from dancfr.serve.messages import Message
from envs.game import Ragged, States
from envs.guandan import GuanDan
from envs.guandan.rules.cards import CARDS, PASS, RANKS, unpack
from envs.guandan.rules.state import GIVE_BACK, NOBODY, PAY, PLAY, SEATS


class Post(NamedTuple):
    """A message and its receiver; None stands for all four seats, in turn."""

    seat: int | None
    message: Message


class Table:
    """One match. The messages are those of the recorded engine, except for the order of cards and of actions.

    A match repeats these steps until it is `over`: `opening` at the beginning of a round, then `act` and `play` until
    `round_ended`.

    Args:
        game: The rules. With the length ``round`` the match ends after its first round.
        seed: Of the deals, 0 .. 2^64 - 1.
        joker_bomb: How the bomb of four jokers is written.
    """

    def __init__(self, game: GuanDan, seed: int, joker_bomb: JokerBomb = "competition") -> None:
        self.game = game
        self.joker_bomb = joker_bomb
        self.states: States = game.start(np.array([seed], np.uint64))
        self.round_ended = True
        self._options: Ragged | None = None
        # The last action and the one to beat are kept from one round into the tributes of the next, as the recorded
        # engine shows them there.
        self._current: tuple[int, list[Any] | None] = (NOBODY, NO_ACTION)
        self._greater: tuple[int, list[Any]] = (NOBODY, NO_ACTION)
        self._areas: list[list[Any] | None] = [None] * SEATS

    @property
    def state(self) -> np.void:
        """The state's record."""
        state: np.void = self.states[0]
        return state

    @property
    def seat(self) -> int:
        """The seat that has to act; -1 once the match is over."""
        return int(self.state["to_move"])

    @property
    def over(self) -> bool:
        """Whether the match has ended."""
        return self.seat == NOBODY

    @property
    def options(self) -> NDArray[np.void]:
        """The legal actions of the seat that has to act, `[A]` records, in the order of `actionList`."""
        if self._options is None:
            self._options = self.game.legal(self.states)
        return self._options.rows

    def opening(self) -> list[Post]:
        """The messages that begin a round."""
        state = self.state
        self.round_ended = False
        self._options = None
        self._areas = [None] * SEATS
        posts = [Post(seat, self.beginning(seat)) for seat in range(SEATS)]
        if state["refused"]:
            payers = sorted(int(state["former"][place]) for place in ((2, 3) if self._double else (3,)))
            posts.append(Post(None, _notify("anti-tribute", antiNum=len(payers), antiPos=payers)))
        return posts

    @property
    def _double(self) -> bool:
        first, second = (int(seat) for seat in self.state["former"][:2])
        return first % 2 == second % 2

    def beginning(self, seat: int) -> Message:
        """The message to a seat at the beginning of a round."""
        state, team = self.state, seat % 2
        return _notify(
            "beginning",
            handCards=self._hand(seat),
            myPos=seat,
            curRank=int(state["level"]) + 2,
            selfRank=int(state["levels"][team]) + 2,
            oppoRank=int(state["levels"][1 - team]) + 2,
        )

    def act(self) -> Message:
        """The request to the seat that has to act."""
        state, team = self.state, self.seat % 2
        stage = {PLAY: "play", PAY: "tribute", GIVE_BACK: "back"}[int(state["phase"])]
        actions = [written(row, self.joker_bomb) for row in self.options]
        return {
            "type": "act",
            "stage": stage,
            "handCards": self._hand(self.seat),
            "publicInfo": [
                {"rest": rest, "playArea": area} for rest, area in zip(self._rests(), self._areas, strict=True)
            ],
            "selfRank": RANKS[state["levels"][team]],
            "oppoRank": RANKS[state["levels"][1 - team]],
            "curRank": RANKS[state["level"]],
            "curPos": self._current[0],
            "curAction": self._current[1],
            "greaterPos": self._greater[0],
            "greaterAction": self._greater[1],
            "actionList": actions,
            "indexRange": len(actions) - 1,
        }

    def play(self, index: int) -> list[Post]:
        """Plays an action by its index in `actionList`.

        Returns:
            The messages about the action, and about the result of the round if it has ended.

        Raises:
            IndexError: There is no such action.
        """
        return self.step(self.options[index : index + 1] if index >= 0 else self.options[:0])

    def step(self, action: NDArray[np.void]) -> list[Post]:
        """Plays an action record, `[1]`; see `play`.

        Raises:
            IndexError: The array is not of length 1.
            IllegalAction: The action is not legal.
        """
        if len(action) != 1:
            raise IndexError("no such action")
        before = self.states.copy()[0]
        self.game.step(self.states, action)
        self._options = None
        if before["phase"] == PAY:
            return self._after_tribute()
        if before["phase"] == GIVE_BACK:
            return self._after_return(before)
        return self._after_move(before, action[0])

    def _after_move(self, before: np.void, action: np.void) -> list[Post]:
        seat, move, state = int(before["to_move"]), written(action, self.joker_bomb), self.state
        self._current = (seat, move)
        if action["kind"] != PASS:
            self._greater = (seat, move)
        self._areas[seat] = move
        posts = [Post(None, _notify("play", **self._moves()))]
        if self.over or state["number"] != before["number"]:
            self.round_ended = True
            rests = [
                [other, unpack(before["low"][other], before["high"][other])]
                for other in range(SEATS)
                if before["left"][other] > 0 and other != seat
            ]
            order = [int(each) for each in state["former"]]
            level = RANKS[before["level"]]
            posts.append(Post(None, _notify("episodeOver", curRank=level, order=order, restCards=rests)))
        elif state["beat_kind"] == PASS:
            for cleared in (seat, int(before["holder"])):
                self._areas[cleared] = NO_ACTION
            self._current = self._greater = (NOBODY, NO_ACTION)
        return posts

    def _after_tribute(self) -> list[Post]:
        state = self.state
        if state["phase"] == PAY:
            self._current = self._greater = (NOBODY, NO_ACTION)
            return []
        self._current = (NOBODY, None)
        return [Post(None, _notify("tribute", result=_routes(state, "payer", "receiver", "paid")))]

    def _after_return(self, before: np.void) -> list[Post]:
        state = self.state
        if state["phase"] == GIVE_BACK:
            self._current = (int(before["to_move"]), None)
            return []
        self._current = (NOBODY, None)
        return [Post(None, _notify("back", result=_routes(state, "receiver", "payer", "back")))]

    def _moves(self) -> dict[str, Any]:
        return {
            "curPos": self._current[0],
            "curAction": self._current[1],
            "greaterPos": self._greater[0],
            "greaterAction": self._greater[1],
        }

    def _hand(self, seat: int) -> list[str]:
        return unpack(self.state["low"][seat], self.state["high"][seat])

    def _rests(self) -> list[int]:
        """Cards in hand as messages show them: the card of the first of two tributes or returns is in no hand yet."""
        state = self.state
        rests = [int(count) for count in state["left"]]
        if state["phase"] in (PAY, GIVE_BACK) and state["settled"] == 1:
            rests[int(state["payer"][0])] -= 1
        return rests


def closing(match: int, matches: int) -> Message:
    """The message to all seats after match number `match`, from 1, of `matches`."""
    return _notify("gameOver", curTimes=match, settingTimes=matches)


def result(victories: list[int]) -> Message:
    """The message to all seats after the last match, with the matches that each seat has won."""
    return _notify("gameResult", victoryNum=victories, draws=[0] * SEATS)


def _routes(state: np.void, giver: str, taker: str, card: str) -> list[list[Any]]:
    return [[int(state[giver][i]), int(state[taker][i]), CARDS[state[card][i]]] for i in range(int(state["tributes"]))]


def _notify(stage: str, **fields: Any) -> Message:
    return {"type": "notify", "stage": stage, **fields}
