"""Record types of the training samples that workers produce and learners train on.

All are NumPy structured dtypes. Infostates and legal masks stay packed from the traversal to the minibatch. In shapes,
`B` is the batch, `A` the number of actions and `n` the number of records.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.game import GameSpec, Packed


def mask_bytes(actions: int) -> int:
    """Size of a packed legal mask, in bytes."""
    return (actions + 7) // 8


def pack_mask(legal: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Packs legal masks `bool[B, A]` into bits, `uint8[B, mask_bytes(A)]`."""
    return np.packbits(legal, axis=1, bitorder="little")


def unpack_mask(packed: NDArray[np.uint8], actions: int) -> NDArray[np.bool_]:
    """Unpacks the result of `pack_mask` into legal masks, `bool[B, A]`."""
    return np.unpackbits(packed, axis=1, count=actions, bitorder="little").view(np.bool_)


def advantage_dtype(spec: GameSpec) -> np.dtype:
    """Record of the sampled immediate advantages at one infostate of the traverser (paper 000, eq. 7).

    A record has 160 bytes for Geister. Fields: packed `infostate`; `advantage` of each action, 0 for illegal actions;
    packed mask of `legal` actions; `iteration` t, the weight of linear CFR; `log_weight`, the log of the importance
    weight 1 / x^xi, where x^xi is the reach probability of the traverser's own sampling policy.
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
    """Record of a player's policy at one decision, for an average-policy network (Deep CFR, Brown et al. 2019).

    Fields: packed `infostate`; `policy`, the probability of each action; packed mask of `legal` actions; `iteration` t,
    the weight of the sample.
    """
    return np.dtype(
        [
            ("infostate", np.uint8, (spec.packed_size,)),
            ("policy", np.float32, (spec.num_actions,)),
            ("legal", np.uint8, (mask_bytes(spec.num_actions),)),
            ("iteration", np.int32),
        ]
    )


def advantage_rows(
    spec: GameSpec, infostates: Packed, advantages: NDArray[np.float32], legal: NDArray[np.bool_], iteration: int
) -> NDArray[np.void]:
    """Returns records of `advantage_dtype` with weight 1, from advantages and legal masks `[n, A]`."""
    rows = np.zeros(len(infostates), advantage_dtype(spec))
    rows["infostate"], rows["legal"], rows["iteration"] = infostates, pack_mask(legal), iteration
    rows["advantage"] = np.where(legal, advantages, 0)
    return rows


def policy_rows(
    spec: GameSpec, infostates: Packed, policies: NDArray[np.float32], legal: NDArray[np.bool_], iteration: int
) -> NDArray[np.void]:
    """Returns records of `policy_dtype`, from policies and legal masks `[n, A]`."""
    rows = np.zeros(len(infostates), policy_dtype(spec))
    rows["infostate"], rows["legal"], rows["iteration"] = infostates, pack_mask(legal), iteration
    rows["policy"] = policies
    return rows


def range_value_dtype(width: int) -> np.dtype:
    """Record of the counterfactual values of a public state at a depth limit, given both players' ranges (paper 003).

    Fields: `public`, number of the public state; `ranges` of both players in `width` slots, normalised to sum to 1 per
    player; `values`, the counterfactual values for these ranges, 0 in slots that the public state does not use; `sums`,
    each player's sum of the ranges before normalisation.
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
    """Record of the value of an infostate to its player, for the value network of depth-limited search.

    See paper 002, Algorithm 3. Fields: packed `infostate`; `value`.
    """
    return np.dtype([("infostate", np.uint8, (spec.packed_size,)), ("value", np.float32)])


def transition_dtype(spec: GameSpec) -> np.dtype:
    """Record of one transition for the baseline network, from the view of the acting player.

    The games are zero-sum, so the opponent's value is the negative. Fields: packed `infostates` of the acting player
    and the opponent; `action`; `reward` to the acting player; `next_infostates`, first that of the player who acts
    next; `next_policy`, the policy of that player when the sample was collected; `next_sign`, +1 if the same player
    acts next, -1 if the opponent does, 0 if the game has ended.
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


def value_dtype(spec: GameSpec, action_dtype: np.dtype[np.void], hidden: int = 0) -> np.dtype:
    """Record of one decision and the return that followed it, for Deep Monte-Carlo (paper 004, IV-B).

    A record has 143 bytes for GuanDan. Fields: packed `infostate` of the acting player; `action`, the bytes of the
    action record, see `pack_actions`; `q`, the value that the acting network gave the action; `target`, the
    undiscounted return to the player; `version` of the acting network's weights. With a critic, `target` is an estimate
    of the action's advantage instead; `hidden`, what the player does not see; and `value`, the target of the critic.

    Args:
        spec: Constants of the game.
        action_dtype: Record of an action.
        hidden: Bytes of `hidden`; 0 without a critic.
    """
    fields: list[tuple[Any, ...]] = [
        ("infostate", np.uint8, (spec.packed_size,)),
        ("action", np.uint8, (action_dtype.itemsize,)),
        ("q", np.float32),
        ("target", np.float32),
        ("version", np.int32),
    ]
    if hidden:
        fields += [("hidden", np.uint8, (hidden,)), ("value", np.float32)]
    return np.dtype(fields)


def choice_dtype(
    spec: GameSpec, action_dtype: np.dtype[np.void], proposals: int, hidden: int, notes: tuple[int, int] = (0, 0)
) -> np.dtype:
    """Record of one decision between proposed actions, for a policy over them (DanZero+, Zhao et al. 2023).

    A record has 557 bytes for GuanDan with 16 proposals, and 1,753 with notes. Fields: packed `infostate` of the acting
    player; `choices`, the bytes of the proposed actions, of which the first `count` are meant; `action`, the chosen one
    of them; `log_probability` of it by the policy that played; `advantage`, its estimate; `value`, the target of the
    critic; `version` of the acting network's weights; `hidden`, what the player does not see; and `state_notes` and
    `choice_notes`, which games with costly inputs compute once (`envs.capabilities.Appraises`).

    Args:
        spec: Constants of the game.
        action_dtype: Record of an action.
        proposals: The most actions that are proposed.
        hidden: Bytes of `hidden`.
        notes: Number of notes of an infostate and of a choice.
    """
    return np.dtype(
        [
            ("infostate", np.uint8, (spec.packed_size,)),
            ("choices", np.uint8, (proposals, action_dtype.itemsize)),
            ("count", np.uint8),
            ("action", np.uint8),
            ("log_probability", np.float32),
            ("advantage", np.float32),
            ("value", np.float32),
            ("version", np.int32),
            ("hidden", np.uint8, (hidden,)),
            ("state_notes", np.float32, (notes[0],)),
            ("choice_notes", np.float32, (proposals, notes[1])),
        ]
    )


def trajectory_dtype(spec: GameSpec, critic: bool = False) -> np.dtype:
    """Record of one decision of self-play for a policy gradient, with the targets from its trajectory.

    A record has 42 bytes for Geister. Fields: packed `infostate` of the acting player; packed mask of `legal` actions;
    `action`; `log_probability` of the action by the policy that played; `advantage`, its estimate; `target`, that of
    the value of the infostate; `version` of the weights that played; and, for a `critic` that sees everything, the
    packed infostates of the `others`.
    """
    fields: list[tuple[Any, ...]] = [
        ("infostate", np.uint8, (spec.packed_size,)),
        ("legal", np.uint8, (mask_bytes(spec.num_actions),)),
        ("action", np.int16),
        ("log_probability", np.float32),
        ("advantage", np.float32),
        ("target", np.float32),
        ("version", np.int32),
    ]
    if critic:
        fields.append(("others", np.uint8, ((spec.num_players - 1) * spec.packed_size,)))
    return np.dtype(fields)


def pack_actions(actions: NDArray[np.void]) -> NDArray[np.uint8]:
    """Converts action records `[n]` to bytes, `uint8[n, itemsize]`.

    Padding between the fields is set to 0, so that equal actions have equal bytes and a repeated sample is identical.
    """
    clean = np.zeros(len(actions), actions.dtype)
    for name in actions.dtype.names or ():
        clean[name] = actions[name]
    return clean.view(np.uint8).reshape(len(actions), actions.dtype.itemsize)


def unpack_actions(packed: NDArray[np.uint8], action_dtype: np.dtype[np.void]) -> NDArray[np.void]:
    """Converts the result of `pack_actions` back to action records `[n]`, in new memory."""
    actions = np.empty(len(packed), action_dtype)
    actions.view(np.uint8).reshape(len(packed), action_dtype.itemsize)[:] = packed
    return actions
