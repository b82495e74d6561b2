"""An agent at a table of the GuanDan competition: messages in, choices out."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dancfr.serve.guandan.notation import Option, option_of
from dancfr.serve.guandan.request import Request
from dancfr.serve.guandan.view import View
from dancfr.serve.messages import (
    Message,
    ProtocolError,
    read_field,
    read_integer,
    read_json,
    read_list,
    read_plain,
)
from envs.agent import RaggedAgent
from envs.game import States
from envs.guandan import GuanDan
from envs.guandan.cards import RANKS
from envs.guandan.state import SEATS

MATCH = GuanDan(length="match", situation="first", double_tribute="by_seat", a_attempts=0)
"""The rules of the recorded engine. A client uses them for legal actions and infostates only, which are the same under
all options."""


class Client:
    """One seat, played by an agent at any server of the competition's format.

        client = Client(agent)
        answer = client.receive(message)    # None, or {"actIndex": 7} if the message asks for a decision

    The client may join in the middle of a match, and messages may arrive twice. If the server does not offer the action
    that the agent wants, the client answers with the closest one: the same cards as another combination, else another
    action of the same kind, else a pass.

    Args:
        agent: Any agent that plays GuanDan. It sees a table that holds what its seat knows.
        game: The rules, for the agent.
        seed: Of the agent's random draws.

    Attributes:
        victories: Matches won by each seat, once the server has sent the final result.
    """

    def __init__(self, agent: RaggedAgent, game: GuanDan = MATCH, seed: int = 0) -> None:
        self._agent = agent
        self._game = game
        self._rng = np.random.default_rng(seed)
        self._view = View()
        self._begun = False
        self.victories: list[int] | None = None

    @property
    def states(self) -> States:
        """The table as the seat knows it, `[1]` records."""
        return self._view.states

    @property
    def seat(self) -> int | None:
        """The own seat; None until a message reveals it."""
        return self._view.seat

    def receive(self, message: str | bytes | Mapping[str, Any]) -> dict[str, int] | None:
        """Handles a message.

        Returns:
            The answer to an act message; None for all others, unknown ones included.

        Raises:
            ProtocolError: The message is not a JSON object, or a field of a known kind of message is missing or wrong.
                The client keeps what it knew before.
        """
        read = read_json(message) if isinstance(message, (str, bytes, bytearray)) else read_plain(message)
        kind, stage = read.get("type"), read.get("stage")
        for name, value in (("type", kind), ("stage", stage)):
            if not isinstance(value, str):
                raise ProtocolError(name, "missing" if name not in read else "a word was expected")
        if kind == "act":
            return {"actIndex": self._choose(Request.read(read))}
        if kind == "notify":
            self._update(str(stage), read)
        return None

    def _update(self, stage: str, message: Message) -> None:
        view = self._view
        if stage == "beginning":
            view.beginning(message)
            if view.rounds == 0:
                self._begun = False
        elif stage == "play":
            view.play(message)
        elif stage == "tribute":
            view.tribute(message)
        elif stage == "back":
            view.back(message)
        elif stage == "anti-tribute":
            view.anti_tribute()
        elif stage == "episodeOver":
            view.episode_over(message)
        elif stage in ("gameOver", "gameResult"):
            if stage == "gameResult":
                self.victories = read_victories(message)
            view.forget_match()

    def _choose(self, request: Request) -> int:
        self._view.act(request)
        if not self._begun:
            self._agent.begin(self._game, 1, self._rng)
            self._begun = True
        if len(self._game.legal(self.states).rows) == 0:  # the rules know no action here: take the server's first
            return 0
        action = self._agent.act(self.states, np.zeros(1, np.int64), self._rng)[0]
        return closest_option(option_of(action), request.options[: request.last + 1])


def closest_option(wanted: Option, options: list[Option]) -> int:
    """The index of an action in a list, or of the closest one to it.

    Args:
        wanted: The action.
        options: At least one action.
    """
    if wanted in options:
        return options.index(wanted)
    kind, rank, cards = wanted
    same_cards = [i for i, option in enumerate(options) if option[2] == cards]
    if same_cards:
        return same_cards[0]
    same_kind = [i for i, option in enumerate(options) if option[0] == kind and len(option[2]) == len(cards)]
    if same_kind:
        return min(same_kind, key=lambda i: abs(_order(options[i][1]) - _order(rank)))
    passes = [i for i, option in enumerate(options) if option[0] == "PASS"]
    return passes[0] if passes else 0


def read_victories(message: Message) -> list[int]:
    """Matches won by each seat, from a final result.

    Raises:
        ProtocolError: The field is missing or wrong.
    """
    won = read_list(read_field(message, "victoryNum"), "victoryNum", SEATS)
    if len(won) != SEATS:
        raise ProtocolError("victoryNum", f"four seats were expected, got {len(won)}")
    return [read_integer(each, "victoryNum", 0, 10**9) for each in won]


def _order(rank: str) -> int:
    """Position of a rank in the natural order."""
    return f"{RANKS}BR".find(rank)
