"""The layout of a policy net's outputs: the logits of actions, and the value of the infostate.

`B` rows, `A` actions, `S` output slots, `K` slots per action.
"""

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, Packed
from learners.networks.settings import NetworkSettings


def slots_and_needed(
    game: Game, network: NetworkSettings, packed: Packed, legal: NDArray[np.bool_]
) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
    """Output slots of each action and, as if it were one more action that is always legal, of the value.

    Args:
        game: The game as the net is trained on it.
        network: Settings of the net.
        packed: Infostates, `uint8[B, P]`.
        legal: Legal actions, `bool[B, A]`.

    Returns:
        Slots `int16[B, A + 1, K]`, and the outputs wanted, `bool[B, A + 1]`.
    """
    own = game.output_slots(packed, network.outputs)
    rows, actions, summands = own.shape
    slots = np.empty((rows, actions + 1, summands), np.int16)
    slots[:, :actions] = own
    slots[:, actions] = -1
    slots[:, actions, 0] = game.spec.slots[network.outputs]  # follows those of the actions
    needed = np.empty((rows, actions + 1), np.bool_)
    needed[:, :actions] = legal
    needed[:, actions] = True
    return slots, needed
