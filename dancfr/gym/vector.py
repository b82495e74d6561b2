"""Many games together as a Gymnasium vector environment of one player, without a Python loop over the games."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from actors.rows import put_records, take_records
from dancfr.agents.given import AsAgent
from dancfr.arguments import read
from dancfr.errors import RunError, UsageError
from dancfr.evaluation.arena import AgentError, ask, name_of
from dancfr.gym.arguments import MOST_DEALS, read_arguments
from envs.agent import Agent
from envs.game import GameBase, GameOver, IllegalAction, States
from envs.pettingzoo_view import Observation

MOST_ENVS = 1_000_000
"""Largest number of games of an environment."""

GAMES_A_BATCH = 16
"""Number of games of each environment that the opponent begins together."""

_AUTORESET = getattr(gymnasium.vector, "AutoresetMode", None)  # since Gymnasium 1.1


class SingleAgentVectorEnv(gymnasium.vector.VectorEnv[Observation, NDArray[Any], NDArray[Any]]):
    """N games with numbered actions, in each of which the learner has one seat, and an agent plays all others.

    What a game shows, pays and ends with is that of `dancfr.gym.environment.SingleAgentEnv`; here all arrays have a
    first axis N, and the opponent chooses its moves in all games together. Resets are Gymnasium's *next step* ones: the
    step after the end of a game ignores the action, deals again, and has reward 0.

    ``infos`` has arrays of the same form as those of `gymnasium.vector.SyncVectorEnv`: ``action_mask``, ``seat``, and
    ``ending``, which ``_ending`` marks where a game has just ended.

    All random draws come from one `np_random`, so that a seed fixes the N games together, not each of them. An opponent
    with a memory for each game gets a number for each; copies of it begin `GAMES_A_BATCH` times N games each, and two
    copies may be in use.

    Args:
        game: See `SingleAgentEnv`, as for the other arguments.
        num_envs: The number N of games.
        opponent: See there.
        seat: Seat of the learner from 0 in all games; None: drawn for each game.
        encoding: See there.
        render_mode: One of ``metadata["render_modes"]``, without ``human``.
        options: See there.

    Raises:
        UsageError: see there; or `num_envs` is out of range.
    """

    def __init__(
        self,
        game: str | GameBase,
        num_envs: int = 1,
        opponent: str | Agent | AsAgent = "random",
        seat: int | None = None,
        encoding: str | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.num_envs = read(num_envs, int, "num_envs")
        if not 1 <= self.num_envs <= MOST_ENVS:
            raise UsageError(f"num_envs must be from 1 to {MOST_ENVS:,}, got {num_envs}")
        name, self.game, self.opponent, self.seat, self._view = read_arguments(
            game, opponent, seat, encoding, render_mode, options
        )
        modes = [mode for mode in self._view.metadata["render_modes"] if mode != "human"]
        if render_mode is not None and render_mode not in modes:
            raise UsageError(f"render_mode must be one of {modes} or None for several games, got {render_mode!r}")
        self.render_mode = render_mode
        self.metadata = {"render_modes": modes, "render_fps": self._view.metadata["render_fps"], "name": name}
        if _AUTORESET is not None:
            self.metadata["autoreset_mode"] = _AUTORESET.NEXT_STEP
        self.single_observation_space = gymnasium.spaces.Dict(self._view.observation_parts())
        self.single_action_space = gymnasium.spaces.Discrete(self.game.spec.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._states: States | None = None
        self._seats = np.zeros(self.num_envs, np.int8)
        self._over = np.zeros(self.num_envs, np.bool_)
        self._mask = np.zeros((self.num_envs, self.game.spec.num_actions), np.bool_)
        self._copies: dict[int, Agent] = {}  # copies of the opponent, by the order in which they began
        self._copy = np.zeros(self.num_envs, np.int64)  # the copy that plays each game
        self._number = np.zeros(self.num_envs, np.int64)  # the number of each game among those of its copy

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Starts all games and plays them until the first decisions of the learner.

        Args:
            seed: Starts a new random stream; None: the last one continues.
            options: Ignored.

        Raises:
            AgentError: the opponent returned an illegal action.
            RunError: the learner had no decision in `MOST_DEALS` games in a row.
            UsageError: the seed is not an integer.
        """
        super().reset(seed=read(seed, int | None, "seed"))
        self._copies, self._states = {}, None
        with self._ended_by_errors():
            self._deal(np.arange(self.num_envs))
            return self._look()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Plays an action of the learner in each running game, then the others, and deals again where a game was over.

        Args:
            actions: Numbers of legal actions, `int[N]`; whatever stands at a game that is over is ignored.

        Returns:
            Observations, rewards `float64[N]`, whether each game has ended `bool[N]`, False `bool[N]`, and infos.

        Raises:
            IllegalAction: a `ValueError`: the rules do not allow an action; nothing has changed.
            GameOver: no game has begun.
            AgentError: see `reset`, and `RunError` too. Then `reset` has to be called.
        """
        self._begun()
        over = np.flatnonzero(self._over)
        running = np.flatnonzero(~self._over)
        chosen = self._checked(actions, running)
        with self._ended_by_errors():
            if len(running):
                self._play(running, chosen)
                self._play_others(running)
            self._deal(over)
            found, infos = self._look()
        rewards = np.zeros(self.num_envs)
        ended = np.flatnonzero(self._over)
        if len(ended):
            rewards[ended] = self.game.returns(self._at(ended))[np.arange(len(ended)), self._seats[ended]]
        return found, rewards, self._over.copy(), np.zeros(self.num_envs, np.bool_), infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns the actions that are legal now, `bool[N, A]`; all False where a game is over.

        Raises:
            GameOver: no game has begun.
        """
        self._begun()
        return self._mask.copy()

    def render(self) -> tuple[Any, ...] | None:
        """Renders each game as text (``ansi``) or as an array (``rgb_array``).

        Raises:
            GameOver: no game has begun.
        """
        states = self._begun()
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode: pass one when making the environment")
            return None
        return tuple(self._view.picture(state) for state in states)

    def _begun(self) -> States:
        if self._states is None:
            raise GameOver(f"{self.game.spec.name}: no game has begun; call reset() first")
        return self._states

    @contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """Forgets all games where an error leaves some of them between two moves of the learner."""
        try:
            yield
        except BaseException:
            self._states = None
            raise

    def _at(self, rows: NDArray[np.int64]) -> States:
        """Copies of the states of some games."""
        return take_records(self._begun(), rows)

    def _deal(self, rows: NDArray[np.int64]) -> None:
        """Begins games in the given places, and plays them until the learner is to move."""
        if not len(rows):
            return
        drawn = self.np_random.integers(self.game.spec.num_players, size=len(rows)) if self.seat is None else self.seat
        self._seats[rows] = drawn
        for _ in range(MOST_DEALS):
            dealt = self.game.reset(len(rows), self.np_random)
            if self._states is None:
                self._states = dealt
            else:
                put_records(self._states, rows, dealt)
            self._begin_others(rows)
            self._play_others(rows)
            rows = rows[self.game.finished(self._at(rows))]
            if not len(rows):
                return
        seat = int(self._seats[rows[0]])
        raise RunError(f"{self.game.spec.name}: player {seat} had no decision in {MOST_DEALS:,} games in a row")

    def _begin_others(self, rows: NDArray[np.int64]) -> None:
        """Gives new games to a copy of the opponent that has numbers left for them."""
        most = GAMES_A_BATCH * self.num_envs
        newest = max(self._copies, default=-1)
        first = int(self._number[self._copy == newest].max()) + 1 if newest >= 0 else most
        if first + len(rows) > most:
            self._copy[rows] = newest + 1
            self._copies = {key: self._copies[key] for key in np.unique(self._copy).tolist() if key in self._copies}
            newest, first = newest + 1, 0
            self._copies[newest] = copy(self.opponent)
            self._copies[newest].begin(self.game, most, self.np_random)
        self._copy[rows], self._number[rows] = newest, np.arange(first, first + len(rows))

    def _play_others(self, rows: NDArray[np.int64]) -> None:
        """Lets the opponent move until it is the learner's turn in each of the given games, or the game is over."""
        while len(rows):
            states = self._at(rows)
            movers = self.game.to_move(states)
            waiting = np.flatnonzero((movers >= 0) & (movers != self._seats[rows]))
            rows, states = rows[waiting], take_records(states, waiting)
            if not len(rows):
                return
            actions = np.empty(len(rows), np.int64)
            for key in np.unique(self._copy[rows]).tolist():
                mine = np.flatnonzero(self._copy[rows] == key)
                asked, numbers = take_records(states, mine), self._number[rows[mine]]
                actions[mine] = ask(self._copies[key], asked, numbers, self.np_random, actions.dtype)
            try:
                self._play(rows, actions)
            except IllegalAction as error:
                raise AgentError(f"agent {name_of(self.opponent)} chose an illegal action: {error}") from error

    def _play(self, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        states = self._at(rows)
        self.game.step(states, actions, self.np_random)
        put_records(self._begun(), rows, states)

    def _checked(self, actions: Any, running: NDArray[np.int64]) -> NDArray[np.int64]:
        """The actions in the running games, `int64[n]`."""
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or not np.issubdtype(given.dtype, np.integer):
            raise IllegalAction(
                f"{self.game.spec.name}: actions must be {self.num_envs} integers, got {given.dtype}{list(given.shape)}"
            )
        chosen = given[running].astype(np.int64)
        known = (chosen >= 0) & (chosen < self._mask.shape[1])
        known[known] = self._mask[running[known], chosen[known]]
        if not known.all():
            bad = int(np.argmin(known))
            place, legal = int(running[bad]), np.flatnonzero(self._mask[running[bad]]).tolist()
            raise IllegalAction(
                f"{self.game.spec.name}: action {given[place]} of environment {place} is not legal; legal actions are "
                f"{legal}"
            )
        return chosen

    def _look(self) -> tuple[Observation, dict[str, Any]]:
        """Notes legal actions and endings; returns the observations and infos of all games."""
        states, game = self._begun(), self.game
        self._over = game.finished(states)
        self._mask = game.legal(states) & ~self._over[:, None]
        mask, each = self._mask.astype(np.int8), np.ones(self.num_envs, np.bool_)
        infos = {
            "action_mask": mask.copy(),
            "_action_mask": each,
            "seat": self._seats.astype(np.int64),
            "_seat": each.copy(),
        }
        if self._over.any():
            names = np.array([*game.spec.endings, None], object)
            endings = game.endings(states)
            infos |= {"ending": names[np.where(self._over, endings, -1)], "_ending": self._over.copy()}
        shown = game.encode(game.observe(states, self._seats), self._view.encoding)
        return {"observation": shown, "action_mask": mask}, infos


__all__ = ["GAMES_A_BATCH", "MOST_ENVS", "SingleAgentVectorEnv"]
