"""The display of any game with numbered actions: what the game says of itself, or the numbers of the infostate."""

from typing import Any

import numpy as np

from dancfr.serve.browser.displays.display import Plain
from dancfr.serve.browser.displays.small import facts_of
from envs.extensive import FactoredGame
from envs.game import Game, RaggedGame, States

MOST_NUMBERS = 256
"""Numbers of an infostate that are shown, at most."""


class GeneralDisplay:
    """Shows a game by its own words (`FactoredGame.describe`), and by cards and counts where `small` knows them.

    A game without words is shown by the numbers of the infostate of the viewer, as a net sees them.

    Args:
        game: The rules.
    """

    page = "general"

    def __init__(self, game: Game | RaggedGame) -> None:
        self._game: Any = game
        self._words = isinstance(game, FactoredGame)

    def scene(self, state: np.void, viewer: int | None) -> Plain:
        """See `Display.scene`: ``text``, ``facts`` (see `small.facts_of`) and ``numbers``, each of them or null.

        ``numbers`` has the infostate of each player who may be looked at: ``[[index, value], ...]`` without zeros.
        """
        if self._words:
            return {
                "text": self._game.describe(state, viewer),
                "facts": facts_of(self._game, state, viewer),
                "numbers": None,
            }
        players = range(self._game.spec.num_players) if viewer is None else (viewer,)
        states = np.array([state])
        return {"text": None, "facts": None, "numbers": {str(p): self._numbers(states, p) for p in players}}

    def _numbers(self, states: States, player: int) -> list[list[float]]:
        packed = self._game.observe(states, np.array([player], np.int8))
        values = self._game.encode(packed, next(iter(self._game.spec.shapes)))[0].ravel()
        at = np.flatnonzero(values)[:MOST_NUMBERS]
        return [[int(i), round(float(values[i]), 4)] for i in at]

    def choices(self, states: States) -> list[Plain]:
        return [{"label": self._name(int(action))} for action in np.flatnonzero(self._game.legal(states)[0])]

    def event(self, before: np.void, action: Any, after: np.void, viewer: int | None) -> Plain:
        """See `Display.event`. A move of another player is hidden unless the game says that all moves are seen."""
        player = int(self._game.to_move(np.array([before]))[0])
        if viewer in (None, player) or getattr(self._game, "public_actions", False):
            return {"label": self._name(int(action))}
        return {"label": "", "hidden": True}

    def _name(self, action: int) -> str:
        return str(self._game.describe_action(action)) if self._words else f"action {action}"


__all__ = ["GeneralDisplay"]
