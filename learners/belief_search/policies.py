"""The nets of the depth-limited method: the current policy, the average policy, and values of belief states."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import fast
from envs.game import Packed
from learners.belief_search.view import BeliefGeister
from learners.networks.inference import Forward, encoder, make_forward
from learners.networks.settings import NetworkSettings, Weights
from learners.regret_matching import match_regrets, uniform_policy


class BeliefWeights(NamedTuple):
    """The nets after an iteration, the same for both players.

    Attributes:
        version: The iteration; 0 before the first one.
        advantage, policy, value: Weights of each net (in paper 002 the value, policy and baseline networks); None
            before the first fit, when policies are uniform and values 0.
    """

    version: int
    advantage: Weights | None
    policy: Weights | None
    value: Weights | None


class BeliefPolicies:
    """Runs the nets on packed infostates with beliefs, `uint8[B, 28]`. Not thread-safe.

    Args:
        game: Unpacks infostates.
        network: Settings of the advantage and policy nets.
        value_network: Settings of the value net.
        weights: Weights of the nets.
        device: Device of the nets.

    Attributes:
        rows: Number of infostates evaluated by a net so far.
    """

    def __init__(
        self,
        game: BeliefGeister,
        network: NetworkSettings,
        value_network: NetworkSettings,
        weights: BeliefWeights,
        device: str = "cpu",
    ) -> None:
        self._game, self._outputs = game, network.outputs
        self._encode = encoder(game, network)
        self._advantage, self._policy = (
            None if own is None else make_forward(network, [own], device) for own in (weights.advantage, weights.policy)
        )
        self.rows = 0
        self._value = None if weights.value is None else make_forward(value_network, [weights.value], device)

    def current(self, packed: Packed, legal: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The current policy, by regret matching on the advantages, `float32[B, A]`."""
        policy = np.empty(legal.shape, np.float32)
        if self._advantage is None:
            uniform_policy(legal, policy)
        else:
            match_regrets(self._scores(self._advantage, packed, legal), legal, policy[None])
        return policy

    def average(self, packed: Packed, legal: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The average policy, `float32[B, A]`."""
        policy = np.empty(legal.shape, np.float32)
        if self._policy is None:
            uniform_policy(legal, policy)
        else:
            softmax(self._scores(self._policy, packed, legal)[0], legal, policy)
        return policy

    def value(self, packed: Packed) -> NDArray[np.float32]:
        """Values of infostates for their players, clipped to [-1, 1], `float32[B]`."""
        if self._value is None or not len(packed):
            return np.zeros(len(packed), np.float32)
        self.rows += len(packed)
        outputs = self._value([self._encode(packed)])[0, :, 0]
        return np.clip(outputs, -1, 1)

    def _scores(self, net: Forward, packed: Packed, legal: NDArray[np.bool_]) -> NDArray[np.float32]:
        self.rows += len(packed)
        return net.action_values([self._encode(packed)], self._game.output_slots(packed, self._outputs), legal)


@fast
def softmax(scores, legal, policy):
    """Writes the softmax of scores over the legal actions to `policy`, `float32[B, A]`."""
    for b in range(policy.shape[0]):
        highest = np.float32(-1e30)
        for a in range(policy.shape[1]):
            if legal[b, a] and scores[b, a] > highest:
                highest = scores[b, a]
        total = np.float32(0)
        for a in range(policy.shape[1]):
            policy[b, a] = np.exp(scores[b, a] - highest) if legal[b, a] else np.float32(0)
            total += policy[b, a]
        for a in range(policy.shape[1]):
            policy[b, a] = policy[b, a] / total if total > 0 else np.float32(0)
