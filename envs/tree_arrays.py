"""Game trees in flat arrays: nodes level by level, infosets, sequences and public states.

A tree has `N` nodes, `I` infosets of all `P` players together, and `S` slots. A slot is a legal action of an infoset,
so that a policy of all players is a `float64[S]`. The slots and the empty sequence of each player are the sequences of
the sequence form (von Stengel 1996).
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.game import Packed

Ints = NDArray[np.int32]


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
        return self.observed.shape[1] > 0 and len(np.unique(as_items(self.observed))) == len(self.observed)

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

    def to_policy(self, table: NDArray[np.floating]) -> NDArray[np.float64]:
        """Converts probabilities `[I, A]`, whose sums may be rounded, to a policy with sums of 1, `float64[S]`."""
        policy = self.to_slots(table)
        return np.asarray(policy / np.add.reduceat(policy, self.slots[:-1])[self.slot_infoset])

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


def as_items(observed: Packed) -> NDArray[np.void]:
    """Returns packed infostates, `uint8[N, P]`, as single items that can be compared, `void[N]`."""
    return np.ascontiguousarray(observed).view(f"V{observed.shape[1]}").ravel()
