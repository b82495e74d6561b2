"""A game as a Gymnasium environment of one player, whose opponents are an agent of dancfr."""

from typing import Any, SupportsIndex, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from dancfr.agents.given import AsAgent
from dancfr.errors import RunError
from dancfr.evaluation.arena import AgentError, name_of
from dancfr.gym.arguments import MOST_DEALS, read_arguments
from envs.agent import Agent
from envs.game import GameBase, GameOver, IllegalAction
from envs.pettingzoo_view import Observation
from learners.cfr.agent import UnknownInfostate


class SingleAgentEnv(gymnasium.Env[dict[str, Any], SupportsIndex]):
    """A game with numbered actions in which the learner has one seat, and an agent plays all others.

    An observation is a dict of the learner's infostate, ``observation`` (float32, of the shape that the encoding has),
    and the ``action_mask``, `int8[A]`, of the actions that are legal now; it is zero after the end. The infos contain
    the ``action_mask`` too, the learner's ``seat`` and, after the end, the name of the ``ending``. Actions are numbers
    from 0 to A - 1.

    The reward is 0 until the end of the game, and then the return of the learner in the game's unit. Every ending is a
    termination, even a ply limit, which is a draw by the rules.

    All random draws come from `np_random`, which `reset` seeds: the seat, chance, and the moves of the opponent. In
    games of more than two players, the same agent plays all other seats, each from the information of that seat only,
    as in `dancfr.play`. A game that ends before the first decision of the learner is dealt again, with the learner in
    the same seat.

    Args:
        game: Name of a game, also ``pettingzoo:MODULE`` and ``openspiel:GAME``, or a game.
        opponent: Name of an agent such as ``random``, ``runs/x`` or ``pretrained:geister``, an object with the
            methods of `envs.agent.Agent`, or a solution or a run.
        seat: Seat of the learner from 0; None: drawn in each `reset`.
        encoding: One of `game.spec.shapes`; None: that of the game's PettingZoo environment.
        render_mode: One of ``metadata["render_modes"]``, which are those of the game's PettingZoo environment. The
            pictures show everything, also what is hidden from the learner.
        options: Options of the game if it is given by name. The others are those of a match against the opponent, see
            `dancfr.agents.match_rules`: they may depend on what it was trained with.

    Raises:
        UsageError: the game, an option, the agent, the encoding or the render mode does not exist, the game lists its
            actions, or the seat is out of range.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        game: str | GameBase,
        opponent: str | Agent | AsAgent = "random",
        seat: int | None = None,
        encoding: str | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        name, self.game, self.opponent, self.seat, self._view = read_arguments(
            game, opponent, seat, encoding, render_mode, options
        )
        self.render_mode = render_mode
        modes, pace = (self._view.metadata[key] for key in ("render_modes", "render_fps"))
        self.metadata = {"render_modes": modes, "render_fps": pace, "name": name}
        self.observation_space = gymnasium.spaces.Dict(self._view.observation_parts())
        self.action_space = gymnasium.spaces.Discrete(self.game.spec.num_actions)
        self._player = self.seat or 0
        self._running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Starts a game and plays it until the first decision of the learner.

        Args:
            seed: Starts a new random stream; None: the last one continues.
            options: Ignored.

        Raises:
            AgentError: the opponent returned an illegal action.
            RunError: the learner had no decision in `MOST_DEALS` games in a row.
        """
        super().reset(seed=seed)
        self._view.np_random, self._running = self.np_random, False
        players = self.game.spec.num_players
        self._player = int(self.np_random.integers(players)) if self.seat is None else self.seat
        for _ in range(MOST_DEALS):
            self._view.reset()
            self.opponent.begin(self.game, 1, self.np_random)
            self._play_others()
            if self._running:
                return self._observe(), self._info()
        raise RunError(f"{self.game.spec.name}: player {self._player} had no decision in {MOST_DEALS:,} games in a row")

    def step(self, action: SupportsIndex) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Plays an action of the learner, then the others until its next decision or the end of the game.

        Returns:
            Observation, reward, whether the game has ended, False, and infos.

        Raises:
            IllegalAction: a `ValueError`: the rules do not allow the action; nothing has changed.
            GameOver: the game has ended, or none has begun.
            AgentError: the opponent returned an illegal action, or does not know the infostate. Then `reset` has to be
                called.
        """
        if not self._running:
            raise GameOver(f"{self.game.spec.name}: no game is running; call reset() first")
        self._view.step(cast(int, action))  # whatever is not the number of a legal action is refused there
        self._play_others()
        reward = 0.0 if self._running else float(self.game.returns(self._view.states)[0, self._player])
        return self._observe(), reward, not self._running, False, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns the actions that are legal now, `bool[A]`; all False after the end.

        Raises:
            GameOver: no game has begun.
        """
        return self._observe()["action_mask"].astype(np.bool_)

    def render(self) -> Any:
        """Renders the state as text (``ansi``) or as an array (``rgb_array``); in mode ``human``, prints it.

        Raises:
            GameOver: no game has begun.
        """
        return self._view.render()

    def _play_others(self) -> None:
        """Lets the opponent move until it is the learner's turn or the game has ended."""
        self._running = False  # an error of the opponent ends the game
        view, place = self._view, np.zeros(1, np.int64)
        me = view.possible_agents[self._player]
        while not view.terminations[me] and view.agent_selection != me:
            try:
                answer: Any = np.asarray(self.opponent.act(view.states[place], place, self.np_random))
                view.step(answer[0] if answer.shape == (1,) else answer)
            except UnknownInfostate as error:
                raise AgentError(f"agent {error}") from None
            except IllegalAction as error:
                raise AgentError(f"agent {name_of(self.opponent)} chose an illegal action: {error}") from error
        self._running = not view.terminations[me]

    def _observe(self) -> Observation:
        return self._view.observe(self._view.possible_agents[self._player])

    def _info(self) -> dict[str, Any]:
        return {**self._view.infos[self._view.possible_agents[self._player]], "seat": self._player}


__all__ = ["SingleAgentEnv"]
