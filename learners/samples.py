"""Record types of what passes from games to learners. `P` packed bytes of an infostate, `A` actions.

Both are NumPy structured dtypes: rows stay packed from the traversal to the minibatch.
"""

import numpy as np
from numpy.typing import NDArray

from envs.game import GameSpec


def mask_bytes(actions: int) -> int:
    """Bytes of a packed legal mask."""
    return (actions + 7) // 8


def pack_mask(legal: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """`bool[B, A]` as bits, `uint8[B, mask_bytes(A)]`."""
    return np.packbits(legal, axis=1, bitorder="little")


def unpack_mask(packed: NDArray[np.uint8], actions: int) -> NDArray[np.bool_]:
    """Reverse of `pack_mask`."""
    return np.unpackbits(packed, axis=1, count=actions, bitorder="little").view(np.bool_)


def advantage_dtype(spec: GameSpec) -> np.dtype:
    """One sampled immediate advantage of the traverser (paper 000, eq. 7); 160 bytes for Geister.

    Fields: `infostate` packed; `advantage` of each action, 0 where not legal; `legal` bits; `iteration` t, the weight
    of linear CFR; `log_weight`, log of the importance weight 1 / x^xi of the traverser's own sampling.
    """
    return np.dtype(
        [
            ("infostate", np.uint8, (spec.packed_size,)),
            ("advantage", np.float32, (spec.num_actions,)),
            ("legal", np.uint8, (mask_bytes(spec.num_actions),)),
            ("iteration", np.int32),
            ("log_weight", np.float32),
        ]
    )


def transition_dtype(spec: GameSpec) -> np.dtype:
    """One step for the baseline net, seen by the player who acts (zero sum: the other's value is its negative).

    Fields: `infostates` packed, the actor's and the other's; `action`; `reward` to the actor; `next_infostates` in the
    order of the next actor; `next_policy` of that actor as it was at collection; `next_sign`: +1 where the same player
    acts again, -1 where the other does, 0 where the game has ended.
    """
    return np.dtype(
        [
            ("infostates", np.uint8, (2, spec.packed_size)),
            ("next_infostates", np.uint8, (2, spec.packed_size)),
            ("next_policy", np.float32, (spec.num_actions,)),
            ("reward", np.float32),
            ("action", np.int16),
            ("next_sign", np.int8),
        ]
    )
