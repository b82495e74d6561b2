"""PettingZoo environments as people write them: observations, masks and rewards of all kinds, simultaneous moves."""

import re
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv

from envs.aec import AecGame
from envs.game import ReturnTooLarge
from tests.envs.test_aec import both_views, played

PLIES = 4
BOX = spaces.Box(0, PLIES, (2,), np.int8)
MASK = spaces.Box(0, 1, (2,), np.int8)
LAYOUTS = {
    "observation": spaces.Dict({"observation": BOX, "action_mask": MASK}),
    "obs": spaces.Dict({"obs": BOX, "action_mask": MASK}),
    "nested": spaces.Dict({"observation": spaces.Dict({"board": BOX}), "action_mask": MASK}),
    "several": spaces.Dict({"ply": BOX, "action_mask": MASK, "last": BOX}),
    "not declared": BOX,
    "in a dict, not declared": spaces.Dict({"obs": BOX}),
    "in the info": BOX,
}


class Duel(AECEnv):
    """Two players act in turn: action 1 wins 1 from the other and may not be played at ply 2.

    Args:
        layout: Of observations, a key of `LAYOUTS`.
        paying: Where rewards are: in ``rewards`` alone, in what ``last`` returns alone, in ``both``, or ``twice`` as
            large in `last`.
    """

    metadata: ClassVar = {"name": "duel_v0"}

    def __init__(self, layout: str = "observation", paying: str = "both") -> None:
        self.layout, self.paying = layout, paying
        self.possible_agents = ["black", "white"]

    def observation_space(self, agent: str) -> Any:
        return LAYOUTS[self.layout]

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents, self.agent_selection = self.possible_agents[:], "black"
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0.0), dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos: dict[str, Any] = {agent: {} for agent in self.agents}
        self.ply = self.action = 0

    def observe(self, agent: str) -> Any:
        seen, mask = np.array([self.ply, self.action], np.int8), np.array([1, self.ply != 2], np.int8)
        if self.layout == "in the info":
            self.infos[self.agent_selection] = {"action_mask": mask}
            return seen
        if self.layout == "several":
            return {"ply": seen, "last": seen, "action_mask": mask}
        key = "obs" if self.layout in ("obs", "in a dict, not declared") else "observation"
        return {"action_mask": mask, key: {"board": seen} if self.layout == "nested" else seen}

    def step(self, action: Any) -> None:
        mover = self.agent_selection
        if self.terminations[mover]:
            self._was_dead_step(action)
            return
        other = self.agents[self.agents.index(mover) - 1]
        self._cumulative_rewards[mover] = 0.0
        won = {mover: float(action), other: -float(action)}
        if self.paying != "last":
            self.rewards = won
        if self.paying != "rewards":
            for agent in self.agents:
                self._cumulative_rewards[agent] += won[agent] * (2 if self.paying == "twice" else 1)
        self.ply, self.action, self.agent_selection = self.ply + 1, int(action), other
        self.terminations = dict.fromkeys(self.agents, self.ply == PLIES)


class Duels(ParallelEnv):
    """Two players act at the same time, twice: who plays 1 against 0 wins 1. A player observes his last action."""

    metadata: ClassVar = {"name": "duels_v0"}

    def __init__(self) -> None:
        self.possible_agents = ["black", "white"]

    def observation_space(self, agent: str) -> Any:
        return spaces.Dict({"own": spaces.Discrete(2), "round": spaces.Discrete(3)})

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents, self.round = self.possible_agents[:], 0
        return {agent: {"own": 0, "round": 0} for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> Any:
        self.round += 1
        over, told = dict.fromkeys(self.agents, self.round == 2), {agent: {} for agent in self.agents}
        seen = {agent: {"own": actions[agent], "round": self.round} for agent in self.agents}
        won = float(actions["black"] - actions["white"])
        if self.round == 2:
            self.agents = []
        return seen, {"black": won, "white": -won}, over, dict.fromkeys(over, False), told


def duel(*arguments: Any, **options: Any) -> AecGame:
    return AecGame(partial(Duel, *arguments), max_return=PLIES, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_observations_of_any_layout_are_read(layout: str) -> None:
    game = duel(layout)
    width = 2 if layout != "several" else 4
    assert game.spec.shapes == {"flat": (width,)}
    states, rng = game.reset(2, np.random.default_rng(0)), np.random.default_rng(0)
    for ply in range(PLIES):
        assert game.legal(states).tolist() == [[True, ply != 2]] * 2
        for player in (0, 1):
            seen = game.encode(game.observe(states, np.full(2, player, np.int8)))
            assert seen.tolist() == [[ply, ply == 2] * (width // 2)] * 2
        game.step(states, np.full(2, ply == 1), rng)
    assert game.finished(states).all()


@pytest.mark.parametrize("paying", ["both", "rewards", "last"])
@pytest.mark.parametrize("actions", [(1, 0, 0, 1), (1, 1, 0, 0), (0, 0, 0, 1), (0, 0, 0, 0)])
def test_rewards_count_wherever_they_are_written(paying: str, actions: tuple[int, ...]) -> None:
    game, rng = duel("observation", paying), np.random.default_rng(0)
    states = game.reset(1, rng)
    for action in actions:
        game.step(states, np.array([action]), rng)
    won = actions[0] - actions[1] + actions[2] - actions[3]
    assert game.returns(states).tolist() == [[won, -won]]
    views = both_views(game, states)
    game.close()
    assert both_views(game, states) == views, "a replay gives the same returns"


def test_rewards_that_differ_from_those_of_last_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^duel_v0: the rewards of a game sum to \[.*\], but last\(\) ret"):
        played(duel("observation", "twice"), 20, seed=0)
    played(duel("observation", "twice", max_plies=1), 20, seed=0)  # cut off, when not all has been served


def test_return_that_is_too_large_is_told_as_a_max_return_that_will_do() -> None:
    def play(max_return: float) -> None:
        game, rng = AecGame(Duel, max_return=max_return, scale=1.2345649), np.random.default_rng(0)
        states = game.reset(1, rng)
        for action in (1, 0, 0, 0):
            game.step(states, np.array([action]), rng)

    with pytest.raises(ReturnTooLarge) as told:
        play(1.0)
    (number,) = re.findall(r"pass max_return=(\S+) or more", str(told.value))
    play(float(number))


def test_simultaneous_moves_are_played_in_turn() -> None:
    game, rng = AecGame(Duels, max_return=2), np.random.default_rng(0)
    assert (game.spec.name, game.spec.shapes) == ("duels_v0", {"flat": (5,)})
    states = game.reset(4, rng)
    first, second = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    for _ in range(2):
        assert game.to_move(states).tolist() == [0] * 4
        before = game.observe(states, np.ones(4, np.int8))
        game.step(states, first, rng)
        assert game.to_move(states).tolist() == [1] * 4
        assert np.array_equal(game.observe(states, np.ones(4, np.int8)), before), "the second does not see the first"
        game.step(states, second, rng)
    assert game.returns(states)[:, 0].tolist() == [0, -2, 2, 0]
    assert game.finished(states).all()


class Wrong(Duel):
    """An environment with a fault."""

    def __init__(self, observation: Any) -> None:
        super().__init__("observation")
        self.observation = observation

    def observe(self, agent: str) -> Any:
        return self.observation


@pytest.mark.parametrize(
    ("observation", "says"),
    [
        (np.zeros(3), "observe returned ndarray of shape \\(3,\\), expected an observation of Box"),
        (None, "observe returned NoneType of shape \\(\\), expected"),
        ({"board": np.zeros(2), "hand": np.zeros(2)}, "observe returned dict of keys board, hand, expected"),
        ({"observation": np.zeros(1)}, "observe returned dict of keys observation, expected"),
        (
            {"observation": np.zeros(2), "action_mask": np.ones(3)},
            "action_mask has the shape \\[3\\], expected",
        ),
        (
            {"observation": np.zeros(2), "action_mask": np.zeros(2)},
            "action_mask allows no action to black, who is to move",
        ),
    ],
)
def test_observations_that_do_not_fit_are_refused(observation: Any, says: str) -> None:
    game = AecGame(partial(Wrong, observation))
    with pytest.raises(ValueError, match=f"^duel_v0: {says}"):
        game.observe(game.reset(1, np.random.default_rng(0)), np.zeros(1, np.int8))


def test_what_is_no_environment_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^mine: expected an AECEnv or a ParallelEnv of PettingZoo, got Discrete$"):
        AecGame(partial(spaces.Discrete, 2), "mine")


class Odd(spaces.Space[Any]):
    """A space that gymnasium does not know."""


@pytest.mark.parametrize("space", [Odd(), spaces.Dict({"action_mask": MASK}), spaces.Sequence(spaces.Discrete(2))])
def test_observation_spaces_that_cannot_be_flattened_are_refused(
    space: spaces.Space[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LAYOUTS, "observation", space)
    with pytest.raises(ValueError, match=r"^duel_v0: both players need the same observation space that can"):
        duel()
