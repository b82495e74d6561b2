"""GuanDan for PettingZoo: `env()` and `raw_env`."""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.guandan import render
from envs.guandan.cards import CARDS, KINDS, RANKS, Notation, notation
from envs.guandan.game import GuanDan, describe
from envs.guandan.scene import check_view
from envs.guandan.state import NOBODY
from envs.pettingzoo_view import METADATA, wrapped
from envs.ragged_view import RaggedGameEnv
from envs.sparse import dense

GUANDAN_METADATA = {**METADATA, "render_modes": ["human", "ansi", "rgb_array"], "name": "guandan_v0"}

HIGHEST_RANK = 14  # of a red joker
COLUMNS = (*(2,) * len(CARDS), len(KINDS) - 1, HIGHEST_RANK)


class raw_env(RaggedGameEnv):
    """GuanDan for four without wrappers: ``player_0`` and ``player_2`` against ``player_1`` and ``player_3``.

    A step is a play, a pass, a tribute or the return of a card. An action is a number of the list of legal actions that
    the mover's observation shows, see `RaggedGameEnv`. A row of ``legal_actions``, `int8[56]`, is an action's card
    vector of 54 numbers (see `envs.guandan.cards`), its kind, 0 .. 12 by `cards.KINDS`, and its rank, 0 .. 12 for
    2 .. A and 13, 14 for the jokers, of a sequence that of the lowest card: the same cards can be read in several ways.
    `legal_actions` gives the same list as people write it. ``observation`` is the vector of `GuanDan.encode`, for a
    player who is out of cards as well.

    Rewards are points, in a match too: at the end of every round 3, 2 or 1 for each of the winners and the negative for
    the others, or 0 for all if the winners were to close a level A and could not. Their undiscounted sum says nothing
    of who won a match; that is in the infos.

    ``infos[agent]`` has the ``action_mask``; from the end of the first round on ``last_round``: its number from 1, the
    players in the ``order`` in which they went out, and of each player the ``points`` and the ``level`` that its team
    has reached; and at the end of the game the ``winners`` and the ``ending`` of its last round.

    Args:
        length, situation, double_tribute, a_attempts: See `envs.guandan.GuanDan`.
        encoding: One of those of `GuanDan.encode`: ``flat``, 513 numbers, ``no_wild_flags``, 501, or either of them
            with two for the phase, ``tribute`` and ``tribute_no_wild_flags``.
        render_mode: ``ansi``, ``rgb_array``, or ``human``, which prints the text after each step.
        view: Whose cards a picture shows: a seat, 0 .. 3, or None for a spectator who sees all.

    Raises:
        TypeError, ValueError: an option that is none of those allowed.
        IllegalAction: from `step`, for a number beyond the list.
        GameOver: before the first `reset`, and from `step`, `observe` and `last` after the end.
    """

    metadata = GUANDAN_METADATA
    game: GuanDan

    def __init__(
        self,
        length: Literal["round", "match"] = "round",
        situation: Literal["first", "drawn"] = "drawn",
        double_tribute: Literal["by_card", "by_seat"] = "by_card",
        a_attempts: int = 3,
        encoding: str = "flat",
        render_mode: str | None = None,
        view: int | None = None,
    ) -> None:
        check_view(view)
        game = GuanDan(length, situation, double_tribute, a_attempts)
        super().__init__(game, "guandan_v0", encoding, render_mode)
        EzPickle.__init__(self, length, situation, double_tribute, a_attempts, encoding, render_mode, view)
        self.view = view

    def observation_bounds(self) -> tuple[float, float]:
        """A partner's last move is -1 when the partner is out, and there are two of a card."""
        return -1.0, 2.0

    def action_box(self) -> gymnasium.spaces.Box:
        return gymnasium.spaces.Box(np.zeros(len(COLUMNS), np.int8), np.array(COLUMNS, np.int8), dtype=np.int8)

    def action_rows(self, actions: NDArray[np.void]) -> NDArray[np.int8]:
        rows = np.empty((len(actions), len(COLUMNS)), np.int8)
        vectors = np.empty((len(actions), len(CARDS)), np.float32)
        dense(*self.game.encode_actions(actions), vectors)
        rows[:, : len(CARDS)] = vectors
        rows[:, -2], rows[:, -1] = actions["kind"], actions["rank"]
        return rows

    def describe(self, action: np.void) -> str:
        return describe(action)

    def legal_actions(self) -> list[Notation]:
        """What the player to move may do, by number, such as ``("Pair", "3", ["S3", "H3"])``.

        Raises:
            GameOver: no game has begun.
        """
        self.require_game()
        return [notation(action) for action in self._legal]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self._last_round: dict[str, Any] | None = None
        super().reset(seed, options)

    def play(self, agent: str, action: object) -> None:
        super().play(agent, action)
        if self._round_ended:
            state, points = self.states[0], self.gained()
            self._last_round = {
                "number": int(self.game.rounds(self.states)[0]),
                "order": [self.possible_agents[seat] for seat in state["former"]],
                "points": {a: float(points[seat]) for seat, a in enumerate(self.possible_agents)},
                "level": {a: RANKS[state["levels"][seat % 2]] for seat, a in enumerate(self.possible_agents)},
            }

    def _look(self) -> None:
        super()._look()
        winner = int(self.game.winners(self.states)[0])
        for info in self.infos.values():
            if self._last_round is not None:
                info["last_round"] = self._last_round
            if winner != NOBODY:
                info["winners"] = self.possible_agents[winner::2]

    def picture(self, state: np.void) -> str | NDArray[np.uint8]:
        draw = render.rgb_array if self.render_mode == "rgb_array" else render.ansi
        return draw(state, self.view)


def env(**options: Any) -> AECEnv:
    """GuanDan with PettingZoo's usual wrappers: an illegal move ends the game with -3 for its player and 0 for others.

    Args:
        options: Those of `raw_env`.
    """
    raw = raw_env(**options)
    return wrapped(raw, illegal_reward=-raw.game.spec.max_return)


__all__ = ["env", "raw_env"]
