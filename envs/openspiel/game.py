"""Adapts a game of OpenSpiel for two or more players to `Game`: slower than compiled rules, for any learner.

A state is the history of actions and outcomes of chance, which may be copied, dropped and sent to other processes like
a state of a compiled game. A cache holds the live states of OpenSpiel by history; missing ones are created by replay.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, OVER, ListedChance
from envs.game import GameSpec, Packed, States
from envs.openspiel.knowledge import DIGEST, Knowledge, digests
from envs.openspiel.loading import Spiel, has_constant_sum, load_openspiel, mover_of, name_of, refusing

_PROBES, _PROBE_PLIES = 16, 200

_CONVERTED = "turn_based_simultaneous_game"
"""OpenSpiel's name of every game of simultaneous moves that it plays in turn."""

INFORMATION_STATE, OBSERVATION, DIGESTS = "information state", "observation", "digest"
"""The kinds of `OpenSpielGame.inputs`, the source of infostates."""

_WHY = {INFORMATION_STATE: "information state tensors with all of the past", DIGESTS: "no tensors"}

Past = tuple[tuple[NDArray[np.float32], ...], ...]
"""The last decisions of each player, the newest first: observation tensor and action, one-hot."""


class OpenSpielGame(ListedChance):
    """A game of OpenSpiel with any returns as a `Game`. Implements `envs.game.Game`.

    Chance can be enumerated by `initial`, `mover`, `chance`, `apply` and `utilities`, as in
    `envs.extensive.ExtensiveGame`. OpenSpiel does not split observations into public and private ones; for a tree use
    `envs.openspiel.openspiel_tree`. Infostates are OpenSpiel's information state tensors or, for games without them,
    observation tensors, which may lack earlier observations; `identify` tells them apart by `Knowledge`. Games without
    tensors have digests of knowledge, in the encoding ``digest``, which tables can use and nets cannot.

    Args:
        game: See `envs.openspiel.loading.load_openspiel`. A game in Gambit's format can be sent to other processes only
            if it is given as text.
        name: Name of the game; by default OpenSpiel's.
        compact: Whether infostates are packed as bits, which requires tensors of zeros and ones, or as float32. None
            decides by a few random games.
        reserve: Number of live states that are kept in any case; the cache grows to twice the largest batch.
        past: Number of the player's last decisions that observation tensors are followed by, the last one first: the
            observation and the action of each, zeros before the first decision. For games without information state
            tensors.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: the game does not meet these conditions.
        RuntimeError: from `observe`, if `compact` and a tensor has entries other than 0 and 1.
    """

    may_differ: ClassVar[frozenset[str]] = frozenset({"compact", "reserve"})  # rules are parameters in the name

    def __init__(
        self,
        game: str | Spiel,
        name: str | None = None,
        *,
        compact: bool | None = None,
        reserve: int = 4096,
        past: int = 0,
    ) -> None:
        if type(reserve) is not int or reserve < 1:
            raise ValueError(f"reserve must be an integer of at least 1, got {reserve!r}")
        if compact is not None and type(compact) is not bool:
            raise ValueError(f"compact must be true or false, got {compact!r}")
        if type(past) is not int or past < 0:
            raise ValueError(f"past must be an integer of at least 0, got {past!r}")
        self.past = past
        self.spiel: Spiel = load_openspiel(game)
        self._source = game
        self.reserve = reserve
        self._forget()
        kind, spiel = self.spiel.get_type(), self.spiel
        self.knowledge = Knowledge(spiel)
        if kind.provides_information_state_tensor:
            self.inputs, width = INFORMATION_STATE, int(spiel.information_state_tensor_size())
        elif kind.provides_observation_tensor:
            self.inputs, width = OBSERVATION, int(spiel.observation_tensor_size())
        else:
            self.inputs, width = DIGESTS, 8 * DIGEST
        if past and self.inputs != OBSERVATION:
            raise ValueError(f"past must be 0 in OpenSpiel's {kind.short_name}, which has {_WHY[self.inputs]}")
        self._width = width  # of a tensor of OpenSpiel
        width += past * (width + int(spiel.num_distinct_actions()))
        self.compact = compact is not False or self.inputs == DIGESTS
        self._outcomes = max(1, int(spiel.max_chance_outcomes()))
        longest = _longest(spiel)
        numbers = np.min_scalar_type(max(spiel.num_distinct_actions(), self._outcomes) - 1)
        self.state_dtype = np.dtype(
            [
                ("length", np.int32),
                ("mover", np.int8),  # as in `envs.extensive`
                ("utility", np.float64, (int(spiel.num_players()),)),  # of each player
                ("history", numbers, (longest,)),  # actions and outcomes of chance
            ]
        )
        self.spec = self._describe(name or name_of(game, spiel), width)
        if not self.spec.num_actions:
            raise ValueError(f"OpenSpiel's {kind.short_name} has no actions with these parameters")
        with refusing(name_of(game, spiel)):  # some parameters are refused at the first deal
            binary = compact is not None or self.inputs == DIGESTS or self._fits_bits()
        if not binary:
            self.compact = False
            self.spec = self._describe(self.spec.name, width)

    def _describe(self, name: str, width: int) -> GameSpec:
        spiel = self.spiel
        return GameSpec(
            name=name,
            num_players=int(spiel.num_players()),
            num_actions=int(spiel.num_distinct_actions()),
            packed_size=(width + 7) // 8 if self.compact else 4 * width,
            shapes={"digest" if self.inputs == DIGESTS else "flat": (width,)},
            slots={"action": int(spiel.num_distinct_actions())},
            endings=("running", "over"),
            max_plies=int(spiel.max_game_length()),
            max_return=float(max(abs(spiel.min_utility()), abs(spiel.max_utility()))) or 1.0,
            constant_sum=has_constant_sum(spiel),
        )

    def _fits_bits(self) -> bool:
        """Returns whether all infostates of a few random games consist of zeros and ones."""
        rng = np.random.default_rng(0)
        states = self.reset(_PROBES, rng)
        for _ in range(_PROBE_PLIES):
            states = states[~self.finished(states)]
            if not len(states):
                break
            tensors = self.tensors(self.spiel_states(states), states["mover"])
            if not _is_binary(tensors):
                return False
            weight = self.legal(states) * rng.random((len(states), self.spec.num_actions))
            self.step(states, weight.argmax(axis=1), rng)
        return True

    def _forget(self) -> None:
        self._lives: OrderedDict[bytes, tuple[Spiel, Past]] = OrderedDict()  # in the order of their last use
        self._capacity = self.reserve

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("spiel", "_lives", "_capacity")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.spiel = load_openspiel(self._source)
        self._forget()

    # Live states

    @property
    def live(self) -> int:
        """Number of live states of OpenSpiel in the cache."""
        return len(self._lives)

    def _keys(self, states: States) -> list[bytes]:
        self._capacity = max(self._capacity, 2 * len(states))
        kind = self.state_dtype["history"]
        joined = np.ascontiguousarray(states["history"]).tobytes()
        ends = states["length"] * kind.base.itemsize
        return [joined[k * kind.itemsize : k * kind.itemsize + end] for k, end in enumerate(ends.tolist())]

    def spiel_states(self, states: States) -> list[Spiel]:
        """Returns OpenSpiel's state for each of ours, from the cache or by replay. Clone them before changing them."""
        return [self._find(key)[0] for key in self._keys(states)]

    def states_of(self, lives: Sequence[Spiel]) -> States:
        """Returns our states for those of OpenSpiel, which are of the game `spiel`, `[len(lives)]` records."""
        states = np.zeros(len(lives), self.state_dtype)
        for b, live in enumerate(lives):
            choices = live.history()
            states["history"][b, : len(choices)], states["length"][b] = choices, len(choices)
        self._note(states, [self._find(key) for key in self._keys(states)])
        return states

    def _find(self, key: bytes) -> tuple[Spiel, Past]:
        entry = self._lives.get(key)
        if entry is not None:
            self._lives.move_to_end(key)
            return entry
        live, past = self.spiel.new_initial_state(), self._nothing()
        for choice in np.frombuffer(key, self.state_dtype["history"].base).tolist():
            past = self._remember(live, past, choice)
            live.apply_action(choice)
        self._keep(key, (live, past))
        return live, past

    def _nothing(self) -> Past:
        return ((),) * self.spec.num_players

    def _remember(self, live: Spiel, past: Past, choice: int) -> Past:
        """Returns the past after a choice at a state."""
        if not self.past or live.is_chance_node():
            return past
        player = int(live.current_player())
        decision = np.zeros(self._width + self.spec.num_actions, np.float32)
        decision[: self._width] = live.observation_tensor(player)
        decision[self._width + choice] = 1
        return (*past[:player], (decision, *past[player])[: self.past], *past[player + 1 :])

    def _keep(self, key: bytes, entry: tuple[Spiel, Past]) -> None:
        self._lives[key] = entry
        self._lives.move_to_end(key)
        while len(self._lives) > self._capacity:
            self._lives.popitem(last=False)

    def _note(self, states: States, entries: list[tuple[Spiel, Past]]) -> None:
        """Writes mover and utility of live states into ours, and adds them to the cache."""
        for key, entry in zip(self._keys(states), entries, strict=True):
            self._keep(key, entry)
        states["mover"] = [mover_of(live) for live, _ in entries]
        for b, (live, _) in enumerate(entries):
            if live.is_terminal():
                states["utility"][b] = live.returns()

    # Enumeration of chance

    def initial(self, batch: int) -> States:
        states = np.zeros(batch, self.state_dtype)
        self._note(states, [(self.spiel.new_initial_state(), self._nothing()) for _ in range(batch)])
        return states

    def chance(self, states: States) -> NDArray[np.float64]:
        probability = np.zeros((len(states), self._outcomes))
        at = np.flatnonzero(states["mover"] == CHANCE)
        for b, live in zip(at, self.spiel_states(states[at]), strict=True):
            outcomes, chances = zip(*live.chance_outcomes(), strict=True)
            probability[b, list(outcomes)] = chances
        return probability

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        running = np.flatnonzero(states["mover"] != OVER)
        part, chosen = states[running], np.asarray(choices)[running]
        if part["length"].max(initial=0) >= part["history"].shape[1]:
            raise ValueError(f"{self.spec.name}: a game is longer than OpenSpiel's max_history_length says")
        entries = [
            (live.child(choice), self._remember(live, past, choice))
            for (live, past), choice in zip(map(self._find, self._keys(part)), chosen.tolist(), strict=True)
        ]
        part["history"][np.arange(len(part)), part["length"]] = chosen
        part["length"] += 1
        self._note(part, entries)
        states[running] = part

    def utilities(self, states: States) -> NDArray[np.float64]:
        return np.asarray(states["utility"].copy())

    # The interface `Game`

    def legal(self, states: States) -> NDArray[np.bool_]:
        mask = np.zeros((len(states), self.spec.num_actions), np.bool_)
        at = np.flatnonzero(states["mover"] >= 0)
        for b, live in zip(at, self.spiel_states(states[at]), strict=True):
            mask[b, live.legal_actions()] = True
        return mask

    def place(self, states: States, b: int) -> str:
        played = states["history"][b, : states["length"][b]].tolist()
        return f"{self.spec.name}, game {b}, after {played}"

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        if self.inputs == DIGESTS:
            return self.identify(states, players)
        tensors = self.tensors(self.spiel_states(states), players)
        if self.past:
            tensors = np.concatenate([tensors, self._pasts(states, players)], axis=1)
        return self.pack(tensors)

    def _pasts(self, states: States, players: NDArray[np.integer]) -> NDArray[np.float32]:
        """Returns the last decisions of `players[b]` in game b, `float32[B, past * (width + A)]`."""
        rows = np.zeros((len(states), self.past, self._width + self.spec.num_actions), np.float32)
        for row, key, player in zip(rows, self._keys(states), players.tolist(), strict=True):
            for place, decision in enumerate(self._find(key)[1][player]):
                row[place] = decision
        return rows.reshape(len(states), -1)

    def identify(self, states: States, players: NDArray[np.int8]) -> Packed:
        """See `envs.game.Identified`: by `Knowledge`, which may be finer than tensors."""
        kind = self.state_dtype["history"].base
        found = []
        for key, live, player in zip(self._keys(states), self.spiel_states(states), players.tolist(), strict=True):
            found.append((player, self.knowledge.of(live, player, np.frombuffer(key, kind).tolist())))
        return digests(found)

    def tensors(self, lives: Sequence[Spiel], players: Sequence[int] | NDArray[np.integer]) -> NDArray[np.float32]:
        """Returns the tensor of `players[b]` at OpenSpiel's state `lives[b]`, without `past`, `float32[B, width]`.

        Games without tensors have none of these.
        """
        flat = np.empty((len(lives), self._width), np.float32)
        for b, (live, player) in enumerate(zip(lives, players, strict=True)):
            seen = live.information_state_tensor if self.inputs == INFORMATION_STATE else live.observation_tensor
            flat[b] = seen(int(player))
        return flat

    def pack(self, tensors: NDArray[np.float32]) -> Packed:
        """Packs tensors; raises a RuntimeError if `compact` and they do not consist of zeros and ones."""
        if not self.compact:
            return tensors.view(np.uint8)
        if not _is_binary(tensors):
            raise RuntimeError(f"{self.spec.name}: an infostate has entries other than 0 and 1: pass compact=False")
        return np.packbits(tensors != 0, axis=1)

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        if encoding not in self.spec.shapes:
            raise ValueError(
                f"{self.spec.name} has only the encoding {next(iter(self.spec.shapes))!r}, got {encoding!r}"
            )
        if not self.compact:
            return np.ascontiguousarray(packed).view(np.float32)
        return np.unpackbits(packed, axis=1, count=self.spec.shapes[encoding][0]).astype(np.float32)


def _longest(spiel: Spiel) -> int:
    """Returns a bound on the choices of a game: OpenSpiel's own leaves out a first deal of some games, and part of the
    chance events of some whose moves are simultaneous."""
    own = int(spiel.max_history_length())
    if spiel.get_type().short_name == _CONVERTED:
        own = max(own, 3 * int(spiel.max_game_length()))
    return own + 2


def _is_binary(tensors: NDArray[np.float32]) -> bool:
    return bool(((tensors == 0) | (tensors == 1)).all())


__all__ = ["OpenSpielGame"]
