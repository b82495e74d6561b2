"""Builds trees of OpenSpiel games, with the infosets of OpenSpiel's information states or of `Knowledge`."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.openspiel.game import DIGESTS, OpenSpielGame
from envs.openspiel.knowledge import Knowledge, Memory, digests
from envs.openspiel.loading import Spiel, has_constant_sum, load_openspiel, mover_of, moves_of, name_of, sum_of
from envs.tree import NoConstantSum, Tree, TreeTooLarge, assemble, refuse_hopeless
from envs.tree_size import PATHS

MOST_NODES = 2_000_000
"""Default limit on the nodes. A node takes microseconds, and the states of the current layer up to kilobytes each."""

_AT_ONCE = 256


def openspiel_tree(
    game: str | Spiel, most_nodes: int = MOST_NODES, *, observations: bool = True, general: bool = False
) -> Tree:
    """Builds the whole tree of an OpenSpiel game, without histories and public states, which OpenSpiel does not define.

    Args:
        game: An `OpenSpielGame`, or the argument of one; it packs the observations of the tree.
        most_nodes: Limit on the number of nodes.
        observations: Whether to store infostates. Without them `observed` is `uint8[I, 0]`: some games have no tensors,
            and those of games in Gambit's format are as long as there are infosets.
        general: Whether any number of players and any returns will do, see `envs.tree.compile_tree`.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: see `load_openspiel`, or the game defines neither information states nor observations.
        NoConstantSum: the game needs `general`.
        TreeTooLarge: more than `most_nodes` nodes; found immediately if random paths predict ten times as many.
        ImperfectRecall: nodes of one infoset differ in their legal actions or in their player's actions before them.
    """
    adapted = game if isinstance(game, OpenSpielGame) else None
    spiel = load_openspiel(game) if adapted is None else adapted.spiel
    name = name_of(game, spiel) if adapted is None else adapted.spec.name
    strict = spiel.num_players() == 2 and has_constant_sum(spiel)
    if not (strict or general):
        raise NoConstantSum.of(name, int(spiel.num_players()))
    started = time.perf_counter()
    refuse_hopeless(name, estimate_openspiel(spiel, np.random.default_rng(0), 100.0 * most_nodes), most_nodes)
    packing = (adapted or OpenSpielGame(spiel, name)) if observations else None
    if packing is not None and packing.inputs == DIGESTS:  # `Tree.identity` has them
        packing = None
    growth = _Growth(packing, Knowledge(spiel))
    layer = [spiel.new_initial_state()]
    memories = [growth.knowledge.start(layer[0])]
    growth.add(layer, memories, [-1], [-1], [1.0])
    while layer:
        moves: list[list[tuple[int, float]]] = []
        left = most_nodes - growth.count
        for state in layer:
            moves.append(moves_of(state))
            left -= len(moves[-1])
            if left < 0:
                raise TreeTooLarge(
                    f"{name} has more nodes than the {most_nodes:,} allowed: choose smaller parameters of the game"
                )
        first = growth.count - len(layer)
        below = [(first + k, choice, chance) for k, row in enumerate(moves) for choice, chance in row]
        above, known = layer, memories
        layer = [above[parent - first].child(choice) for parent, choice, _ in below]
        memories = [
            growth.knowledge.after(known[parent - first], above[parent - first], choice, state)
            for (parent, choice, _), state in zip(below, layer, strict=True)
        ]
        if layer:
            growth.add(layer, memories, *map(list, zip(*below, strict=True)))
    keys = np.array(growth.keys, np.int64)
    nothing = np.zeros((growth.count, 0), np.uint8)
    nodes = {field: np.concatenate(values) for field, values in growth.nodes.items()}
    payoffs = nodes.pop("payoffs")
    nodes["utility"] = payoffs[:, 0]
    actions, shift = int(spiel.num_distinct_actions()), sum_of(spiel) / 2 if strict else 0.0
    tree = assemble(
        name,
        actions,
        growth.widths,
        nodes,
        keys,
        nothing,
        payoffs=None if strict else payoffs,
        shift=shift,
        started=started,
    )
    decisions = np.flatnonzero(keys >= 0)
    key_of = np.empty(len(tree.player), np.int64)
    key_of[tree.infoset[decisions]] = keys[decisions]
    observed = np.concatenate(growth.observed)[key_of] if growth.observed else tree.observed
    identity = digests(growth.labels)[key_of]
    return replace(tree, observed=observed, identity=identity, seconds=time.perf_counter() - started)


def estimate_openspiel(spiel: Spiel, rng: np.random.Generator, enough: float) -> float:
    """Estimates the number of nodes as `envs.tree_size` does; stops when the estimate exceeds `enough`."""
    total = 0.0
    for _ in range(PATHS):
        state, ways = spiel.new_initial_state(), 1.0
        while moves := moves_of(state):
            ways *= len(moves)
            total += ways
            if total > enough * PATHS:
                return total / PATHS
            state.apply_action(moves[rng.integers(len(moves))][0])
    return 1 + total / PATHS


class _Growth:
    """Nodes so far, in the form of `envs.tree.assemble`, and infosets in breadth-first order."""

    def __init__(self, game: OpenSpielGame | None, knowledge: Knowledge) -> None:
        self.game = game  # packs the observations
        self.knowledge = knowledge
        self.widths: list[int] = []
        self.nodes: dict[str, list[NDArray[Any]]] = {
            f: [] for f in ("mover", "parent", "action", "probability", "payoffs")
        }
        self.keys: list[int] = []
        self.observed: list[NDArray[np.uint8]] = []
        self._numbers: dict[tuple[int, str], int] = {}

    @property
    def count(self) -> int:
        return len(self.keys)

    @property
    def labels(self) -> list[tuple[int, str]]:
        """Player and label of each infoset, see `Knowledge`, in the order of their numbers."""
        return list(self._numbers)

    def add(
        self,
        layer: list[Spiel],
        memories: list[Memory | None],
        parents: list[int],
        choices: list[int],
        chances: list[float],
    ) -> None:
        """Adds the nodes of one depth."""
        self.widths.append(len(layer))
        movers = [mover_of(state) for state in layer]
        running = [0.0] * layer[0].num_players()
        payoffs = [state.returns() if state.is_terminal() else running for state in layer]
        self.nodes["mover"].append(np.array(movers, np.int8))
        self.nodes["parent"].append(np.array(parents, np.int32))
        self.nodes["action"].append(np.array(choices, np.int64))
        self.nodes["probability"].append(np.array(chances, np.float64))
        self.nodes["payoffs"].append(np.array(payoffs, np.float64))
        met: list[Spiel] = []
        for state, memory, mover in zip(layer, memories, movers, strict=True):
            if mover < 0:
                self.keys.append(-1)
                continue
            label = mover, self.knowledge.label(memory, state, mover)
            if label not in self._numbers:
                self._numbers[label] = len(self._numbers)
                met.append(state)
            self.keys.append(self._numbers[label])
        if self.game is None:
            return
        for first in range(0, len(met), _AT_ONCE):
            part = met[first : first + _AT_ONCE]  # all tensors of a layer may be gigabytes before they are packed
            players = np.array([state.current_player() for state in part], np.int8)
            if self.game.past:
                self.observed.append(self.game.observe(self.game.states_of(part), players))
            else:
                self.observed.append(self.game.pack(self.game.tensors(part, players)))


__all__ = ["MOST_NODES", "estimate_openspiel", "openspiel_tree"]
