"""Adapts any two-player PettingZoo environment to `Game`: slower than compiled rules, for the same learners.

PettingZoo environments cannot be copied, whereas states of a `Game` are values that may be copied, dropped, overwritten
and sent to other processes. A state here is therefore the history of a game: the seed of its reset and the actions
since. The adapter keeps a table of live environments with the histories as keys. A state whose environment is not in
the table (a second copy that is stepped, a state from another process, an evicted one) gets one by replay.

The table owns all environments. It holds at most twice as many as the largest batch so far (and at least `reserve`),
and reuses those of ended games first.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.aec_reading import Rewards, as_aec, common_actions, common_observation, flat_observation, read_mask
from envs.game import GameSpec, IllegalAction, Packed, ReturnTooLarge, States
from envs.playable import Playable

RUNNING, TERMINATED, TRUNCATED, PLY_LIMIT = 0, 1, 2, 3
ENDINGS = ("running", "terminated", "truncated", "ply limit")

Key = tuple[int, bytes]


@dataclass(slots=True)
class _Live:
    """An environment at some state, the rewards so far, and the legal actions, `bool[A]`."""

    env: AECEnv
    rewards: Rewards
    mask: NDArray[np.bool_]


class AecGame(Playable):
    """A two-player PettingZoo environment as a `Game`. Implements `envs.game.Game`.

    The environment must have the same discrete actions for both players. A ParallelEnv is converted by PettingZoo's
    `parallel_to_aec`: the second player does not see the action of the first. An observation is of any space that
    gymnasium can flatten, alone or in a dict beside `action_mask`; without that, the mask is
    ``infos[agent]["action_mask"]``, or else all actions are legal. ``reset(seed)`` must determine all chance events,
    which every replay verifies. A packed infostate is the flattened observation of a player, as bytes of its own type
    or of float32 if that is shorter. A return is the undiscounted sum of rewards, or, where those are all 0, of what
    `last` returns.

    Args:
        factory: Creates an AECEnv or a ParallelEnv, wrapped or not; must be picklable if the game is sent to other
            processes.
        name: Name of the game; by default ``metadata["name"]``.
        max_plies: Longer games are cut off with the ending ``ply limit`` and the returns so far.
        max_return: Largest absolute return, after scaling.
        scale: Factor on all rewards.
        reserve: Number of environments that are kept in any case.

    Raises:
        ValueError: the environment does not meet these conditions; or, from `step`, `last` and `rewards` differ.
        ReturnTooLarge: a `ValueError`, from `step`: a return exceeds `max_return`.
        RuntimeError: a replay of the same seed and actions led to another state.
    """

    may_differ: ClassVar[frozenset[str]] = frozenset({"max_plies", "max_return", "scale", "reserve"})  # none is a rule

    def __init__(
        self,
        factory: Callable[[], AECEnv],
        name: str | None = None,
        *,
        max_plies: int = 256,
        max_return: float = 1.0,
        scale: float = 1.0,
        reserve: int = 256,
    ) -> None:
        if max_plies < 1 or reserve < 1 or not 0 < max_return < math.inf or scale == 0 or not math.isfinite(scale):
            raise ValueError(
                "max_plies, reserve and max_return must be positive, scale not zero, and all of them finite"
            )
        self.factory = factory
        self.scale = scale
        self.reserve = reserve
        made = factory()
        name = name or str(made.metadata.get("name", type(made.unwrapped).__name__))
        env = as_aec(made, name)
        self.agents: list[Any] = list(env.possible_agents)
        actions = common_actions(env, self.agents, name)
        self._space, flat = common_observation(env, self.agents, name)
        self._dtype = flat.dtype if flat.dtype is not None and flat.dtype.itemsize <= 2 else np.dtype(np.float32)
        width = int(np.prod(flat.shape or (1,)))
        self.spec = GameSpec(
            name=name,
            num_players=2,
            num_actions=actions,
            packed_size=width * self._dtype.itemsize,
            shapes={"flat": (width,)},
            slots={"action": actions},
            endings=ENDINGS,
            max_plies=max_plies,
            max_return=max_return,
        )
        self.state_dtype = np.dtype(
            [
                ("seed", np.int64),
                ("plies", np.int32),
                ("to_move", np.int8),  # -1 after the end
                ("ending", np.int8),
                ("total", np.float64, (2,)),  # sum of the rewards of each player, not scaled
                ("actions", np.min_scalar_type(actions - 1), (max_plies,)),
            ]
        )
        self._forget()
        self._spare.append(env)

    no_tree = "PettingZoo does not tell which events of an environment are random, and how probable they are"
    """Why there is no tree, see `envs.chanceless`."""

    def _forget(self) -> None:
        self._running: OrderedDict[Key, _Live] = OrderedDict()  # in the order of their last use
        self._ended: OrderedDict[Key, _Live] = OrderedDict()
        self._spare: list[AECEnv] = []
        self._capacity = self.reserve

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_running", "_ended", "_spare", "_capacity")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    @property
    def live(self) -> int:
        """Number of environments that the adapter holds."""
        return len(self._running) + len(self._ended) + len(self._spare)

    def close(self) -> None:
        """Closes all environments. States stay valid; using them needs a replay."""
        for env in [*self._spare, *(live.env for t in (self._running, self._ended) for live in t.values())]:
            env.close()
        self._forget()

    # The table of environments

    def _take_env(self, replay: bool) -> AECEnv:
        """Returns an environment to reset: a spare one, that of an ended game, a new one, or the least recently used.

        A replay prefers a new one to that of an ended game, whose state may be needed next.
        """
        if self._spare:
            return self._spare.pop()
        if self._ended and (not replay or self.live >= self._capacity):
            return self._ended.popitem(last=False)[1].env
        if self.live < self._capacity:
            return as_aec(self.factory(), self.spec.name)
        return self._running.popitem(last=False)[1].env

    def _keep(self, key: Key, live: _Live, ending: int) -> None:
        table = self._running if ending == RUNNING else self._ended
        replaced = table.pop(key, None)  # two copies of one state were stepped with the same action
        if replaced is not None:
            self._spare.append(replaced.env)
        table[key] = live

    def _find(self, state: np.void) -> _Live:
        """Returns the environment at a state, from the table or by replay."""
        key = _key(state)
        table = self._running if state["ending"] == RUNNING else self._ended
        live = table.get(key)
        if live is None:
            live = self._replay(state)
            self._keep(key, live, state["ending"])
        else:
            table.move_to_end(key)
        return live

    def _replay(self, state: np.void) -> _Live:
        again = np.zeros(1, self.state_dtype)[0]
        again["seed"] = state["seed"]
        live = self._start(again, replay=True)
        same = True
        for action in state["actions"][: state["plies"]]:
            same = same and bool(live.mask[action])  # an action may be illegal where the replay has led
            if same:
                live = self._advance(live, again, int(action))
        if not same or not all(np.array_equal(again[f], state[f]) for f in ("to_move", "ending", "total")):
            raise RuntimeError(f"{self.spec.name}: reset(seed) and the same actions led to another state")
        return live

    # One environment

    def _start(self, state: np.void, replay: bool) -> _Live:
        env = self._take_env(replay)
        env.reset(seed=int(state["seed"]))
        return self._look(env, Rewards(self.agents), state)

    def _advance(self, live: _Live, state: np.void, action: int) -> _Live:
        """Plays one action in an environment and updates its state."""
        env, rewards = live.env, live.rewards
        rewards.before(env)
        env.step(action)
        rewards.after(env)
        state["total"] = rewards.earned
        state["actions"][state["plies"]] = action
        state["plies"] += 1
        return self._look(env, rewards, state)

    def _look(self, env: AECEnv, rewards: Rewards, state: np.void) -> _Live:
        """Reads mover, ending and mask. An agent that is out while the other plays on takes its dead step (None)."""
        dead = {a: env.terminations[a] or env.truncations[a] for a in env.agents}
        while not all(dead.values()) and dead[env.agent_selection]:
            del dead[env.agent_selection]
            rewards.before(env, last=True)
            env.step(None)
        if all(dead.values()):
            truncated = any(env.truncations.values()) and not any(env.terminations.values())
            state["ending"] = TRUNCATED if truncated else TERMINATED
        elif state["plies"] >= self.spec.max_plies:
            state["ending"] = PLY_LIMIT
        if state["ending"] != RUNNING:
            state["to_move"] = -1
            state["total"] = rewards.total(env, self.spec.name, cut=state["ending"] == PLY_LIMIT)
            return _Live(env, rewards, np.zeros(self.spec.num_actions, np.bool_))
        state["to_move"] = self.agents.index(env.agent_selection)
        return _Live(env, rewards, read_mask(env, self.spec.num_actions, self.spec.name))

    # The interface `Game`

    def _allow_for(self, states: States) -> None:
        self._capacity = max(self._capacity, 2 * len(states))

    def env(self, render_mode: str | None = None, **options: Any) -> AECEnv:
        """Creates the environment that this game is made of, in turns.

        Raises:
            ValueError: an option is given; those of the environment belong to the game.
        """
        if render_mode is not None or options:
            raise ValueError(f"{self.spec.name}: pass render_mode and other options when making the game")
        return as_aec(self.factory(), self.spec.name)

    def reset(self, batch: int, rng: np.random.Generator) -> States:
        states = np.zeros(batch, self.state_dtype)
        states["seed"] = rng.integers(2**31 - 1, size=batch)
        self._allow_for(states)
        for state in states:
            live = self._start(state, replay=False)
            self._keep(_key(state), live, state["ending"])
        return states

    def to_move(self, states: States) -> NDArray[np.int8]:
        return states["to_move"].copy()

    def legal(self, states: States) -> NDArray[np.bool_]:
        self._allow_for(states)
        mask = np.zeros((len(states), self.spec.num_actions), np.bool_)
        for b in np.flatnonzero(states["ending"] == RUNNING):
            mask[b] = self._find(states[b]).mask
        return mask

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        self._allow_for(states)
        flat = np.empty((len(states), *self.spec.shapes["flat"]), self._dtype)
        for b, state in enumerate(states):
            seen = self._find(state).env.observe(self.agents[players[b]])
            flat[b] = flat_observation(self._space, flat.shape[1], seen, self.spec.name)
        return flat.view(np.uint8)

    def step(self, states: States, actions: NDArray[np.integer], rng: np.random.Generator | None = None) -> None:
        """Plays `actions`, `int[B]`, in place in the games that run; see `envs.game.Game.step`.

        Raises:
            IllegalAction: an action is not legal; no state has changed.
            ReturnTooLarge: a return is larger than the spec's `max_return`.
        """
        running = np.flatnonzero(states["ending"] == RUNNING)
        chosen = np.asarray(actions)[running]
        known = (chosen >= 0) & (chosen < self.spec.num_actions)
        legal = known & self.legal(states[running])[np.arange(len(running)), np.where(known, chosen, 0)]
        if not legal.all():
            b = running[np.argmin(legal)]
            raise IllegalAction(f"{self.spec.name}, game {b}, ply {states[b]['plies']}: {actions[b]} is not legal")
        for b, action in zip(running, chosen, strict=True):
            live = self._find(states[b])
            del self._running[_key(states[b])]
            live = self._advance(live, states[b], int(action))
            self._keep(_key(states[b]), live, states[b]["ending"])
        largest = float(np.abs(self.returns(states)).max(initial=0))
        if largest > self.spec.max_return * (1 + 1e-6):
            told = f"{largest:.9g}"  # a float32 needs so many digits, or the same return would exceed it again
            raise ReturnTooLarge(
                f"{self.spec.name}: a return of {told} exceeds max_return={self.spec.max_return:.9g}: "
                f"pass max_return={told} or more, or scale the rewards"
            )

    def finished(self, states: States) -> NDArray[np.bool_]:
        return np.asarray(states["ending"] != RUNNING)

    def returns(self, states: States) -> NDArray[np.float32]:
        ended = self.finished(states)[:, None]
        return np.where(ended, states["total"] * self.scale, 0).astype(np.float32)

    def endings(self, states: States) -> NDArray[np.int8]:
        return states["ending"].copy()

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        if encoding not in self.spec.shapes:
            raise ValueError(f"{self.spec.name} has only the encoding 'flat', got {encoding!r}")
        return np.ascontiguousarray(packed).view(self._dtype).astype(np.float32)

    def output_slots(self, packed: Packed, layout: str = "action", other: Packed | None = None) -> NDArray[np.int16]:
        every = np.arange(self.spec.num_actions, dtype=np.int16)[None, :, None]
        return np.broadcast_to(every, (len(packed), self.spec.num_actions, 1))


def _key(state: np.void) -> Key:
    return int(state["seed"]), state["actions"][: state["plies"]].tobytes()


__all__ = ["AecGame"]
