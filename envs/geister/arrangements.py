"""Compiled functions over arrangements: the colour layouts of one player's ghosts, as bits of the red ghosts."""

from envs.compiled import kernel
from envs.geister.rules import CAPTURED


@kernel
def contradicts(arrangement, state, player):
    """Returns whether an arrangement contradicts the colour of one of the player's captured ghosts."""
    for ghost in range(8):
        if state.square[player, ghost] == CAPTURED and ((arrangement ^ state.red[player]) >> ghost) & 1:
            return True
    return False


@kernel
def possible(states, players, arrangements, out):
    """Writes which arrangements of the other player's ghosts `players[b]` cannot rule out in game b.

    Args:
        states: `STATE[B]`.
        players: The observing player in each game, `int8[B]`.
        arrangements: All arrangements, `uint8[K]`.
        out: Result, `bool[B, K]`.
    """
    for b in range(states.shape[0]):
        for k in range(arrangements.shape[0]):
            out[b, k] = not contradicts(arrangements[k], states[b], 1 - players[b])


@kernel
def arrange(states, players, chosen, arrangements):
    """Colours the ghosts of the opponent of `players[b]` by `arrangements[chosen[b]]`, in place."""
    for b in range(states.shape[0]):
        states[b].red[1 - players[b]] = arrangements[chosen[b]]
