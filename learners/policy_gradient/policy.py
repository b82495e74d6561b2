"""Policies from logits, and the net as players run it."""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import fast
from envs.game import Game, Packed
from learners.networks.inference import encoder, make_forward
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


class PolicyInference:
    """A net as players run it; to be used by one thread.

    Args:
        game: The game as the net was trained on it.
        network: Settings of the net.
        weights: From `ValueNet.inference_weights`.
        device: Device of the net.
    """

    def __init__(self, game: Game, network: NetworkSettings, weights: Weights, device: str = "cpu") -> None:
        self._game, self._network = game, network
        self._encode = encoder(game, network)
        self._inference = make_forward(network, [weights], device)
        self._unit = np.float32(game.spec.max_return)

    def __call__(self, packed: Packed, legal: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluates infostates `uint8[B, P]` with legal actions `bool[B, A]`.

        Returns:
            The policy `float32[B, A]`, and the value to the player of each infostate, `float32[B]`, in units of the
            game's returns.
        """
        slots, needed = slots_and_needed(self._game, self._network, packed, legal)
        outputs = self._inference.action_values([self._encode(packed)], slots, needed)[0]
        policy = np.empty(legal.shape, np.float32)
        softmax(outputs, legal, policy)
        return policy, self._unit * outputs[:, -1]
