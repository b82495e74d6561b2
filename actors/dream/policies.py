"""The policies of the players in a traversal: regret matching on the outputs of their advantage nets."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, Packed
from learners.networks.inference import Forward, encoder, make_forward
from learners.networks.settings import NetworkSettings, Weights
from learners.regret_matching import match_regrets, uniform_policy


class Policies:
    """The policies of all players by their advantage nets.

    Args:
        game: Batched game.
        network: Settings of the nets.
        weights: Weights of each player's net; None means the uniform policy.
        device: Device of the nets.
    """

    def __init__(
        self, game: Game, network: NetworkSettings, weights: Sequence[Weights | None], device: str = "cpu"
    ) -> None:
        self._game, self._outputs = game, network.outputs
        self._encode = encoder(game, network)
        self._nets = [None if own is None else make_forward(network, [own], device) for own in weights]

    def write(
        self, mover: NDArray[np.int8], infostates: Packed, legal: NDArray[np.bool_], policies: NDArray[np.float32]
    ) -> None:
        """Writes the policy of each row's player into `policies`.

        Args:
            mover: The player who acts in each row, `int8[B]`.
            infostates: Packed infostates, `uint8[B, P]`.
            legal: Legal actions, `bool[B, A]`.
            policies: Result, `float32[B, A]`.
        """
        for player, net in enumerate(self._nets):
            at = mover == player
            if at.all():  # the usual case, without copies
                self._write(net, infostates, legal, policies)
            elif at.any():
                part = np.empty((np.count_nonzero(at), policies.shape[1]), np.float32)
                self._write(net, infostates[at], legal[at], part)
                policies[at] = part

    def _write(
        self, net: Forward | None, infostates: Packed, legal: NDArray[np.bool_], policy: NDArray[np.float32]
    ) -> None:
        if net is None:
            uniform_policy(legal, policy)
            return
        slots = self._game.output_slots(infostates, self._outputs)
        advantages = net.action_values([self._encode(infostates)], slots, legal)
        match_regrets(advantages, legal, policy[None])
