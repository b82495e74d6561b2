"""Policies on our trees as policies of OpenSpiel, and the other way round."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, OVER
from envs.openspiel.game import OpenSpielGame
from envs.openspiel.loading import Spiel, import_pyspiel, load_openspiel, mover_of, moves_of
from envs.tree import Tree

_LABELLED = "efg_game"
"""The OpenSpiel game that numbers actions by itself: there the labels are our numbers, see `envs.openspiel.to_efg`."""


@dataclass(frozen=True)
class Correspondence:
    """What the infosets of a tree are in an OpenSpiel game.

    Attributes:
        infosets: Infoset of the tree by OpenSpiel's text for the information state.
        actions: OpenSpiel's action for each slot of that infoset, in the order of the slots, by the same text.
        scale: Returns of OpenSpiel's game are ours times this; NaN where all are 0.
        same: Whether the infosets are the same ones. If not, OpenSpiel's tell a player more: our policies can be
            played there, but answers to them may be better than in our tree.
    """

    infosets: dict[str, int]
    actions: dict[str, list[int]]
    scale: float
    same: bool


def correspond(tree: Tree, game: Any) -> Correspondence:
    """Walks a tree and an OpenSpiel game side by side.

    Both must have the same movers, actions and chances. A game that plays the last, forced moves by itself is the same
    game, and so is one whose returns are a multiple of ours.

    Args:
        tree: Our tree.
        game: What `envs.openspiel.load_openspiel` takes, or an `OpenSpielGame`.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: the games differ, or OpenSpiel's tells a player less than the tree; the message says where.
    """
    spiel = game.spiel if isinstance(game, OpenSpielGame) else load_openspiel(game)
    walk = _Walk(tree, spiel.get_type().short_name == _LABELLED)
    open_nodes = [(0, spiel.new_initial_state())]
    while open_nodes:
        open_nodes += walk.visit(*open_nodes.pop())
    same = len(set(walk.infosets.values())) == len(walk.infosets)
    return Correspondence(walk.infosets, walk.actions, walk.scale, same)


class _Walk:
    """What was found on the way."""

    def __init__(self, tree: Tree, labelled: bool) -> None:
        self.tree, self.labelled = tree, labelled
        self.infosets: dict[str, int] = {}
        self.actions: dict[str, list[int]] = {}
        self.scale = float("nan")

    def visit(self, node: int, state: Spiel) -> list[tuple[int, Spiel]]:
        """Compares a node; its children, with OpenSpiel's."""
        tree, mover = self.tree, mover_of(state)
        if mover == OVER:
            self._compare_returns(self._follow_forced(node, state), state)
            return []
        if tree.mover[node] != mover:
            raise self._differ(state, f"{_words(mover)} is to move, and {_words(tree.mover[node])} in the tree")
        moves = dict(moves_of(state))
        children = range(tree.children[node], tree.children[node + 1])
        number = {self._number(state, mover, choice): choice for choice in moves}
        if sorted(number) != sorted(tree.action[children].tolist()):
            ours = sorted(tree.action[children].tolist())
            raise self._differ(state, f"{sorted(number)} can follow, and {ours} in the tree")
        choices = [number[int(tree.action[child])] for child in children]
        chances = np.array([moves[choice] for choice in choices])
        if mover == CHANCE and np.abs(chances - tree.probability[children]).max() > 1e-12:
            raise self._differ(state, "the chances are other than in the tree")
        if mover >= 0:
            self._note(node, state, mover, choices)
        return [(child, state.child(choice)) for child, choice in zip(children, choices, strict=True)]

    def _number(self, state: Spiel, mover: int, choice: int) -> int:
        return int(state.action_to_string(mover if mover >= 0 else -1, choice)) if self.labelled else choice

    def _note(self, node: int, state: Spiel, mover: int, choices: list[int]) -> None:
        label, infoset = state.information_state_string(mover), int(self.tree.infoset[node])
        if self.infosets.setdefault(label, infoset) != infoset:
            raise self._differ(state, "the player knows less than in the tree")
        self.actions.setdefault(label, choices)

    def _follow_forced(self, node: int, state: Spiel) -> int:
        """The end below a node at which no player has a choice."""
        while self.tree.mover[node] != OVER:
            first, last = self.tree.children[node], self.tree.children[node + 1]
            if last - first > 1:
                raise self._differ(state, f"the game is over, and {_words(self.tree.mover[node])} to move in the tree")
            node = int(first)
        return node

    def _compare_returns(self, node: int, state: Spiel) -> None:
        ours, theirs = float(self.tree.utility[node]), float(state.returns()[0])
        if np.isnan(self.scale) and ours != 0 and theirs / ours > 0:
            self.scale = theirs / ours
        scale = 1.0 if np.isnan(self.scale) else self.scale
        if abs(theirs - scale * ours) > 1e-9 * max(1.0, abs(theirs)):
            raise self._differ(state, f"the return is {theirs:g}, and by the tree {scale * ours:g}")

    def _differ(self, state: Spiel, what: str) -> ValueError:
        return ValueError(f"{self.tree.name} is another game in OpenSpiel: after {state.history()} {what}")


def to_openspiel_policy(tree: Tree, policy: NDArray[np.floating], game: Any) -> Spiel:
    """A policy of both players as OpenSpiel's tabular policy.

    Args:
        tree: Our tree.
        policy: Probability by slot, `float64[S]`.
        game: See `correspond`; or what that has returned.

    Returns:
        A `pyspiel.TabularPolicy`, for `pyspiel.nash_conv(game, policy)` and the like.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: no policy on this tree, or see `correspond`.
    """
    pyspiel = import_pyspiel()
    if np.shape(policy) != (tree.num_slots,):
        raise ValueError(f"a policy on {tree.name} has {tree.num_slots} numbers, not shape {np.shape(policy)}")
    least, total = (reduce.reduceat(policy, tree.slots[:-1]) for reduce in (np.minimum, np.add))
    right = (least >= -1e-9) & (np.abs(total - 1) < 1e-6)  # never where one is NaN
    if not right.all():
        bad = int(np.argmin(right))
        raise ValueError(f"no policy on {tree.name}: at infoset {bad} its probabilities are no distribution")
    link = game if isinstance(game, Correspondence) else correspond(tree, game)
    table = {}
    for label, infoset in link.infosets.items():
        chances = policy[tree.slots[infoset] : tree.slots[infoset + 1]].tolist()
        table[label] = list(zip(link.actions[label], chances, strict=True))
    return pyspiel.TabularPolicy(table)


def from_openspiel_policy(tree: Tree, policy: Spiel, game: Any) -> NDArray[np.float64]:
    """A tabular policy of OpenSpiel by slot of our tree, `float64[S]`; moves that OpenSpiel plays itself are forced.

    Args:
        tree: Our tree.
        policy: A `pyspiel.Policy` that answers to texts of information states.
        game: See `correspond`; or what that has returned.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: OpenSpiel's infosets tell a player more than the tree's, or see `correspond`.
    """
    link = game if isinstance(game, Correspondence) else correspond(tree, game)
    if not link.same:
        raise ValueError(
            f"{tree.name}: OpenSpiel's players know more than those of the tree, which cannot play as they do"
        )
    slots = tree.uniform()
    for label, infoset in link.infosets.items():
        chances = dict(policy.get_state_policy(label))
        slots[tree.slots[infoset] : tree.slots[infoset + 1]] = [chances.get(a, 0.0) for a in link.actions[label]]
    return slots


def _words(mover: int) -> str:
    return {OVER: "nobody", CHANCE: "chance"}.get(int(mover), f"player {mover}")


__all__ = ["Correspondence", "correspond", "from_openspiel_policy", "to_openspiel_policy"]
