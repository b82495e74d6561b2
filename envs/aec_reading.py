"""Reads PettingZoo environments as people write them: spaces, observations with and without masks, rewards.

What does not fit is refused by a ValueError, which says what the environment returned and what was expected.
"""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec

MASK = "action_mask"

Space = gymnasium.Space[Any]


def as_aec(env: Any, name: str) -> AECEnv:
    """Returns an environment of agents that move in turn; one of simultaneous moves is converted by PettingZoo."""
    if isinstance(env, ParallelEnv):
        with warnings.catch_warnings():  # that nothing is drawn, from every process
            warnings.filterwarnings("ignore", "The base environment .* does not have a `render_mode`")
            return parallel_to_aec(env)
    if not isinstance(env, AECEnv):
        raise ValueError(f"{name}: expected an AECEnv or a ParallelEnv of PettingZoo, got {type(env).__name__}")
    return env


def common_actions(env: AECEnv, agents: list[Any], name: str) -> int:
    """Returns the number of actions; raises a ValueError unless both players have the same discrete actions from 0."""
    if len(agents) != 2:
        raise ValueError(f"{name}: only games of 2 players can be adapted, got {len(agents)} players")
    first, second = (env.action_space(agent) for agent in agents)
    if not isinstance(first, gymnasium.spaces.Discrete) or first != second or first.start != 0:
        raise ValueError(f"{name}: both players need the same Discrete actions from 0, got {first} and {second}")
    return int(first.n)


def common_observation(env: AECEnv, agents: list[Any], name: str) -> tuple[Space, gymnasium.spaces.Box]:
    """Returns the observation space without the mask, and its flat form; raises a ValueError if it has none."""
    inner = [_without_mask(env.observation_space(agent)) for agent in agents]
    flat: Space | None = None
    with suppress(NotImplementedError, ValueError):  # a space of another library, or nothing beside the mask
        flat = gymnasium.spaces.flatten_space(inner[0])
    if inner[0] != inner[1] or not isinstance(flat, gymnasium.spaces.Box):
        raise ValueError(f"{name}: both players need the same observation space that can be flattened, got {inner}")
    return inner[0], flat


def _without_mask(space: Space) -> Space:
    """Returns the space beside the mask: the only one, whatever its name, or a Dict of several."""
    if not isinstance(space, gymnasium.spaces.Dict) or MASK not in space.spaces:
        return space
    rest = {key: part for key, part in space.spaces.items() if key != MASK}
    return next(iter(rest.values())) if len(rest) == 1 else gymnasium.spaces.Dict(rest)


def flat_observation(space: Space, width: int, seen: Any, name: str) -> NDArray[Any]:
    """Returns an observation without its mask as one row.

    Args:
        space: Of the observation, without the mask.
        width: Length of the row.
        seen: What `observe` returned.
        name: Of the game.
    """
    rest = {key: part for key, part in seen.items() if key != MASK} if isinstance(seen, Mapping) else {}
    whole = isinstance(space, gymnasium.spaces.Dict) and rest.keys() >= space.spaces.keys()
    found = rest if whole else next(iter(rest.values()), seen)
    try:
        row = np.asarray(gymnasium.spaces.flatten(space, found))
        fits = row.size == width
    except (LookupError, TypeError, ValueError):
        fits = False
    if not fits or (len(rest) > 1 and not whole):
        shape = f"keys {', '.join(map(str, seen))}" if isinstance(seen, Mapping) else f"shape {np.shape(seen)}"
        raise ValueError(
            f"{name}: observe returned {type(seen).__name__} of {shape}, expected an observation of {space}, alone or "
            f"in a dict beside {MASK}"
        )
    return row


def read_mask(env: AECEnv, actions: int, name: str) -> NDArray[np.bool_]:
    """Returns the legal actions of the player to move, `bool[A]`: by its observation, else by its info, else all."""
    agent = env.agent_selection
    observation = env.observe(agent)
    mask = observation.get(MASK) if isinstance(observation, Mapping) else None
    if mask is None:
        mask = (env.infos.get(agent) or {}).get(MASK)
    if mask is None:
        return np.ones(actions, np.bool_)
    found = np.asarray(mask).astype(np.bool_)
    if found.shape != (actions,):
        raise ValueError(f"{name}: {MASK} has the shape {list(found.shape)}, expected [{actions}], an entry per action")
    if not found.any():
        raise ValueError(f"{name}: {MASK} allows no action to {agent}, who is to move: terminate or truncate the game")
    return found


class Rewards:
    """The rewards of both players in a game, which environments state twice: by `rewards` and by `last`.

    Attributes:
        earned: Sums of `rewards` after each step, `[2]`.
        served: Sums of the rewards that `last` returns to each player, `[2]`.
    """

    def __init__(self, agents: list[Any]) -> None:
        self.agents = agents
        self.earned, self.served = np.zeros(2), np.zeros(2)
        self._waiting = set(range(2))  # those who have not taken their last step

    def before(self, env: AECEnv, last: bool = False) -> None:
        """Adds the reward that the agent to move is told before its step, its `last` one if it is out of the game."""
        self._serve(env, player := self.agents.index(env.agent_selection))
        if last:
            self._waiting.discard(player)

    def after(self, env: AECEnv) -> None:
        """Adds the rewards of a step."""
        given = getattr(env, "rewards", {})
        self.earned += [float(given.get(agent, 0.0)) for agent in self.agents]

    def total(self, env: AECEnv, name: str, cut: bool) -> NDArray[np.float64]:
        """Returns the return of each player at the end of a game, `[2]`.

        Some environments set only `_cumulative_rewards`, and others never accumulate them. One that states different
        rewards in both ways is refused, unless its game was `cut` off between two rewards.
        """
        for player in self._waiting:
            self._serve(env, player)
        if not self.earned.any():
            return self.served
        if self.served.any() and not cut and not np.allclose(self.earned, self.served):
            raise ValueError(
                f"{name}: the rewards of a game sum to {self.earned.tolist()}, but last() returned "
                f"{self.served.tolist()} in all; see AECEnv._accumulate_rewards and _clear_rewards of PettingZoo"
            )
        return self.earned

    def _serve(self, env: AECEnv, player: int) -> None:
        self.served[player] += float(getattr(env, "_cumulative_rewards", {}).get(self.agents[player], 0.0))


__all__ = ["Rewards", "as_aec", "common_actions", "common_observation", "flat_observation", "read_mask"]
