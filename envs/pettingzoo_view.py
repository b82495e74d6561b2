"""PettingZoo AEC environments over the batched rules: an environment is a view of a batch of one state."""

import operator
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from envs.game import Game, GameBase, GameOver, IllegalAction

METADATA: dict[str, Any] = {"render_modes": [], "is_parallelizable": False, "render_fps": 2}
"""Metadata common to all environments; each class adds its name."""

Observation = dict[str, NDArray[Any]]


class GameView(AECEnv):
    """Base class of the environments of `Game` and `ListedGame`: agents, turns, endings, rendering.

    The agents are ``player_0``, ``player_1``, ... An observation is a dict of the agent's infostate, ``observation``
    (float32), and an ``action_mask``, `int8[A]`, which is zero for an agent that is not to move. ``infos[agent]``
    contains the ``action_mask`` too and, after the end, the name of the ``ending``. Every ending is a termination, even
    a ply limit, which is a draw by the rules. Copies and pickles keep the game and its random stream.

    Args:
        game: The rules.
        name: ``metadata["name"]``; by default the name of the game.
        encoding: One of `game.spec.shapes`; by default the first.
        render_mode: One of ``metadata["render_modes"]``. This class renders nothing; a subclass lists its modes and
            overrides `picture`.

    Raises:
        ValueError: unknown encoding or render mode.
    """

    metadata = METADATA
    game: GameBase

    def __init__(
        self,
        game: GameBase,
        name: str | None = None,
        encoding: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        AECEnv.__init__(self)
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode must be one of {modes} or None, got {render_mode!r}")
        spec = game.spec
        self.encoding = next(iter(spec.shapes)) if encoding is None else encoding
        if not isinstance(self.encoding, str) or self.encoding not in spec.shapes:
            raise ValueError(f"encoding must be one of {list(spec.shapes)}, got {encoding!r}")
        self.game = game
        self.metadata = {**type(self).metadata, "name": name or spec.name}
        self.render_mode = render_mode
        self.possible_agents = [f"player_{p}" for p in range(spec.num_players)]
        self.agents: list[str] = []
        self.observation_spaces = {
            agent: gymnasium.spaces.Dict(self.observation_parts()) for agent in self.possible_agents
        }
        self.action_spaces = {a: gymnasium.spaces.Discrete(spec.num_actions) for a in self.possible_agents}
        self.np_random = np.random.default_rng()
        self._begun = False

    def observation_parts(self) -> dict[str, gymnasium.Space[Any]]:
        """Creates the spaces of the parts of an observation, by name."""
        low, high = self.observation_bounds()
        shape = self.game.spec.shapes[self.encoding]
        return {
            "observation": gymnasium.spaces.Box(low, high, shape, np.float32),
            "action_mask": gymnasium.spaces.Box(0, 1, (self.game.spec.num_actions,), np.int8),
        }

    def observation_bounds(self) -> tuple[float, float]:
        """Returns the bounds of the numbers in an infostate. Subclasses narrow them where they can."""
        return -np.inf, np.inf

    def picture(self, state: np.void) -> str | NDArray[np.uint8]:
        """Renders the state in the current mode. Subclasses with render modes override this method."""
        raise NotImplementedError(f"{self.metadata['name']} cannot be rendered in render_mode {self.render_mode!r}")

    def legal_mask(self) -> NDArray[np.int8]:
        """Returns the legal actions of the agent to move, `int8[A]`."""
        raise NotImplementedError

    def play(self, agent: str, action: object) -> None:
        """Plays the action of the agent to move.

        Raises:
            IllegalAction: the rules do not allow the action; nothing has changed.
        """
        raise NotImplementedError

    def gained(self) -> NDArray[np.float32]:
        """Returns the reward of each player for the last action, `float32[players]`: 0, or the return at the end."""
        return np.asarray(self.game.returns(self.states)[0])  # all zero until the last move

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Starts a game. If chance ends it before the first move, all agents are terminated, with their returns.

        `seed` starts a new random stream, otherwise the last one continues; `options` are ignored.
        """
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        self.states = self.game.reset(1, self.np_random)
        self._begun = True
        self.agents = self.possible_agents[:]
        self.agent_selection = self.agents[0]
        self.rewards = dict(zip(self.agents, map(float, self.game.returns(self.states)[0] + 0.0), strict=True))
        self._cumulative_rewards = dict(self.rewards)
        self.terminations = dict.fromkeys(self.agents, bool(self.game.finished(self.states)[0]))
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._look()
        if self.render_mode == "human":
            self.render()

    def require_game(self) -> None:
        """Raises GameOver before the first `reset`."""
        if not self._begun:
            raise GameOver(f"{self.metadata['name']}: no game has begun; call reset() first")

    def _require_running(self) -> None:
        self.require_game()
        if not self.agents:
            raise GameOver(f"{self.metadata['name']}: the game has ended; call reset() first")

    def _look(self) -> None:
        """Updates the agent to move, the mask and the infos from the state."""
        mover = int(self.game.to_move(self.states)[0])
        if mover >= 0:
            self.agent_selection = self.possible_agents[mover]
        self._mask = self.legal_mask()
        self.infos: dict[str, dict[str, Any]] = {a: {"action_mask": self._mask_of(a)} for a in self.agents}
        ending = int(self.game.endings(self.states)[0])
        if ending:
            for info in self.infos.values():
                info["ending"] = self.game.spec.endings[ending]

    def _mask_of(self, agent: str) -> NDArray[np.int8]:
        return self._mask.copy() if agent == self.agent_selection else np.zeros_like(self._mask)

    def observe(self, agent: str) -> Observation:
        """Returns the observation of `agent`, see `GameView`.

        Raises:
            GameOver: no game has begun, or the agent has left it.
            ValueError: unknown agent.
        """
        self.require_game()
        if agent not in self.possible_agents:
            raise ValueError(f"{self.metadata['name']}: agent must be one of {self.possible_agents}, got {agent!r}")
        if agent not in self.agents:
            raise GameOver(f"{self.metadata['name']}: {agent} is not in a running game; call reset() first")
        players = np.array([self.possible_agents.index(agent)], np.int8)
        packed = self.game.observe(self.states, players)
        return {
            "observation": self.game.encode(packed, self.encoding)[0],
            "action_mask": self._mask_of(agent),
        }

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Returns observation (None unless `observe`), reward, termination, truncation and infos of `agent_selection`.

        The reward is the sum since the last action of that agent.

        Raises:
            GameOver: no game has begun, or no agent is left.
        """
        self._require_running()
        found: tuple[Observation | None, float, bool, bool, dict[str, Any]] = super().last(observe)
        return found

    def agent_iter(self, max_iter: int = 2**63) -> Any:
        """Iterates over `agent_selection` until no agent is left, at most `max_iter` times. Call `step` in between.

        Raises:
            GameOver: no game has begun.
        """
        self.require_game()
        return super().agent_iter(max_iter)

    def step(self, action: int | None) -> None:
        """Plays an action of `agent_selection`; after its termination the only valid action is None.

        Raises:
            GameOver: no game has begun, or no agent is left.
            IllegalAction: the rules do not allow the action; nothing has changed.
            ValueError: an action of a terminated agent is not None.
        """
        self._require_running()
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self.play(agent, action)
        self._cumulative_rewards[agent] = 0.0
        gained = self.gained()
        self.rewards = {a: float(gained[self.possible_agents.index(a)]) for a in self.agents}
        over = bool(self.game.finished(self.states)[0])
        self.terminations = dict.fromkeys(self.agents, over)
        self._look()
        self._accumulate_rewards()
        self._deads_step_first()
        if self.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """Renders the state as text (``ansi``), as an array (``rgb_array``), or prints it and returns None (``human``).

        Raises:
            GameOver: no game has begun.
        """
        self.require_game()
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode: pass one when making the environment")
            return None
        shown = self.picture(self.states[0])
        if self.render_mode == "human":
            print(shown, flush=True)
            return None
        return shown

    def close(self) -> None:
        """Does nothing; PettingZoo requires the method of every environment that renders."""


class GameEnv(GameView):
    """Any `Game` as a PettingZoo environment, see `GameView`. Rewards are paid at the end of the game."""

    game: Game

    def legal_mask(self) -> NDArray[np.int8]:
        return np.asarray(self.game.legal(self.states)[0].astype(np.int8))

    def play(self, agent: str, action: object) -> None:
        chosen = as_index(action)
        if not 0 <= chosen < len(self._mask) or not self._mask[chosen]:
            legal = np.flatnonzero(self._mask).tolist()
            raise IllegalAction(
                f"{self.metadata['name']}: action {action} is not legal for {agent}; legal actions are {legal}"
            )
        self.game.step(self.states, np.array([chosen]), self.np_random)


def as_index(action: object) -> int:
    """Converts an action to an integer; to -1, which is never legal, if it is a bool or not an integer."""
    if isinstance(action, (bool, np.bool_)):
        return -1
    try:
        return operator.index(action)  # type: ignore[arg-type]
    except TypeError:
        return -1


class _InBounds(wrappers.AssertOutOfBoundsWrapper):
    """Rejects bools too, which the spaces of gymnasium accept as 0 and 1."""

    def step(self, action: Any) -> None:
        if isinstance(action, (bool, np.bool_)):
            raise IllegalAction(f"{self}: an action must be an integer, got {action}")
        super().step(action)


def wrapped(raw: AECEnv, illegal_reward: float = -1.0) -> AECEnv:
    """Adds the usual wrappers of PettingZoo.

    An illegal action ends the game with `illegal_reward` for its player and 0 for the others. Actions out of range,
    bools, and calls out of order raise errors.
    """
    env: AECEnv = wrappers.TerminateIllegalWrapper(raw, illegal_reward=illegal_reward)
    env = _InBounds(env)
    return wrappers.OrderEnforcingWrapper(env)


__all__ = ["METADATA", "GameEnv", "GameView", "as_index", "wrapped"]
