"""Record types of what passes from games to learners. `P` packed bytes of an infostate, `A` actions.

All are NumPy structured dtypes: rows stay packed from the traversal to the minibatch.
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


def policy_dtype(spec: GameSpec) -> np.dtype:
    """What a player played at one decision, for an average-policy net (Deep CFR, Brown et al. 2019).

    Fields: `infostate` packed; `policy` of each action; `legal` bits; `iteration` t, its weight.
    """
    return np.dtype(
        [
            ("infostate", np.uint8, (spec.packed_size,)),
            ("policy", np.float32, (spec.num_actions,)),
            ("legal", np.uint8, (mask_bytes(spec.num_actions),)),
            ("iteration", np.int32),
        ]
    )


def range_value_dtype(width: int) -> np.dtype:
    """What the histories of a public state at a depth limit are worth for both players' ranges (paper 003).

    Fields: `public`, number of the public state; `ranges` of both players, `width` places, each player's summing to 1;
    `values`, their counterfactual values for these ranges, 0 in places that do not belong to the public state; `sums`
    of the ranges before, player by player.
    """
    return np.dtype(
        [
            ("public", np.int32),
            ("ranges", np.float32, (width,)),
            ("values", np.float32, (width,)),
            ("sums", np.float32, (2,)),
        ]
    )


def infostate_value_dtype(spec: GameSpec) -> np.dtype:
    """What an infostate was worth to its player, for the value net of depth-limited search (paper 002, Algorithm 3).

    Fields: `infostate` packed; `value`.
    """
    return np.dtype([("infostate", np.uint8, (spec.packed_size,)), ("value", np.float32)])


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


def value_dtype(spec: GameSpec, action_dtype: np.dtype[np.void]) -> np.dtype:
    """One decision with the return that followed it, for Deep Monte-Carlo (paper 004, IV-B); 143 bytes for GuanDan.

    Fields: `infostate` packed, of the player who acts; `action`, the bytes of the record that was played, see
    `pack_actions`; `q`, its value by the weights that chose it; `target`, the undiscounted return to the player;
    `version` of those weights.
    """
    return np.dtype(
        [
            ("infostate", np.uint8, (spec.packed_size,)),
            ("action", np.uint8, (action_dtype.itemsize,)),
            ("q", np.float32),
            ("target", np.float32),
            ("version", np.int32),
        ]
    )


def response_dtype(spec: GameSpec) -> np.dtype:
    """One decision of a best response against a frozen agent; 26 bytes for Geister.

    Fields: `infostate` packed, of the player who acts; `action`; `target`, what came of it to him, see
    `actors.best_response`.
    """
    return np.dtype([("infostate", np.uint8, (spec.packed_size,)), ("action", np.int16), ("target", np.float32)])


def pack_actions(actions: NDArray[np.void]) -> NDArray[np.uint8]:
    """Action records `[n]` as bytes, `uint8[n, itemsize]`. Bytes between the fields are 0: equal actions are equal
    bytes, so that a sample made again is the same to the bit."""
    clean = np.zeros(len(actions), actions.dtype)
    for name in actions.dtype.names or ():
        clean[name] = actions[name]
    return clean.view(np.uint8).reshape(len(actions), actions.dtype.itemsize)


def unpack_actions(packed: NDArray[np.uint8], action_dtype: np.dtype[np.void]) -> NDArray[np.void]:
    """Reverse of `pack_actions`, `[n]` records in memory of their own."""
    actions = np.empty(len(packed), action_dtype)
    actions.view(np.uint8).reshape(len(packed), action_dtype.itemsize)[:] = packed
    return actions
