"""Selects the decisions of a batch that need a Q-net, settles the others without it, and encodes their choices."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.capabilities import Appraises, FullView, RelativeActions
from envs.game import ListedGame, Packed, Ragged, States
from envs.ragged import take_lists
from envs.sparse import Sparse, dense


class Notes(NamedTuple):
    """Features that a game has computed for `D` infostates with `N` choices, see `envs.capabilities.Appraises`.

    Attributes:
        states: `float32[D, S]`.
        choices: `float32[N, C]`.
    """

    states: NDArray[np.float32]
    choices: NDArray[np.float32]


def settle_without_net(
    game: ListedGame, states: States, choices: Ragged, learn_scripted: bool
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
    """Encodes infostates and choices; a game computes its notes (`envs.capabilities.Appraises`) once for both.

    Args:
        game: The game.
        encoding: Encoding of the infostates.

    Attributes:
        notes: Number of notes of an infostate, `S`, and of a choice, `C`; 0 where the game has none.
    """

    def __init__(self, game: ListedGame, encoding: str) -> None:
        self._game = game
        self._encoding = encoding
        self.notes = game.notes(encoding) if isinstance(game, Appraises) else (0, 0)
        self._appraises = game if isinstance(game, Appraises) and self.notes != (0, 0) else None
        self._relative = game if isinstance(game, RelativeActions) else None

    def appraise(self, packed: Packed, offsets: NDArray[np.int64], actions: NDArray[np.void]) -> Notes:
        """Returns the notes of `D` infostates with `N` choices; the arguments are those of `Appraises.appraise`."""
        if self._appraises is None:
            return Notes(np.empty((len(packed), 0), np.float32), np.empty((len(actions), 0), np.float32))
        return Notes(*self._appraises.appraise(packed, offsets, actions, self._encoding))

    def __call__(
        self, packed: Packed, offsets: NDArray[np.int64], actions: NDArray[np.void], notes: Notes
    ) -> tuple[NDArray[np.float32], Sparse]:
        """Returns the inputs of infostates, `float32[D, F]`, and of choices."""
        encoding, appraises, relative = self._encoding, self._appraises, self._relative
        if appraises is not None:
            states = appraises.encode(packed, encoding, notes.states)
            return states, appraises.encode_choices(packed, offsets, actions, encoding, notes.choices)
        states = self._game.encode(packed, encoding)
        if relative is not None:
            return states, relative.encode_choices(packed, offsets, actions, encoding)
        return states, self._game.encode_actions(actions)


def net_inputs(game: ListedGame, encoding: str, states: States, lists: Ragged) -> dict[str, NDArray[Any]]:
    """Returns the inputs of a Q-net as arrays of all entries, see `learners.networks.onnx_q_graph.q_graph`.

    Args:
        game: The game that the net was trained on.
        encoding: Encoding of the infostates.
        states: States to decide, `[D]` records.
        lists: The choices in these states, `N` in all.
    """
    encode, packed = DecisionEncoder(game, encoding), game.observe(states, game.to_move(states))
    notes = encode.appraise(packed, lists.offsets, lists.rows)
    features, vectors = encode(packed, lists.offsets, lists.rows, notes)
    choices = np.empty((len(lists.rows), game.spec.action_inputs(encoding)), np.float32)
    dense(vectors.place, vectors.value, choices)
    decision = np.repeat(np.arange(len(states)), np.diff(lists.offsets))
    return {"x": features, "choices": choices, "decision": decision}


def encode_full(game: FullView, packed: Packed, hidden: Packed, notes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the input of a critic, see `FullView`; `notes`, `float32[B, S]`, spare the game their work."""
    return game.encode_full(packed, hidden, notes) if notes.shape[1] else game.encode_full(packed, hidden)
