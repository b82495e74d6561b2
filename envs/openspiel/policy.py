"""Converts policies on trees to policies of OpenSpiel, and vice versa."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, OVER
from envs.openspiel.game import OpenSpielGame
from envs.openspiel.loading import Spiel, import_pyspiel, load_openspiel, mover_of, moves_of
from envs.tree import Tree

_LABELLED = "efg_game"
"""The OpenSpiel game with action numbers of its own; its labels are our action numbers, see `envs.openspiel.to_efg`."""


@dataclass(frozen=True)
class Correspondence:
    """The mapping between the infosets of a tree and of an OpenSpiel game.

    Attributes:
        infosets: Infoset of the tree by OpenSpiel's information state string.
        actions: OpenSpiel's action for each slot of that infoset, in the order of the slots, by the same string.
        states: A state of OpenSpiel at that infoset, by the same string.
        scale: Factor from our returns to OpenSpiel's; NaN if all are 0.
        same: Whether the infosets are the same. If not, OpenSpiel's are finer: our policies can be played there, but
            best responses to them may be better than in our tree.
    """

    infosets: dict[str, int]
    actions: dict[str, list[int]]
    states: dict[str, Spiel]
    scale: float
    same: bool


def correspond(tree: Tree, game: str | Spiel) -> Correspondence:
    """Maps the infosets of a tree to an OpenSpiel game by traversing both together.

    Both must have the same movers, actions and probabilities of chance. OpenSpiel's game may play final forced moves
    itself, and its returns may be a multiple of ours.

    Args:
        tree: Our tree.
        game: Argument of `envs.openspiel.load_openspiel`, or an `OpenSpielGame`.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: the games differ, or OpenSpiel's infosets are coarser than the tree's; the message says where. Or
            OpenSpiel defines no information state strings for the game, by which its tabular policies are stored.
    """
    spiel = game.spiel if isinstance(game, OpenSpielGame) else load_openspiel(game)
    if not spiel.get_type().provides_information_state_string:
        raise ValueError(
            f"OpenSpiel's {spiel.get_type().short_name} has no information state strings, by which its tabular "
            "policies are stored: use an agent, see envs.openspiel.bots"
        )
    if spiel.num_players() != tree.num_players:
        raise ValueError(
            f"{tree.name} is another game in OpenSpiel: it has {spiel.num_players()} players there, and "
            f"{tree.num_players} in the tree"
        )
    walk = _Walk(tree, spiel.get_type().short_name == _LABELLED)
    open_nodes = [(0, spiel.new_initial_state())]
    while open_nodes:
        open_nodes += walk.visit(*open_nodes.pop())
    same = len(set(walk.infosets.values())) == len(walk.infosets)
    return Correspondence(walk.infosets, walk.actions, walk.states, walk.scale, same)


class _Walk:
    """The traversal of `correspond`, with the mapping so far."""

    def __init__(self, tree: Tree, labelled: bool) -> None:
        self.tree, self.labelled = tree, labelled
        self.infosets: dict[str, int] = {}
        self.actions: dict[str, list[int]] = {}
        self.states: dict[str, Spiel] = {}
        self.scale = float("nan")

    def visit(self, node: int, state: Spiel) -> list[tuple[int, Spiel]]:
        """Compares a node with OpenSpiel's state; returns the children of both."""
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
        self.states.setdefault(label, state)

    def _follow_forced(self, node: int, state: Spiel) -> int:
        """Returns the terminal node below a node at which no player has a choice."""
        while self.tree.mover[node] != OVER:
            first, last = self.tree.children[node], self.tree.children[node + 1]
            if last - first > 1:
                raise self._differ(state, f"the game is over, and {_words(self.tree.mover[node])} to move in the tree")
            node = int(first)
        return node

    def _compare_returns(self, node: int, state: Spiel) -> None:
        theirs = np.array(state.returns())
        if self.tree.payoffs is None:
            ours = self.tree.utility[node] * np.array([1.0, -1.0])
            theirs -= theirs.mean()  # as if their sum were 0
        else:
            ours = self.tree.payoffs[node]
        largest = np.abs(ours).argmax()
        if np.isnan(self.scale) and ours[largest] != 0 and theirs[largest] / ours[largest] > 0:
            self.scale = float(theirs[largest] / ours[largest])
        scale = 1.0 if np.isnan(self.scale) else self.scale
        if (off := np.abs(theirs - scale * ours)).max() > 1e-9 * max(1.0, np.abs(theirs).max()):
            p = off.argmax()
            raise self._differ(state, f"player {p} has the return {theirs[p]:g}, and by the tree {scale * ours[p]:g}")

    def _differ(self, state: Spiel, what: str) -> ValueError:
        return ValueError(f"{self.tree.name} is another game in OpenSpiel: after {state.history()} {what}")


def to_openspiel_policy(tree: Tree, policy: NDArray[np.floating], game: str | Spiel) -> Spiel:
    """Converts a policy of all players to OpenSpiel's tabular policy.

    Args:
        tree: Our tree.
        policy: Probability of each slot, `float64[S]`.
        game: See `correspond`; or its result.

    Returns:
        A `pyspiel.TabularPolicy`, for instance for `pyspiel.nash_conv(game, policy)`.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: `policy` is not a policy on this tree, or see `correspond`.
    """
    pyspiel = import_pyspiel()
    if np.shape(policy) != (tree.num_slots,):
        raise ValueError(f"a policy on {tree.name} must have the shape ({tree.num_slots},), got {np.shape(policy)}")
    least, total = (reduce.reduceat(policy, tree.slots[:-1]) for reduce in (np.minimum, np.add))
    right = (least >= -1e-9) & (np.abs(total - 1) < 1e-6)  # False for NaN
    if not right.all():
        bad = int(np.argmin(right))
        raise ValueError(
            f"a policy on {tree.name} must be a distribution at every infoset, and is not at infoset {bad}"
        )
    link = game if isinstance(game, Correspondence) else correspond(tree, game)
    table = {}
    for label, infoset in link.infosets.items():
        chances = policy[tree.slots[infoset] : tree.slots[infoset + 1]].tolist()
        table[label] = list(zip(link.actions[label], chances, strict=True))
    return pyspiel.TabularPolicy(table)


def from_openspiel_policy(tree: Tree, policy: Spiel, game: str | Spiel) -> NDArray[np.float64]:
    """Converts a policy of OpenSpiel to our tree, `float64[S]`; moves that OpenSpiel plays itself are forced.

    Args:
        tree: Our tree.
        policy: A `pyspiel.Policy`, or a policy of `open_spiel.python.policy`, such as its `TabularPolicy`.
        game: See `correspond`; or its result.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: OpenSpiel's infosets are finer than the tree's, or see `correspond`.
    """
    link = game if isinstance(game, Correspondence) else correspond(tree, game)
    if not link.same:
        raise ValueError(
            f"{tree.name}: the infosets of OpenSpiel are finer than those of the tree, which cannot express the policy"
        )
    slots = tree.uniform()
    for label, infoset in link.infosets.items():
        chances = policy.action_probabilities(link.states[label])
        slots[tree.slots[infoset] : tree.slots[infoset + 1]] = [chances.get(a, 0.0) for a in link.actions[label]]
    return slots


def _words(mover: int) -> str:
    return {OVER: "nobody", CHANCE: "chance"}.get(int(mover), f"player {mover}")


__all__ = ["Correspondence", "correspond", "from_openspiel_policy", "to_openspiel_policy"]
