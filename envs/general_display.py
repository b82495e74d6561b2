"""The display of any game with numbered actions: the game's own description, or the numbers of the infostate."""

from typing import Any, Generic, TypeVar

import numpy as np

from envs.display import Plain
from envs.extensive import FactoredGame
from envs.game import Game, States

MOST_NUMBERS = 256
"""Numbers of an infostate that are shown, at most."""

Rules = TypeVar("Rules", bound=Game)


class GeneralDisplay(Generic[Rules]):
    """Shows a game by its own words (`FactoredGame.describe`), and by `facts` where a game's display has them.

    A game without words is shown by the numbers of the infostate of the viewer, as a net sees them.

    Args:
        game: The rules.

    Attributes:
        game: As given.
    """

    def __init__(self, game: Rules) -> None:
        self.game = game
        rules: Game = game
        self._words = rules if isinstance(rules, FactoredGame) else None

    def scene(self, state: np.void, viewer: int | None) -> Plain:
        """See `Display.scene`: ``text``, ``facts`` and ``numbers``, each of them or null.

        ``numbers`` has the infostate of each player who may be looked at: ``[[index, value], ...]`` without zeros.
        """
        facts = self.facts(state, viewer)
        if self._words is not None or facts is not None:
            text = None if self._words is None else self._words.describe(state, viewer)
            return {"text": text, "facts": facts, "numbers": None}
        players = range(self.game.spec.num_players) if viewer is None else (viewer,)
        states = np.array([state])
        return {"text": None, "facts": None, "numbers": {str(p): self._numbers(states, p) for p in players}}

    def facts(self, state: np.void, viewer: int | None) -> list[Plain] | None:
        """The facts that a player knows, or all of them for None, see `envs.facts`; None if the game has none."""
        return None

    def _numbers(self, states: States, player: int) -> list[list[float]]:
        packed = self.game.observe(states, np.array([player], np.int8))
        values = self.game.encode(packed, next(iter(self.game.spec.shapes)))[0].ravel()
        at = np.flatnonzero(values)[:MOST_NUMBERS]
        return [[int(i), round(float(values[i]), 4)] for i in at]

    def choices(self, states: States) -> list[Plain]:
        return [{"label": self._name(int(action))} for action in np.flatnonzero(self.game.legal(states)[0])]

    def event(self, before: np.void, action: Any, after: np.void, viewer: int | None) -> Plain:
        """See `Display.event`. A move of another player is hidden unless the game says that all moves are seen."""
        player = int(self.game.to_move(np.array([before]))[0])
        if viewer in (None, player) or getattr(self.game, "public_actions", False):
            return {"label": self._name(int(action))}
        return {"label": "", "hidden": True}

    def _name(self, action: int) -> str:
        return f"action {action}" if self._words is None else str(self._words.describe_action(action))


__all__ = ["GeneralDisplay"]
