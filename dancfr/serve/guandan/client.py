"""An agent at a table of the GuanDan competition: messages in, choices out."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dancfr.serve.guandan.incoming import Beginning, EpisodeOver, Exchange, GameResult, Kind, Play, Request
from dancfr.serve.guandan.notation import Option, option_of
from dancfr.serve.guandan.view import View
from dancfr.serve.messages import Message, read, read_object
from envs.agent import ListedAgent
from envs.game import States
from envs.guandan import GuanDan
from envs.guandan.rules.cards import RANKS

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

    def __init__(self, agent: ListedAgent, game: GuanDan = MATCH, seed: int = 0) -> None:
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
        """The client's seat; None until a message reveals it."""
        return self._view.seat

    def receive(self, message: str | bytes | Mapping[str, Any]) -> dict[str, int] | None:
        """Handles a message.

        Returns:
            The answer to an act message; None for all others, unknown ones included.

        Raises:
            ProtocolError: The message is not a JSON object, or a field of a known kind of message is missing or wrong.
                The client keeps what it knew before.
        """
        plain = read_object(message)
        kind = read(Kind, plain)
        if kind.type == "act":
            return {"actIndex": self._choose(Request.read(plain))}
        if kind.type == "notify":
            self._update(kind.stage, plain)
        return None

    def _update(self, stage: str, message: Message) -> None:
        view = self._view
        if stage == "beginning":
            view.beginning(read(Beginning, message))
            if view.rounds == 0:
                self._begun = False
        elif stage == "play":
            view.play(read(Play, message))
        elif stage == "tribute":
            view.tribute(read(Exchange, message))
        elif stage == "back":
            view.back(read(Exchange, message))
        elif stage == "anti-tribute":
            view.anti_tribute()
        elif stage == "episodeOver":
            view.episode_over(read(EpisodeOver, message))
        elif stage in ("gameOver", "gameResult"):
            if stage == "gameResult":
                self.victories = read(GameResult, message).victories
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


def _order(rank: str) -> int:
    """Position of a rank in the natural order."""
    return f"{RANKS}BR".find(rank)
