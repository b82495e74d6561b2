"""Chance-sampled CFR on two-player Cheat, one deal per iteration (paper 001, 5), with its curriculum (4.1.1)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.cheat import Cheat
from envs.cheat.rules import deal
from envs.game import States
from envs.tree_size import estimate_below
from learners.cheat_cfr.keys import Form, KeyForm, raised
from learners.cheat_cfr.strategy import Strategy
from learners.cheat_cfr.table import Table
from learners.cheat_cfr.traversal import LOG_FULL, Deals, Tree, make_scratch, walk_deals
from learners.storage import ForeignState

MOST_NODES = 3e9
"""Largest number of nodes below a deal. The first iterations walk all of them, some 30 million per second."""
BLOCK = 1024
"""Number of deals drawn at a time."""
PATHS = 4096
"""Random paths that estimate the number of nodes."""


class HistoryTooLong(ValueError):
    """A game can have more turns than an infoset key holds."""


def check_size(game: Cheat) -> None:
    """Raises ValueError if the tree below a deal has more than `MOST_NODES` nodes.

    Random paths hardly ever reach the deep parts of games with many health points. The size of such games is
    extrapolated from the growth of the tree between two health points and three.
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
            f"the tree below a deal of {game.name} has 10^{roughly:.0f} nodes or more, too many for an iteration: "
            "choose less health or a smaller deck, or train DREAM (cheat-dream-5x3 and others)"
        )


def draw_deals(game: Cheat, seed: int, iteration: int, count: int) -> States:
    """Deals of the `count` iterations that follow the first `iteration`, `state_type(2)[count]`.

    Each iteration has a random stream of its own.
    """
    deck = game.deck
    streams = (np.random.default_rng(np.random.SeedSequence((seed, iteration + i))) for i in range(count))
    draws = np.stack([stream.random(1 + len(deck)) for stream in streams])
    states = game.initial(count)
    deal(states, deck, game.dealt, draws)
    return states


class CheatSolver:
    """Regrets and strategy sums of both players. A seed gives the same numbers, however many calls `run` is split into.

    Args:
        game: The first game of the curriculum: two players, ``discards="sets"``, limited health.
        keys: What infosets distinguish.
        seed: Seed of the deals.
        keep_sums: See `enter`.
        copy_infosets: See `enter`.
        counterfactual: Weight the average strategy by the opponent's reach, as paper 001 prints it (2.4), in place of
            the player's own, as the theory of CFR demands.

    Attributes:
        iteration: Number of deals so far.
        nodes: Number of nodes walked so far.
        table: Regrets and strategy sums.

    Raises:
        ValueError: the keys do not fit the game, or a game can last forever.
    """

    def __init__(
        self,
        game: Cheat,
        keys: KeyForm,
        seed: int = 0,
        keep_sums: bool = False,
        copy_infosets: bool = False,
        counterfactual: bool = False,
    ) -> None:
        self.keys, self.seed = keys, seed
        self.keep_sums, self.copy_infosets, self.counterfactual = keep_sums, copy_infosets, counterfactual
        self.iteration = self.nodes = 0
        self.table = Table()
        self._take(game)

    def _take(self, game: Cheat) -> None:
        if game.health == 0 or game.ply_limit:
            raise ValueError(
                f"CFR on Cheat needs health of at least 1 and ply_limit=0, got {game.health} and {game.ply_limit}"
            )
        self.keys.check(game)
        self.game = game
        self._scratch = make_scratch(game.spec.max_plies + 2, game.spec.num_actions)

    @property
    def form(self) -> Form:
        """Layout of the infoset keys of the present game."""
        return self.keys.form(self.game, self.game.health)

    def run(self, iterations: int) -> float:
        """Runs iterations, one deal each; returns their mean value for player 0.

        Raises:
            HistoryTooLong: a game has more turns than a key holds.
        """
        total = 0.0
        for begin in range(0, iterations, BLOCK):
            count = min(BLOCK, iterations - begin)
            deals = draw_deals(self.game, self.seed, self.iteration, count)
            self.iteration += count
            total += self._walk(deals["hand"], deals["discarder"], self.iteration - count + 1, learn=True)
        return total / max(iterations, 1)

    def _walk(self, hands: NDArray[np.uint64], first: NDArray[np.integer], stamp: int, learn: bool) -> float:
        """Walks the trees below deals; returns the sum of their values for player 0. See `walk_deals`."""
        game = self.game
        tree = Tree(self.form, game.rule_set, game.sets, game.health, self.counterfactual)
        deals = Deals(np.ascontiguousarray(hands), first.astype(np.int64))
        self.table.infosets, total, nodes, status = walk_deals(
            self.table.infosets, tree, deals, self._scratch, stamp, learn
        )
        self.nodes += nodes
        if status == LOG_FULL:
            raise HistoryTooLong(
                f"a game of {game.name} with health {game.health} has more turns than an infoset key holds: set turns "
                "to the number of past turns that the agent remembers"
            )
        return total

    def enter(self, game: Cheat) -> None:
        """Continues with the next game of a curriculum.

        Infosets that both games have keep their regrets, and their next strategy is their average strategy (paper 001,
        4.1.1, step 3). The strategy sums begin again after it, unless `keep_sums`: the paper does not carry them over.
        An infoset with more health than before has no counterpart and starts with nothing; with `copy_infosets` it
        starts with the numbers of the infoset with the largest health before, as the paper lets agents play (4.1.2).

        Raises:
            ValueError: the game differs in more than its health, or has less health; see also `CheatSolver`.
        """
        before = self.game
        if replace(before, health=game.health, observation_health=game.observation_health) != game:
            raise ValueError("games of a curriculum must not differ in anything but health")
        if game.health < before.health:
            raise ValueError(f"health must not fall during a curriculum, got {game.health} after {before.health}")
        here, form = self.table.occupied, self.form
        self._take(game)
        if self.copy_infosets:
            known = np.stack([here["first"], here["second"]], axis=1)
            keys, source = raised(known, form, before.health, game.health)
            self.table.add_copies(keys, here[source])
        self.table.renew(self.keep_sums)

    def strategy(self) -> Strategy:
        """The average strategy and the last one."""
        return Strategy.of(self.table)

    def state_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The whole state for a file: arrays and metadata."""
        return self.table.arrays(), {"iteration": self.iteration, "nodes": self.nodes, "health": self.game.health}

    def load_arrays(self, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
        """Restores a state from `state_arrays`.

        Raises:
            ForeignState: the arrays are not the state of this solver.
        """
        if arrays.keys() != {"slots", "values"} or not {"iteration", "nodes", "health"} <= meta.keys():
            raise ForeignState("the file does not hold a state of chance-sampled CFR on Cheat")
        try:
            self.table.load(arrays["slots"], arrays["values"])
            if self.table.slots["count"].max() > self.game.spec.num_actions:
                raise ValueError(f"an infoset of the table has more actions than {self.game.name}")
        except ValueError as error:
            raise ForeignState(str(error)) from None
        self.iteration, self.nodes = int(meta["iteration"]), int(meta["nodes"])
        self._take(replace(self.game, health=int(meta["health"])))


def count_infosets(game: Cheat, keys: KeyForm) -> int:
    """Number of infosets of both players, found by walking the tree below every deal.

    Raises:
        ValueError: see `CheatSolver` and `Cheat.deals`.
        HistoryTooLong: see `CheatSolver.run`.
    """
    return list_infosets(game, keys).table.used


def list_infosets(game: Cheat, keys: KeyForm) -> CheatSolver:
    """A solver with every infoset of the game and no regrets, as before its first iteration; see `count_infosets`."""
    solver = CheatSolver(game, keys)
    hands, _ = game.deals()
    for first in (0, 1):
        solver._walk(hands, np.full(len(hands), first), 1, learn=False)
    solver.table.values[solver.table.occupied["at"]] = 0.0  # no stamps: these walks do not count as iterations
    return solver


__all__ = ["MOST_NODES", "CheatSolver", "HistoryTooLong", "check_size", "count_infosets", "draw_deals", "list_infosets"]
