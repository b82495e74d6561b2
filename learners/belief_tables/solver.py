"""Regrets, strategy sums and values of Mini Geister in tables, iteration by iteration (paper 002, Algorithm 1)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.game import GameBase
from envs.geister import Geister
from envs.geister.rules import RUNNING, new_states
from learners.belief_tables.outcome import iterate_games
from learners.belief_tables.settings import TableSettings
from learners.belief_tables.strategy import BeliefStrategy
from learners.belief_tables.traversal import Search, SelfPlay, Tables, check_tables, iterate, make_learnt, make_scratch
from learners.geister_beliefs.belief import UPDATES, BeliefRules
from learners.geister_beliefs.tables import NODE, ROWS, SIZE, SLOTS
from learners.storage import ForeignState


def check_game(game: GameBase) -> None:
    """Raises ValueError unless the game is Mini Geister with colours drawn at the start."""
    if not isinstance(game, Geister) or game.size != SIZE:
        raise ValueError(f"tables of belief states are for mini-geister, not for {game.spec.name}")
    if not game.random_setup:
        raise ValueError("belief states begin when the colours are drawn: they need random_setup=true")


class BeliefSolver:
    """The tables of both players. A seed gives the same numbers, however many calls `run` is split into.

    Args:
        game: Mini Geister.
        settings: Method and options.
        seed: Seed of all random draws.

    Attributes:
        iteration: Number of iterations so far.
        nodes: Number of nodes walked so far.

    Raises:
        ValueError: see `check_game`.
    """

    def __init__(self, game: Geister, settings: TableSettings, seed: int = 0) -> None:
        check_game(game)
        self.game, self.settings, self.seed = game, settings, seed
        self.iteration = self.nodes = 0
        self._rules = BeliefRules(UPDATES[settings.belief], int(game.forced_escape), game.ply_limit)
        self._start = new_states(1, SIZE, np.zeros((1, 2), np.uint8))
        deep = settings.method == "depth-limited"
        values = (2, ROWS) if deep else (ROWS, SLOTS)
        self._tables = Tables(np.zeros((ROWS, SLOTS)), np.zeros((ROWS, SLOTS)), np.zeros(values))
        check_tables(self._tables, values)
        self._after_pass = deep and settings.updates == "pass"
        self._learnt = make_learnt(Tables(*map(np.copy, self._tables)) if self._after_pass else self._tables)
        self._game = np.zeros(1, NODE)
        self._game["ending"] = RUNNING + 1  # the first one begins immediately
        self._roots = np.zeros(settings.states, NODE)
        self._scratch = make_scratch(settings.depth if deep else game.ply_limit)
        self._rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))

    def run(self, iterations: int) -> int:
        """Runs iterations; returns the number of nodes walked."""
        given, first = self.settings, self.iteration + 1
        decay = given.decay if given.baseline and given.method != "outcome-sampling" else 0.0
        if given.method == "depth-limited":
            redraw = given.epsilon_belief if given.belief != "none" else 0.0
            self_play = SelfPlay(self._start, self._game, self._roots, given.epsilon, redraw)
            search = Search(given.depth, decay, self._after_pass)
            known = self._tables, self._learnt
            times = first, iterations, given.passes
            nodes = iterate(*known, self._rules, self_play, self._scratch, search, *times, self._rng)
        else:
            times = first, iterations, given.passes * given.states
            where = self._start[0], self._scratch
            nodes = iterate_games(self._tables, self._rules, *where, *times, given.explore, decay, self._rng)
        self.iteration += iterations
        self.nodes += int(nodes)
        return int(nodes)

    def strategy(self) -> BeliefStrategy:
        """The average policy."""
        return BeliefStrategy.of_sums(self._tables.sums)

    def state_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The whole state, as arrays and metadata."""
        inner: Any = self._rng.bit_generator.state
        meta = {
            "settings": self.settings.model_dump(mode="json"),
            "iteration": self.iteration,
            "nodes": self.nodes,
            "rng": {key: str(value) for key, value in inner["state"].items()},
        }
        return {**self._tables._asdict(), "game": self._game.view(np.uint8)}, meta

    def load_arrays(self, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
        """Restores a state from `state_arrays`.

        Raises:
            ForeignState: the state belongs to another solver.
        """
        own, said = self.state_arrays()
        default = "search" if self.settings.method == "depth-limited" else self.settings.updates
        saved = meta.get("settings")  # of states from before there was a choice it lacks the updates
        settings = {"updates": default} | (saved if isinstance(saved, dict) else {})
        if settings != said["settings"] or arrays.keys() != own.keys():
            other = [key for key, value in said["settings"].items() if settings.get(key) != value]
            names = ", ".join(f"tables.{key}" for key in other) or "their arrays"
            raise ForeignState(f"the state belongs to tables with other settings ({names})")
        for name, array in own.items():
            if arrays[name].shape != array.shape or arrays[name].dtype != array.dtype:
                raise ForeignState(f"{name} is {arrays[name].dtype}{list(arrays[name].shape)}, not {array.shape}")
        for name, array in own.items():
            array[...] = arrays[name]
        for known, table in zip(self._learnt.tables, self._tables, strict=True):
            known[...] = table
        self.iteration, self.nodes = int(meta["iteration"]), int(meta["nodes"])
        whole: Any = self._rng.bit_generator.state
        whole["state"] = {key: int(meta["rng"][key]) for key in whole["state"]}
        self._rng.bit_generator.state = whole
