"""GuanDan for PettingZoo: `env()` and `raw_env`."""

from typing import Any, Literal

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.guandan.display import render
from envs.guandan.display.scene import check_view
from envs.guandan.game import GuanDan, describe
from envs.guandan.rules.cards import CARDS, KINDS, RANKS, Notation, notation
from envs.guandan.rules.state import NOBODY
from envs.pettingzoo_view import METADATA, wrapped
from envs.ragged_view import ListedGameEnv
from envs.sparse import dense

GUANDAN_METADATA = {**METADATA, "render_modes": ["human", "ansi", "rgb_array"], "name": "guandan_v0"}

HIGHEST_RANK = 14  # of a red joker
COLUMNS = (*(2,) * len(CARDS), len(KINDS) - 1, HIGHEST_RANK)


class raw_env(ListedGameEnv):
    """GuanDan for four without wrappers: ``player_0`` and ``player_2`` against ``player_1`` and ``player_3``.

    A step is a play, a pass, a tribute or the return of a card. An action is an index of the list of legal actions in
    the observation of the agent to move, see `ListedGameEnv`. A row of ``legal_actions``, `int8[56]`, consists of the
    54 counts of an action's cards (by `CARDS` of `envs.guandan.rules.cards`), its kind, 0 .. 12 by `KINDS` there, and
    its rank: 0 .. 12 for 2 .. A, 13 and 14 for the jokers, of a sequence the lowest rank. Kind and rank are there
    because the same cards can have several readings. `legal_actions` returns the same list in notation for people.
    ``observation`` is the vector of `GuanDan.encode`, which players who are out of cards receive too.

    Rewards are points, also in a match. At the end of every round each winner receives 3, 2 or 1 and each loser the
    negative, or all receive 0 if the winners failed to close their level A. The sum of the rewards does not determine
    the winner of a match, which is in the infos.

    ``infos[agent]`` contains the ``action_mask``. From the end of the first round on it contains ``last_round``: its
    ``number`` from 1, the ``order`` in which the players went out, and the ``points`` and the ``level`` of each
    player's team. At the end of the game it contains the ``winners`` and the ``ending`` of the last round.

    Args:
        length, situation, double_tribute, a_attempts: See `envs.guandan.GuanDan`.
        encoding: ``flat`` (513 inputs), ``no_wild_flags`` (501), either with two inputs for the tribute phases,
            ``tribute`` and ``tribute_no_wild_flags``, or ``flat`` with inputs by rank, ``ranks``, and with those and
            inputs about plans, ``plans``.
        render_mode: ``ansi``, ``rgb_array``, or ``human``, which prints the text after each step.
        view: Seat whose cards are rendered, 0 .. 3, or None for a spectator who sees all cards.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: an option is out of range.
        IllegalAction: from `step`, if the action is not an index of the list.
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
        self.view = view

    def observation_bounds(self) -> tuple[float, float]:
        """Returns -1, for the last move of a partner who is out, and 2, the number of equal cards."""
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
        """Lists the legal actions by index, in notation such as ``("Pair", "3", ["S3", "H3"])``.

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
    """Creates GuanDan with the usual wrappers; an illegal action ends the game with -3 for its player and 0 for others.

    Args:
        options: Options of `raw_env`.
    """
    raw = raw_env(**options)
    return wrapped(raw, illegal_reward=-raw.game.spec.max_return)


__all__ = ["env", "raw_env"]
