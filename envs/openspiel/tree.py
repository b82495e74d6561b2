"""Trees of OpenSpiel games, with the infosets that OpenSpiel's information states say."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.openspiel.game import OpenSpielGame
from envs.openspiel.loading import Spiel, load_openspiel, mover_of, moves_of, name_of
from envs.tree import Tree, TreeTooLarge, assemble

MOST_NODES = 2_000_000
"""Default limit: a node costs some microseconds, and a layer of them some hundred bytes a node, while it is made."""


def openspiel_tree(game: Any, most_nodes: int = MOST_NODES, *, observations: bool = True) -> Tree:
    """The whole tree of an OpenSpiel game. It says neither histories nor public states, which OpenSpiel does not know.

    Args:
        game: An `OpenSpielGame`, or what makes one. Observations in the tree are packed as that game packs them.
        most_nodes: Limit on the size.
        observations: False leaves out what is observed, `uint8[I, 0]`: some games have no tensors, and those of games
            in Gambit's format are as long as there are infosets.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: a game that is not for two players and zero-sum, or has no text for its information states.
        TreeTooLarge: more than `most_nodes` nodes.
        ImperfectRecall: infosets mix nodes that the player could tell apart.
    """
    adapted = game if isinstance(game, OpenSpielGame) else None
    spiel = load_openspiel(game) if adapted is None else adapted.spiel
    name = name_of(game, spiel) if adapted is None else adapted.spec.name
    if not spiel.get_type().provides_information_state_string:
        raise ValueError(f"{name} has no tree: OpenSpiel gives it no text for information states")
    started = time.perf_counter()
    growth = _Growth((adapted or OpenSpielGame(spiel, name)) if observations else None)
    layer = [spiel.new_initial_state()]
    growth.add(layer, [-1], [-1], [1.0])
    while layer:
        moves, room = [], most_nodes - growth.count
        for state in layer:
            moves.append(moves_of(state))
            room -= len(moves[-1])
            if room < 0:
                raise TreeTooLarge(
                    f"{name} has more nodes than the {most_nodes:,} allowed: choose smaller parameters of the game, or "
                    "allow more"
                )
        first = growth.count - len(layer)
        below = [(first + k, choice, chance) for k, row in enumerate(moves) for choice, chance in row]
        layer = [layer[parent - first].child(choice) for parent, choice, _ in below]
        if layer:
            growth.add(layer, *map(list, zip(*below, strict=True)))
    keys = np.array(growth.keys, np.int64)
    nothing = np.zeros((growth.count, 0), np.uint8)
    nodes = {field: np.array(values) for field, values in growth.nodes.items()}
    tree = assemble(name, int(spiel.num_distinct_actions()), growth.widths, nodes, keys, nothing, started=started)
    if not growth.observed:
        return tree
    decisions = np.flatnonzero(keys >= 0)
    key_of = np.empty(len(tree.player), np.int64)
    key_of[tree.infoset[decisions]] = keys[decisions]
    return replace(tree, observed=np.concatenate(growth.observed)[key_of], seconds=time.perf_counter() - started)


class _Growth:
    """The nodes so far, as `envs.tree.assemble` wants them, and the infosets in the order in which they are met."""

    def __init__(self, game: OpenSpielGame | None) -> None:
        self.game = game  # packs what is observed
        self.widths: list[int] = []
        self.nodes: dict[str, list] = {f: [] for f in ("mover", "parent", "action", "probability", "utility")}
        self.keys: list[int] = []
        self.observed: list[NDArray[np.uint8]] = []
        self._numbers: dict[tuple[int, str], int] = {}

    @property
    def count(self) -> int:
        return len(self.keys)

    def add(self, layer: list[Spiel], parents: list[int], choices: list[int], chances: list[float]) -> None:
        """Adds the nodes of one depth."""
        self.widths.append(len(layer))
        movers = [mover_of(state) for state in layer]
        self.nodes["mover"] += movers
        self.nodes["parent"] += parents
        self.nodes["action"] += choices
        self.nodes["probability"] += chances
        self.nodes["utility"] += [state.returns()[0] if state.is_terminal() else 0.0 for state in layer]
        met: list[Spiel] = []
        for state, mover in zip(layer, movers, strict=True):
            if mover < 0:
                self.keys.append(-1)
                continue
            label = mover, state.information_state_string(mover)
            if label not in self._numbers:
                self._numbers[label] = len(self._numbers)
                met.append(state)
            self.keys.append(self._numbers[label])
        if met and self.game is not None:
            self.observed.append(self.game.pack(self.game.tensors(met, [state.current_player() for state in met])))


__all__ = ["MOST_NODES", "openspiel_tree"]
