"""The base class of games of placement as `envs.extensive.FactoredGame`s that can be evaluated exactly."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from envs.capabilities import check_infosets, check_policies, check_policy
from envs.extensive import OVER, FactoredGame, check_types
from envs.game import GameSpec, Packed, States
from envs.placement import rules
from envs.placement.exact import evaluate, outcomes
from envs.placement.ranking import MOST_RANKED, Ranking, in_slots, listed, own_reach, rank

PLACED, FAILED = 1, 2
"""Outcomes of a try in `PlacementGame.private`."""


@dataclass(frozen=True)
class PlacementGame(FactoredGame):
    """A game in which players place stones and see only their own. Implements `envs.capabilities.ExactGame`.

    Action c tries cell c, row by row. A stone of the opponent there is revealed to the player alone. In the classical
    game the player then tries again; in the abrupt one the turn is lost. An opponent is not told of tries that failed.

    Attributes:
        abrupt: Whether a failed try ends the turn.
        name: Name on the command line.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: an option is out of range.
    """

    timed: ClassVar[bool] = False
    input_bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    ways: ClassVar[tuple[str, ...]] = ()
    """Names of the endings: how a player wins, and a full board if it can be a draw."""

    abrupt: bool = False
    name: str = "placement"
    spec: GameSpec = field(init=False, repr=False, compare=False)
    won: NDArray[np.bool_] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_types(self, {"abrupt": bool, "name": str})
        rows, columns = self.board
        cells = rows * columns
        spec = GameSpec(
            name=self.name,
            num_players=2,
            num_actions=cells,
            packed_size=1 + cells,
            shapes={"flat": (2 + 2 * cells + cells * cells,)},
            slots={"action": cells},
            endings=("running", *self.ways),
            max_plies=2 * cells - 1,
        )
        object.__setattr__(self, "spec", spec)
        won = self.winning_sets()
        won.flags.writeable = False
        object.__setattr__(self, "won", won)

    @property
    @abstractmethod
    def board(self) -> tuple[int, int]:
        """Rows and columns."""

    @abstractmethod
    def winning_sets(self) -> NDArray[np.bool_]:
        """Returns whether each player has won with each set of stones, `bool[2, 2 ** cells]`."""

    def initial(self, batch: int) -> States:
        states = np.zeros(batch, rules.STATE)
        states["winner"] = -1
        states["tries"] = rules.NONE
        return states

    def legal(self, states: States) -> NDArray[np.bool_]:
        out = np.empty((len(states), self.spec.num_actions), np.bool_)
        rules.legal(states, out)
        return out

    def chance(self, states: States) -> NDArray[np.float64]:
        """Chance never moves."""
        return np.ones((len(states), 1))

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        rules.apply(states, np.asarray(choices, np.int64), self.won, self.abrupt)

    def public(self, states: States) -> NDArray[np.int64]:
        """Nothing is public but the end, 1."""
        return np.asarray(states["mover"] == OVER).astype(np.int64)

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """The outcome of the player's last try: `PLACED` or `FAILED`; 0 before the first one.

        It stays the same while the opponent moves, of which the player is told nothing.
        """
        tried = states["tried"][:, player].astype(np.int64)
        last = states["tries"][np.arange(len(states)), player, np.maximum(tried, 1) - 1]
        return np.where(tried > 0, np.where(last & rules.FAILED > 0, FAILED, PLACED), 0)

    def utilities(self, states: States) -> NDArray[np.float64]:
        winner = states["winner"]
        return np.stack([1.0 * (winner == 0) - (winner == 1), 1.0 * (winner == 1) - (winner == 0)], axis=1)

    def endings(self, states: States) -> NDArray[np.int8]:
        return np.where(states["winner"] == rules.DRAW, 2, states["mover"] == OVER).astype(np.int8)

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        packed = np.empty((len(states), self.spec.packed_size), np.uint8)
        packed[:, 0] = players
        packed[:, 1:] = states["tries"][np.arange(len(states)), players, : self.spec.num_actions]
        return packed

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        """One-hot player, own stones, known stones of the opponent, and the cell of each try in order, one-hot."""
        encoded = np.zeros((len(packed), *self.spec.shapes["flat"]), np.float32)
        rules.encode(np.ascontiguousarray(packed), encoded)
        return encoded

    def describe(self, state: np.void, view: int | None = None) -> str:
        """The rows of the board: x and o are stones of players 0 and 1, dots look empty."""
        return " / ".join("".join(sign or "." for sign in row) for row in self.rows_of(state, view))

    def rows_of(self, state: np.void, view: int | None = None) -> list[list[str | None]]:
        """Returns the rows of the board as `view` sees them: x and o, stones of players 0 and 1, or None.

        When the game is over, all stones are shown.
        """
        sets = [int(each) for each in state["stones"]]
        if view is not None and state["mover"] != OVER:
            sets[1 - view] = int(state["known"][view])
        rows, columns = self.board
        signs = ["x" if sets[0] >> c & 1 else "o" if sets[1] >> c & 1 else None for c in range(rows * columns)]
        return [signs[columns * row : columns * (row + 1)] for row in range(rows)]

    def describe_action(self, action: int) -> str:
        """The column as a letter and the row as a number from 1."""
        row, column = divmod(int(action), self.board[1])
        return f"{'abcdefghijklmnop'[column]}{row + 1}"

    def num_infosets(self, player: int) -> int:
        """See `envs.capabilities.ExactGame`."""
        return int(self._rankings[player].infosets[0])

    def infosets(self, player: int, start: int, stop: int) -> States:
        """See `envs.capabilities.ExactGame`. Of the opponent's stones only the known ones are on the board."""
        check_infosets(self, player, start, stop)
        ranking = self._rankings[player]
        views, tries = listed(ranking, start, stop)
        return self._seen_by(player, ranking.own[views], ranking.known[views], tries)

    def decisions_before(
        self, states: States, player: int
    ) -> Iterator[tuple[NDArray[np.int64], States, NDArray[np.int64]]]:
        """See `envs.capabilities.ExactGame`."""
        cells = self.spec.num_actions
        own, known = np.zeros(len(states), np.int32), np.zeros(len(states), np.int32)
        tries = np.full((len(states), cells), rules.NONE, np.uint8)
        for number in range(int(states["tried"][:, player].max(initial=0))):
            rows = np.flatnonzero(states["tried"][:, player] > number)
            tried = states["tries"][rows, player, number]
            actions = (tried & 0x7F).astype(np.int64)
            yield rows, self._seen_by(player, own[rows], known[rows], tries[rows]), actions
            failed = tried & rules.FAILED > 0
            own[rows] |= np.where(failed, 0, 1 << actions).astype(np.int32)
            known[rows] |= np.where(failed, 1 << actions, 0).astype(np.int32)
            tries[rows, number] = tried

    def own_reach(self, player: int, policy: NDArray[np.float32]) -> NDArray[np.float64]:
        """See `envs.capabilities.ExactGame`."""
        check_policy(self, player, policy)
        reach = np.empty(len(policy))
        own_reach(self._rankings[player].infoset_of, np.ascontiguousarray(policy), reach)
        return reach

    def _seen_by(
        self, player: int, own: NDArray[np.int32], known: NDArray[np.int32], tries: NDArray[np.uint8]
    ) -> States:
        """Returns states in which `player` is to move, with no stones of the opponent but the known ones."""
        states = self.initial(len(tries))
        states["mover"] = player
        states["stones"][:, player] = own
        states["stones"][:, 1 - player] = states["known"][:, player] = known
        states["tries"][:, player, : tries.shape[1]] = tries
        states["tried"][:, player] = (tries != rules.NONE).sum(axis=1)
        return states

    def evaluate(
        self, policies: tuple[NDArray[np.float32], NDArray[np.float32]], threads: int = 1
    ) -> tuple[float, float, float]:
        """See `envs.capabilities.ExactGame`."""
        check_policies(self, policies)
        slots = []
        for player, (ranking, policy) in enumerate(zip(self._rankings, policies, strict=True)):
            views, _ = listed(ranking, 0, len(policy), with_tries=False)
            slots.append(np.empty(int(ranking.slots[0]), np.float32))
            wrong = in_slots(ranking.own | ranking.known, views, np.ascontiguousarray(policy), slots[-1])
            if wrong >= 0:
                row = policy[wrong].tolist()
                raise ValueError(f"the policy of player {player} at infoset {wrong} is not a distribution: {row}")
        return evaluate(outcomes(self.won, self.abrupt), self.abrupt, self._rankings, slots, threads)

    @cached_property
    def _rankings(self) -> tuple[Ranking, Ranking]:
        if self.spec.num_actions > MOST_RANKED:
            raise ValueError(
                f"exact evaluation takes boards of at most {MOST_RANKED} cells, got {self.spec.num_actions}"
            )
        return rank(self.won, 0, self.abrupt), rank(self.won, 1, self.abrupt)
