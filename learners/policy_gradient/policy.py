"""Policies from logits: probabilities, sampled actions, thresholds; and the net as players run it."""

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, Packed
from learners.networks.inference import Inference, encoder
from learners.networks.kernels import fast
from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.outputs import slots_and_needed

_ZERO, _ONE = np.float32(0), np.float32(1)


@fast
def softmax(logits, legal, policy):
    """The policy of legal actions: exp(logit) / sum, 0 where not legal.

    Args:
        logits: `float32[B, A']`, A' >= A; what follows the A actions is not read.
        legal: `bool[B, A]`, at least one action each.
        policy: Result, `float32[B, A]`.
    """
    for b in range(policy.shape[0]):
        greatest = -np.float32(np.inf)
        for a in range(policy.shape[1]):
            if legal[b, a]:
                greatest = max(greatest, logits[b, a])
        total = _ZERO
        for a in range(policy.shape[1]):
            policy[b, a] = np.exp(logits[b, a] - greatest) if legal[b, a] else _ZERO
            total += policy[b, a]
        scale = _ONE / total
        for a in range(policy.shape[1]):
            policy[b, a] *= scale


@fast
def draw(policy, draws, actions, log_probability):
    """Samples an action of each policy.

    Args:
        policy: `float32[B, A]`.
        draws: Uniform numbers in [0, 1), `float32[B]`.
        actions: Result, `int64[B]`.
        log_probability: Result, of the sampled action, `float32[B]`.
    """
    for b in range(policy.shape[0]):
        left = draws[b]
        chosen = -1
        for a in range(policy.shape[1]):
            if policy[b, a] > 0:
                chosen = a  # rounding may leave a little at the end: it goes to the last possible action
                left -= policy[b, a]
                if left < 0:
                    break
        actions[b] = chosen
        log_probability[b] = np.log(policy[b, chosen])


def apply_threshold(policy: NDArray[np.float32], threshold: float) -> NDArray[np.float32]:
    """The policy without actions that have less than this share of the greatest probability, `float32[B, A]`."""
    if threshold == 0:
        return policy
    kept = np.where(policy >= np.float32(threshold) * policy.max(axis=1, keepdims=True), policy, _ZERO)
    return kept / kept.sum(axis=1, keepdims=True)


class PolicyInference:
    """A net as players run it, on a CPU; to be used by one thread.

    Args:
        game: The game as the net was trained on it.
        network: Settings of the net.
        weights: From `PolicyNet.inference_weights`.
    """

    def __init__(self, game: Game, network: NetworkSettings, weights: Weights) -> None:
        self._game, self._network = game, network
        self._encode = encoder(game, network)
        self._inference = Inference(network, [weights])

    def __call__(self, packed: Packed, legal: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluates infostates `uint8[B, P]` with legal actions `bool[B, A]`.

        Returns:
            The policy `float32[B, A]`, and the value to the player of each infostate, `float32[B]`.
        """
        slots, needed = slots_and_needed(self._game, self._network, packed, legal)
        outputs = self._inference.action_values([self._encode(packed)], slots, needed)[0]
        policy = np.empty(legal.shape, np.float32)
        softmax(outputs, legal, policy)
        return policy, outputs[:, -1]
