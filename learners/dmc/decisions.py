"""Selects the decisions of a batch that need a Q-net, settles the others without it, and encodes their choices."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.game import Appraises, Packed, Ragged, RaggedGame, RelativeActions, States
from envs.ragged import take_lists
from envs.sparse import Sparse


class Notes(NamedTuple):
    """What a game has computed of `D` infostates with `N` choices, see `envs.game.Appraises`.

    Attributes:
        states: `float32[D, S]`.
        choices: `float32[N, C]`.
    """

    states: NDArray[np.float32]
    choices: NDArray[np.float32]


def settle_without_net(
    game: RaggedGame, states: States, choices: Ragged, learn_scripted: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Chooses the action of states with a single choice, and by the game's heuristic that of scripted decisions.

    Args:
        game: The game.
        states: States to decide, `[B]` records.
        choices: The choices in these states; no list is empty.
        learn_scripted: Whether the net also makes the scripted decisions.

    Returns:
        Chosen rows of `choices`, `int64[B]`, and indices of the states that need the net, `int64[n]`, whose rows are
        placeholders.
    """
    chosen = choices.offsets[:-1].copy()
    several = np.diff(choices.offsets) > 1
    if not learn_scripted:
        scripted = np.flatnonzero(several & game.scripted(states))
        if len(scripted):
            lists, source = take_lists(choices, scripted)
            chosen[scripted] = source[game.script(states[scripted], lists)]
            several[scripted] = False
    return chosen, np.flatnonzero(several)


class DecisionEncoder:
    """Encodes infostates and choices; a game computes its notes (`envs.game.Appraises`) once for both.

    Args:
        game: The game.
        encoding: Encoding of the infostates.

    Attributes:
        notes: Number of notes of an infostate, `S`, and of a choice, `C`; 0 where the game has none.
    """

    def __init__(self, game: RaggedGame, encoding: str) -> None:
        self._game: Any = game
        self._encoding = encoding
        self._relative = isinstance(game, RelativeActions)
        self.notes = game.notes(encoding) if isinstance(game, Appraises) else (0, 0)

    def appraise(self, packed: Packed, offsets: NDArray[np.int64], actions: NDArray[np.void]) -> Notes:
        """Returns the notes of `D` infostates with `N` choices; the arguments are those of `Appraises.appraise`."""
        if self.notes == (0, 0):
            return Notes(np.empty((len(packed), 0), np.float32), np.empty((len(actions), 0), np.float32))
        return Notes(*self._game.appraise(packed, offsets, actions, self._encoding))

    def __call__(
        self, packed: Packed, offsets: NDArray[np.int64], actions: NDArray[np.void], notes: Notes
    ) -> tuple[NDArray[np.float32], Sparse]:
        """Returns the inputs of infostates, `float32[D, F]`, and of choices."""
        game, encoding = self._game, self._encoding
        if self.notes == (0, 0):
            vectors = game.encode_choices if self._relative else None
            states = game.encode(packed, encoding)
            return states, vectors(packed, offsets, actions, encoding) if vectors else game.encode_actions(actions)
        states = game.encode(packed, encoding, notes.states)
        return states, game.encode_choices(packed, offsets, actions, encoding, notes.choices)


def encode_full(game: Any, packed: Packed, hidden: Packed, notes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the input of a critic, see `envs.game.FullView`; `notes`, `float32[B, S]`, spare the game their work."""
    full: NDArray[np.float32] = game.encode_full(packed, hidden, *([notes] if notes.shape[1] else []))
    return full
