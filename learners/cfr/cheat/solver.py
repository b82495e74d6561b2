"""Chance-sampled CFR on two-player Cheat, deal by deal (paper 001, 5), with its curriculum (4.1.1)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.cheat import Cheat
from envs.cheat.rules import deal
from envs.game import States
from envs.tree_size import estimate_below
from learners.cfr.cheat.keys import Form, KeyForm, raised
from learners.cfr.cheat.strategy import Strategy
from learners.cfr.cheat.table import Table
from learners.cfr.cheat.traversal import FRAME, LOG_FULL, traverse_deals
from learners.storage import ForeignState

MOST_NODES = 3e9
"""Nodes below a deal at most: the first iterations walk all of them, some 30 million a second."""
BLOCK = 1024
"""Iterations whose deals are drawn together."""
PATHS = 4096
"""Drawn to estimate their number."""


class HistoryTooLong(ValueError):
    """A game can have more turns than the key of an infoset holds."""


def check_size(game: Cheat) -> None:
    """Raises ValueError where the tree below a deal is so large that no walk of it ends, see `MOST_NODES`.

    Random paths hardly ever come to the deep parts of games with many health points. Of those it is estimated by how
    much the tree grows from two points to three.
    """
    few = [replace(game, health=n) for n in range(1, min(game.health, 3) + 1)]
    sizes = []
    for smaller in few:
        rng = np.random.default_rng(0)
        sizes.append(estimate_below(smaller, smaller.reset(PATHS, rng), rng, enough=100.0 * MOST_NODES))
    roughly = np.log10(sizes[-1])
    if game.health > 3:
        roughly += (game.health - 3) * np.log10(sizes[-1] / sizes[-2])
    if roughly > np.log10(MOST_NODES):
        raise ValueError(
            f"below a deal of {game.name} are some 10^{roughly:.0f} nodes or more, too many to walk in each iteration: "
            "choose less health or a smaller deck, or train DREAM (cheat-dream-5x3 and others)"
        )


def draw_deals(game: Cheat, seed: int, iteration: int, count: int) -> States:
    """The deals of `count` iterations after the first `iteration` ones: each has a stream of its own."""
    deck = game.deck
    streams = (np.random.default_rng(np.random.SeedSequence((seed, iteration + i))) for i in range(count))
    draws = np.stack([stream.random(1 + len(deck)) for stream in streams])
    states = game.initial(count)
    deal(states, deck, game.dealt, draws)
    return states


class CheatSolver:
    """Regrets and strategy sums of both players. The same seed gives the same numbers, however runs are cut up.

    Args:
        game: Two players, ``discards="sets"``, limited health; the first one of a curriculum.
        keys: What infosets tell apart.
        seed: Of the deals.

    Attributes:
        iteration: Deals so far.
        nodes: Nodes walked so far.
        table: Regrets and strategy sums.

    Raises:
        ValueError: the keys do not fit the game, or it need not end.
    """

    def __init__(self, game: Cheat, keys: KeyForm, seed: int = 0) -> None:
        self.keys, self.seed = keys, seed
        self.iteration = self.nodes = 0
        self.table = Table()
        self._take(game)

    def _take(self, game: Cheat) -> None:
        if game.health == 0 or game.ply_limit:
            raise ValueError(
                "CFR here needs games that end by health alone: choose health of at least 1 and ply_limit=0"
            )
        self.keys.check(game)
        self.game = game
        depth, actions = game.spec.max_plies + 2, game.spec.num_actions
        self._room = np.zeros(depth, FRAME), np.zeros((depth, actions), np.int32), np.zeros((depth, actions))

    @property
    def form(self) -> Form:
        """The keys of the present game, for kernels."""
        return self.keys.form(self.game, self.game.health)

    def run(self, iterations: int) -> float:
        """Adds as many iterations, of a deal each; the mean value of player 0 in them.

        Raises:
            HistoryTooLong: the turns of a game do not fit a key.
        """
        total = 0.0
        for begin in range(0, iterations, BLOCK):
            count = min(BLOCK, iterations - begin)
            deals = draw_deals(self.game, self.seed, self.iteration, count)
            self.iteration += count
            total += self._walk(deals["hand"], deals["discarder"], self.iteration - count + 1, learn=True)
        return total / max(iterations, 1)

    def _walk(self, hands: NDArray[np.uint64], first: NDArray[np.integer], stamp: int, learn: bool) -> float:
        """Walks the trees below deals `[n, 2]`; the sum of player 0's values."""
        table, game = self.table, self.game
        hands, first = np.ascontiguousarray(hands), first.astype(np.int64)
        *changed, total, nodes, status = traverse_deals(
            *(table.slots, table.used, table.values, table.filled),
            *(self.form, game.sets, hands, first, game.health),
            *(*self._room, float(stamp), learn),
        )
        table.slots, table.used, table.values, table.filled = changed
        self.nodes += nodes
        if status == LOG_FULL:
            raise HistoryTooLong(
                f"games of {game.name} with health {game.health} have more turns than the key of an infoset holds: set "
                "turns to how many of the last ones count"
            )
        return float(total)

    def enter(self, game: Cheat) -> None:
        """Goes on with the next game of a curriculum.

        Every infoset goes on with its regrets and sums; one of more health than there was with those of the most
        health there was. Its next strategy is the average so far (paper 001, 4.1.1, step 3).

        Raises:
            ValueError: the game differs in more than its health, or has less of it, or see `CheatSolver`.
        """
        before = self.game
        if replace(before, health=game.health, observation_health=game.observation_health) != game:
            raise ValueError("the games of a curriculum may differ in their health points only")
        if game.health < before.health:
            raise ValueError(f"health must not fall along a curriculum, as from {before.health} to {game.health}")
        here = self.table.occupied
        keys, source = raised(np.stack([here["first"], here["second"]], axis=1), self.form, before.health, game.health)
        self._take(game)
        self.table.add_copies(keys, here[source])
        self.table.renew()

    def strategy(self) -> Strategy:
        """The average and the last strategy."""
        return Strategy.of(self.table)

    def state_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Everything, for a file: arrays, and what goes with them."""
        return self.table.arrays(), {"iteration": self.iteration, "nodes": self.nodes, "health": self.game.health}

    def load_arrays(self, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
        """Reverse of `state_arrays`.

        Raises:
            ForeignState: it is the state of something else.
        """
        if arrays.keys() != {"slots", "values"} or not {"iteration", "nodes", "health"} <= meta.keys():
            raise ForeignState("it holds no state of chance-sampled CFR on Cheat")
        try:
            self.table.load(arrays["slots"], arrays["values"])
            if self.table.slots["count"].max() > self.game.spec.num_actions:
                raise ValueError(f"an infoset has more actions than {self.game.name}")
        except ValueError as error:
            raise ForeignState(str(error)) from None
        self.iteration, self.nodes = int(meta["iteration"]), int(meta["nodes"])
        self._take(replace(self.game, health=int(meta["health"])))


def count_infosets(game: Cheat, keys: KeyForm) -> int:
    """How many infosets of both players a game has, by walking all that can follow every deal.

    Raises:
        ValueError: see `CheatSolver` and `Cheat.deals`.
        HistoryTooLong: see `CheatSolver.run`.
    """
    return list_infosets(game, keys).table.used


def list_infosets(game: Cheat, keys: KeyForm) -> CheatSolver:
    """A solver that has learnt nothing, with every infoset of the game; see `count_infosets`."""
    solver = CheatSolver(game, keys)
    hands, _ = game.deals()
    for first in (0, 1):
        solver._walk(hands, np.full(len(hands), first), 1, learn=False)
    return solver


__all__ = ["MOST_NODES", "CheatSolver", "HistoryTooLong", "check_size", "count_infosets", "draw_deals", "list_infosets"]
