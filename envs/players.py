"""The uniformly random agent, for any `Game`."""

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named
from envs.compiled import kernel
from envs.game import Game, States
from envs.tree import Tree

ONES = np.uint64(0x0101010101010101)
HIGHS = np.uint64(0x8080808080808080)


@kernel
def _choose_by_bytes(mask, u, actions):
    """`choose_uniform` for masks of any width: counts the prefixes with at most k allowed actions."""
    for b in range(mask.shape[0]):
        row = mask[b]
        count = np.int32(0)
        for a in range(row.shape[0]):
            count += row[a]
        k = np.int32(np.float64(u[b]) * count)  # in float32 the product could round up to `count`
        seen = np.int32(0)
        action = np.int32(0)
        for a in range(row.shape[0]):
            seen += row[a]
            action += seen <= k
        actions[b] = action if count > 0 else -1


@kernel
def _choose_by_words(words, u, actions):
    """`choose_uniform` for masks whose width is a multiple of 8, up to 128; handles eight actions at a time.

    Byte i of a word times `ONES` is the number of allowed actions among 0 .. i. Subtracted from bytes of 128 + k it
    leaves the high bit set exactly where the prefix has at most k allowed actions.

    Example, with three bytes: the mask 1 0 1 has the prefix counts 1 1 2. For k = 1, the second allowed action,
    129 - (1 1 2) = 128 128 127 has two high bits, so the chosen action is 2.
    """
    for b in range(words.shape[0]):
        count = np.int64(0)
        for w in range(words.shape[1]):
            count += np.int64((words[b, w] * ONES) >> np.uint64(56))
        limit = np.uint64(128 + np.int64(np.float64(u[b]) * count)) * ONES
        before = np.uint64(0)
        action = np.uint64(0)
        for w in range(words.shape[1]):
            prefixes = words[b, w] * ONES
            within = ((limit - (prefixes + before * ONES)) & HIGHS) >> np.uint64(7)
            action += (within * ONES) >> np.uint64(56)
            before += prefixes >> np.uint64(56)
        actions[b] = np.int64(action) if count > 0 else -1


@kernel
def choose_uniform(mask, u):
    """Chooses one allowed action per row uniformly.

    No branch depends on the mask, which is random and would be mispredicted.

    Args:
        mask: Allowed actions, `bool[B, A]`.
        u: One uniform draw from [0, 1) per row, `float32[B]` or `float64[B]`.

    Returns:
        The actions, `int64[B]`; -1 in rows that allow none.
    """
    actions = np.empty(mask.shape[0], np.int64)
    # rows of eight actions can be read as words only if they lie together, as those of a transposed mask do not
    if mask.flags.c_contiguous and mask.shape[1] % 8 == 0 and mask.shape[1] <= 128:
        _choose_by_words(mask.view(np.uint64), u, actions)
    else:
        _choose_by_bytes(mask, u, actions)
    return actions


class RandomAgent(Named):
    """Plays a uniformly random legal action of any game. Implements `envs.agent.Agent`."""

    name = "random"

    def __init__(self) -> None:
        self._game: Game | None = None

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return np.asarray(choose_uniform(self._begun(self._game).legal(states), rng.random(len(states))))

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `envs.agent.StatesPolicy`."""
        legal = self._begun(self._game, "probabilities").legal(states)
        return np.asarray(legal / legal.sum(axis=1, keepdims=True))

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """Returns the policy of both players on a tree, `float64[S]`."""
        return tree.uniform()


__all__ = ["RandomAgent", "choose_uniform"]
