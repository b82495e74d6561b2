"""Game trees in flat arrays: nodes level by level, infosets, sequences and public states.

A tree has `N` nodes, `I` infosets of all `P` players together, and `S` slots. A slot is a legal action of an infoset,
so that a policy of all players is a `float64[S]`. The slots and the empty sequence of each player are the sequences of
the sequence form (von Stengel 1996).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.chanceless import extensive
from envs.extensive import CHANCE, MOST_OUTCOMES, OVER, ExtensiveGame
from envs.faults import long_fault
from envs.game import GameBase, Packed
from envs.tree_layers import Layer, NoConstantSum, Returns, TreeTooLarge, join, number_histories
from envs.tree_size import estimate_nodes

MOST_NODES = 20_000_000
"""Default limit on the nodes: 4 to 5 GB while the tree is built, 1 GB afterwards."""

Ints = NDArray[np.int32]


class ImperfectRecall(ValueError):
    """A player forgets an observation or an own action; sequences, and the guarantees of CFR, need perfect recall."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The tree of a two-player game whose returns are shifted to sum to 0, or of a general game, see `payoffs`.

    The children of a node are contiguous; parents precede children.

    Attributes:
        name: Name of the game.
        num_actions: Number of actions `A` of the game.
        mover: Player to move, `CHANCE` or `OVER`, `int8[N]`.
        parent: Parent of each node, `int32[N]`; -1 for the root, which is node 0.
        children: The children of node n are ``children[n]`` .. ``children[n + 1]`` - 1, `int32[N + 1]`.
        action: Action or outcome of chance that led to the node, `int16[N]`, or `int32[N]` if that is too short; -1 for
            the root.
        probability: Probability of that outcome of chance, `float64[N]`; 1 after a player's action.
        utility: Return of player 0 at terminal nodes, less `shift`, else 0, `float64[N]`.
        levels: The nodes of depth d are ``levels[d]`` .. ``levels[d + 1]`` - 1, `int32[D + 1]`.
        infoset: Infoset of the player to move, `int32[N]`; -1 at other nodes. Infosets of player 0 come first; those of
            one player are in breadth-first order, so that parents precede children.
        history: Action-observation history of each player at every node, numbered over all players, `int32[N, P]`;
            None if the game does not define observations.
        public: Public state, `int32[N]`; None if the game does not define observations.
        player: Player of each infoset, `int8[I]`.
        slots: The slots of infoset i are ``slots[i]`` .. ``slots[i + 1]`` - 1, `int32[I + 1]`.
        slot_action: Action of each slot, of the same type, `[S]`.
        parent_slot: Slot of the player's last action before the infoset, `int32[I]`; -1 if there is none.
        observed: Packed infostate of each infoset, `uint8[I, P]`.
        seconds: Time that building the tree took.
        shift: What was subtracted from both players' returns so that they sum to 0: half of their constant sum.
        identity: Digest of each infostate, `uint8[I, D]`; None if the game has none, see `envs.game.Identified`.
        payoffs: Return of each player at terminal nodes, else 0, `float64[N, P]`; None if two players have returns of a
            constant sum, which `utility` and `shift` determine.
    """

    name: str
    num_actions: int
    mover: NDArray[np.int8]
    parent: Ints
    children: Ints
    action: NDArray[np.integer]
    probability: NDArray[np.float64]
    utility: NDArray[np.float64]
    levels: Ints
    infoset: Ints
    history: Ints | None
    public: Ints | None
    player: NDArray[np.int8]
    slots: Ints
    slot_action: NDArray[np.integer]
    parent_slot: Ints
    observed: NDArray[np.uint8]
    seconds: float
    shift: float = 0.0
    identity: NDArray[np.uint8] | None = None
    payoffs: NDArray[np.float64] | None = None

    @property
    def num_nodes(self) -> int:
        return len(self.mover)

    @property
    def num_slots(self) -> int:
        return len(self.slot_action)

    @property
    def num_players(self) -> int:
        """`P`."""
        return 2 if self.payoffs is None else self.payoffs.shape[1]

    @property
    def num_infosets(self) -> tuple[int, ...]:
        """Number of infosets of each player, including those with one action."""
        return tuple(np.bincount(self.player, minlength=self.num_players).tolist())

    @property
    def num_public_states(self) -> int | None:
        """Number of public states; None if the game does not define them."""
        return None if self.public is None else int(self.public.max()) + 1

    @property
    def max_utility(self) -> float:
        """Largest absolute return, by which exploitability is normalised (paper 003, 5)."""
        return float(np.abs(self.utility if self.payoffs is None else self.payoffs).max())

    @property
    def bytes(self) -> int:
        """Memory of the arrays in bytes."""
        return sum(array.nbytes for array in vars(self).values() if isinstance(array, np.ndarray))

    @property
    def tells_apart(self) -> bool:
        """Whether `observed` differs between all infosets."""
        return self.observed.shape[1] > 0 and len(np.unique(_as_items(self.observed))) == len(self.observed)

    @property
    def slot_infoset(self) -> Ints:
        """Infoset of each slot, `int32[S]`."""
        return np.repeat(np.arange(len(self.player), dtype=np.int32), np.diff(self.slots))

    def legal(self) -> NDArray[np.bool_]:
        """Returns the legal actions of each infoset, `bool[I, A]`."""
        mask = np.zeros((len(self.player), self.num_actions), np.bool_)
        mask[self.slot_infoset, self.slot_action] = True
        return mask

    def to_slots(self, table: NDArray[np.floating]) -> NDArray[np.float64]:
        """Converts a policy `[I, A]` to `float64[S]`, one probability per slot."""
        return np.asarray(table[self.slot_infoset, self.slot_action].astype(np.float64))

    def to_table(self, policy: NDArray[np.floating]) -> NDArray[np.float64]:
        """Converts a policy `[S]` to `float64[I, A]`; illegal actions are 0."""
        table = np.zeros((len(self.player), self.num_actions))
        table[self.slot_infoset, self.slot_action] = policy
        return table

    def uniform(self) -> NDArray[np.float64]:
        """Returns the uniform policy, `float64[S]`."""
        counts = np.diff(self.slots)
        return np.repeat(1.0 / counts, counts)

    def node_slots(self) -> Ints:
        """Returns the slot that led to each node, `int32[N]`; -1 after chance and for the root."""
        after = self.mover[self.parent] >= 0
        after[0] = False
        first = self.children[self.parent]
        place = np.arange(self.num_nodes) - first
        return np.where(after, self.slots[self.infoset[self.parent]] + place, -1).astype(np.int32)


@runtime_checkable
class TreePolicy(Protocol):
    """An agent that can list its policy at every infoset of a tree."""

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """The policy of all players on a tree, `float64[S]`.

        Raises:
            LookupError, ValueError: the policy was made for another tree.
        """
        ...


def compile_tree(game: GameBase, most_nodes: int = MOST_NODES, *, general: bool = False) -> Tree:
    """Builds the whole tree of a game.

    Args:
        game: An `ExtensiveGame`, or any `Game` without chance events, see `envs.chanceless`.
        most_nodes: Limit on the number of nodes.
        general: Whether a game of more players, or of returns without a constant sum, has a tree too, with `payoffs`,
            for exact evaluations. The solvers need two players with returns of a constant sum.

    Raises:
        TypeError: the game draws chance events without listing them, or its actions are not numbered.
        NoConstantSum: the game is not one of two players with returns of a constant sum, and `general` is not set.
        ValueError: a node has no choices; the probabilities of a chance node do not sum to 1; a choice changes nothing;
            a game runs on after `max_plies` decisions; or a packed infostate reveals more than the player has observed.
        TreeTooLarge: more than `most_nodes` nodes.
        ImperfectRecall: nodes of one infoset differ in their legal actions or in their player's actions before them.
    """
    game = extensive(game)
    try:
        return _compile(game, most_nodes, general=False)
    except NoConstantSum:
        if not general:
            raise
    return _compile(game, most_nodes, general=True)


def _compile(game: ExtensiveGame, most_nodes: int, *, general: bool) -> Tree:
    """Builds a tree, of a general game with `payoffs`; see `compile_tree`."""
    if game.spec.num_players != 2 and not general:
        raise NoConstantSum.of(game.spec.name, game.spec.num_players)
    started = time.perf_counter()
    roughly = estimate_nodes(game, np.random.default_rng(0), enough=100.0 * most_nodes)
    refuse_hopeless(game.spec.name, roughly, most_nodes)
    returns = Returns(game, general)
    layers = [Layer.root(game, returns)]
    count = 1
    while layers[-1].running:
        if len(layers) > game.spec.max_plies + MOST_OUTCOMES:
            raise ValueError(f"{game.spec.name}: {long_fault(len(layers) - 1)}")
        layers.append(layers[-1].expand(game, returns, most_nodes - count, count - len(layers[-1].mover)))
        count += len(layers[-1].mover)
    widths = [len(layer.mover) for layer in layers]
    number_histories(layers)
    payoffs = join(layers, "payoffs") if general else None
    joined = {name: join(layers, name) for name in Layer.FIELDS}
    history, public, observed = (join(layers, name) for name in ("history", "public", "observed"))
    decisions = joined["mover"] >= 0
    timed = getattr(game, "timed", True)
    if timed:
        of_mover = history[np.arange(count), np.maximum(joined["mover"], 0)]
    else:
        of_mover = np.unique(_as_items(observed), return_inverse=True)[1]
    keys = np.where(decisions, of_mover, -1).astype(np.int64)
    return assemble(
        game.spec.name,
        game.spec.num_actions,
        widths,
        joined,
        keys,
        observed,
        history if timed else None,
        public if timed else None,
        payoffs=payoffs,
        shift=(returns.total or 0.0) / 2,
        started=started,
    )


def _as_items(observed: Packed) -> NDArray[np.void]:
    """Returns packed infostates, `uint8[N, P]`, as single items that can be compared, `void[N]`."""
    return np.ascontiguousarray(observed).view(f"V{observed.shape[1]}").ravel()


def refuse_hopeless(name: str, roughly: float, most_nodes: int) -> None:
    """Raises TreeTooLarge if an estimate of the nodes exceeds the limit ten times."""
    if roughly > 10 * most_nodes:
        raise TreeTooLarge(
            f"{name} has more nodes than the {most_nodes:,} allowed, some {roughly:.0e} or more: choose smaller "
            "options of the game, or allow more"
        )


def assemble(
    name: str,
    num_actions: int,
    widths: Sequence[int],
    nodes: dict[str, NDArray[Any]],
    keys: NDArray[np.int64],
    observed: NDArray[np.uint8],
    history: NDArray[np.int64] | None = None,
    public: NDArray[np.int64] | None = None,
    *,
    payoffs: NDArray[np.float64] | None = None,
    shift: float = 0.0,
    started: float,
) -> Tree:
    """Builds a `Tree` from nodes listed level by level, with children in the order of their parents.

    Args:
        name, num_actions: See `Tree`.
        widths: Number of nodes of each depth.
        nodes: The fields ``mover``, ``parent``, ``action``, ``probability`` and ``utility`` of `Tree`; ``utility`` is
            the return of player 0 before the shift.
        keys: Number of the infoset of each node, `int64[N]`, distinct over the players; -1 where no player moves.
        observed: Packed infostate of the player to move at each node, `uint8[N, P]`.
        history, public, payoffs, shift: See `Tree`.
        started: Start of the work, by `time.perf_counter`.

    Raises:
        ValueError: probabilities of chance do not sum to 1, or packed infostates differ within an infoset.
        ImperfectRecall: nodes of an infoset differ in their legal actions or in their player's actions before them.
    """
    mover, parent = nodes["mover"].astype(np.int8), nodes["parent"].astype(np.int32)
    counts = np.bincount(parent[1:], minlength=len(parent))
    children = np.concatenate([[1], 1 + np.cumsum(counts)]).astype(np.int32)
    decisions = np.flatnonzero(mover >= 0)
    _, first, which = np.unique(keys[decisions], return_index=True, return_inverse=True)
    order = np.lexsort((first, mover[decisions[first]]))  # by player, then in breadth-first order
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    infoset = np.full(len(mover), -1, np.int32)
    infoset[decisions] = rank[which]
    met = decisions[first[order]]  # first node of each infoset
    slots = np.concatenate([[0], np.cumsum(counts[met])]).astype(np.int32)
    offsets = np.arange(slots[-1]) - np.repeat(slots[:-1], counts[met])
    wide = nodes["action"].max() > np.iinfo(np.int16).max  # outcomes of chance may be many
    action: NDArray[np.integer] = nodes["action"].astype(np.int32 if wide else np.int16)
    tree = Tree(
        name=name,
        num_actions=num_actions,
        mover=mover,
        parent=parent,
        children=children,
        action=action,
        probability=nodes["probability"],
        utility=np.where(mover == OVER, nodes["utility"] - shift, 0.0) if shift else nodes["utility"],
        levels=np.concatenate([[0], np.cumsum(widths)]).astype(np.int32),
        infoset=infoset,
        history=None if history is None else history.astype(np.int32),
        public=None if public is None else public.astype(np.int32),
        player=mover[met],
        slots=slots,
        slot_action=action[np.repeat(children[met], counts[met]) + offsets],
        parent_slot=np.full(len(met), -1, np.int32),
        observed=observed[met],
        seconds=0.0,
        shift=shift,
        payoffs=payoffs,
    )
    _check_chance(tree)
    _check_actions(tree, counts)
    _link_slots(tree, met)
    _check_observed(tree, observed, met)
    object.__setattr__(tree, "seconds", time.perf_counter() - started)
    return tree


def _check_chance(tree: Tree) -> None:
    """Raises a ValueError if the probabilities at a chance node are negative or do not sum to 1."""
    sums = np.bincount(tree.parent[1:], tree.probability[1:], tree.num_nodes)
    if len(wrong := np.flatnonzero((tree.mover == CHANCE) & ~(np.abs(sums - 1) <= 1e-9))):
        off = sums[wrong[0]] - 1
        raise ValueError(
            f"{tree.name}: the probabilities of chance must sum to 1, got {sums[wrong[0]]:.6g} at node {wrong[0]}"
            + (f" (off by {off:.1g}: compute them in float64)" if abs(off) < 1e-6 else "")
        )
    if len(wrong := np.flatnonzero(tree.probability < 0)):
        raise ValueError(f"{tree.name}: chance has the probability {tree.probability[wrong[0]]:.6g}")


def _check_observed(tree: Tree, observed: NDArray[np.uint8], met: NDArray[np.int64]) -> None:
    """Raises a ValueError if packed infostates differ within an infoset; `met` is the first node of each infoset."""
    decisions = np.flatnonzero(tree.mover >= 0)
    leaks = decisions[(observed[decisions] != tree.observed[tree.infoset[decisions]]).any(axis=1)]
    if len(leaks):
        node = leaks[0]
        pair = [int(met[tree.infoset[node]]), int(node)]
        paths, rows = [_choices(tree, each) for each in pair], observed[pair].tolist()
        raise ValueError(
            f"{tree.name}: a packed infostate reveals more than the player has observed: player {tree.mover[node]} has "
            f"observed the same after the choices {paths[0]} and {paths[1]}, but the packed rows are {rows[0]} and "
            f"{rows[1]}"
        )


def _choices(tree: Tree, node: int) -> list[int]:
    """Returns the outcomes of chance and the actions of the players that lead to a node."""
    found = []
    while node:
        found.append(int(tree.action[node]))
        node = int(tree.parent[node])
    return found[::-1]


def _check_actions(tree: Tree, counts: NDArray[np.int64]) -> None:
    """Raises ImperfectRecall if nodes of one infoset have different legal actions."""
    decisions = np.flatnonzero(tree.mover >= 0)
    alike = (counts[decisions] == np.diff(tree.slots)[tree.infoset[decisions]]).all()
    if alike:
        slot = tree.node_slots()
        after = np.flatnonzero(slot >= 0)
        alike = (tree.slot_action[slot[after]] == tree.action[after]).all()
    if not alike:
        raise ImperfectRecall(f"{tree.name}: an infoset has nodes with different legal actions")


def _link_slots(tree: Tree, met: NDArray[np.int64]) -> None:
    """Fills `parent_slot`; raises ImperfectRecall if nodes of an infoset follow different own actions."""
    slot = tree.node_slots()
    last = np.full((tree.num_nodes, tree.num_players), -1, np.int32)
    for begin, end in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        nodes = np.arange(begin, end)
        last[nodes] = last[tree.parent[nodes]]
        mine = nodes[slot[nodes] >= 0]
        last[mine, tree.mover[tree.parent[mine]]] = slot[mine]
    decisions = np.flatnonzero(tree.mover >= 0)
    own = last[decisions, tree.mover[decisions]]
    tree.parent_slot[:] = last[met, tree.mover[met]]
    if (own != tree.parent_slot[tree.infoset[decisions]]).any():
        raise ImperfectRecall(f"{tree.name}: a player forgets an own action")


__all__ = [
    "MOST_NODES", "ImperfectRecall", "NoConstantSum", "Tree", "TreeTooLarge", "assemble", "compile_tree",
    "refuse_hopeless",
]  # fmt: skip
