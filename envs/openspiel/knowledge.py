"""The knowledge of players of an OpenSpiel game: its information states, or else their observations and decisions.

For games that define observations only, a player's knowledge is the list of the player's observations whenever a player
was to move, without those that equal the one before, and of the player's own decisions: the legal actions and the one
that was chosen. Everything in it was seen, so that it gives nothing away, and nothing of it is forgotten: perfect
recall follows.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from envs.game import Packed
from envs.openspiel.loading import Spiel

DIGEST = 16
"""Bytes of the digest of an infostate; two of a billion infostates agree with a probability below 1e-20."""


class Memory(NamedTuple):
    """The observations and decisions of each player so far.

    Attributes:
        pasts: Digest of the list of each player.
        last: Digest of the last observation of each player; empty before the first one.
    """

    pasts: tuple[bytes, ...]
    last: tuple[bytes, ...]


class Knowledge:
    """Names infostates of a game, so that they can be told apart.

    Args:
        spiel: The game.

    Raises:
        ValueError: the game defines neither information states nor observations.
    """

    def __init__(self, spiel: Spiel) -> None:
        kind = spiel.get_type()
        self.stated = bool(kind.provides_information_state_string)
        self._words, self._players = bool(kind.provides_observation_string), int(spiel.num_players())
        if not (self.stated or self._words or kind.provides_observation_tensor):
            raise ValueError(f"OpenSpiel's {kind.short_name} defines neither information states nor observations")

    def start(self, state: Spiel) -> Memory | None:
        """Returns the memory at the start of a game; None if the game has information states."""
        if self.stated:
            return None
        return self._seen(Memory((b"",) * self._players, (b"",) * self._players), state)

    def after(self, memory: Memory | None, before: Spiel, choice: int, state: Spiel) -> Memory | None:
        """Returns the memory at `state`, which follows `before` by an action or an outcome of chance."""
        if memory is None:
            return None
        if not before.is_chance_node():
            mover, pasts = int(before.current_player()), list(memory.pasts)
            pasts[mover] = _digest(pasts[mover], f"{sorted(before.legal_actions(mover))} {choice}".encode())
            memory = memory._replace(pasts=tuple(pasts))
        return self._seen(memory, state)

    def label(self, memory: Memory | None, state: Spiel, player: int) -> str:
        """Returns a text for the knowledge of a player at a state with this memory; equal ones have equal texts."""
        if memory is None:
            return str(state.information_state_string(player))
        options = sorted(state.legal_actions(player)) if int(state.current_player()) == player else []
        return f"{memory.pasts[player].hex()} {options}"

    def of(self, state: Spiel, player: int, choices: Sequence[int]) -> str:
        """Returns the label of a state after a history of choices; games without information states are replayed."""
        if self.stated:
            return self.label(None, state, player)
        at = state.get_game().new_initial_state()
        memory = self.start(at)
        for choice in choices:
            following = at.child(choice)
            memory, at = self.after(memory, at, choice, following), following
        return self.label(memory, state, player)

    def _seen(self, memory: Memory, state: Spiel) -> Memory:
        if state.is_chance_node() or state.is_terminal():
            return memory
        seen = tuple(_digest(b"", self._observation(state, player)) for player in range(self._players))
        news = zip(memory.pasts, memory.last, seen, strict=True)
        return Memory(tuple(past if new == old else _digest(past, new) for past, old, new in news), seen)

    def _observation(self, state: Spiel, player: int) -> bytes:
        if self._words:
            return str(state.observation_string(player)).encode()
        return np.asarray(state.observation_tensor(player), np.float32).tobytes()


def digests(labels: Sequence[tuple[int, str]]) -> Packed:
    """Returns digests of labels with their players, `uint8[B, DIGEST]`."""
    found = b"".join(_digest(b"", f"{player} {text}".encode()) for player, text in labels)
    return np.frombuffer(found, np.uint8).reshape(len(labels), DIGEST)


def _digest(past: bytes, news: bytes) -> bytes:
    return blake2b(past + news, digest_size=DIGEST).digest()


__all__ = ["DIGEST", "Knowledge", "Memory", "digests"]
