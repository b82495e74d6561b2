"""Many games together: as one environment alone, as a match, as Gymnasium's vectors, with opponents that remember."""

import pickle
import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from numpy.typing import NDArray

import dancfr
from dancfr.errors import RunError, UsageError
from dancfr.evaluation.arena import AgentError
from dancfr.gym.environment import SingleAgentEnv
from dancfr.gym.vector import GAMES_A_BATCH, SingleAgentVectorEnv
from envs.game import Game, GameOver, States
from envs.players import RandomAgent
from examples.own_game import OneCard
from tests.dancfr.gym.test_environment import EVERY, Fixed

Actions = NDArray[np.int64]


class Noting(RandomAgent):
    """Plays Kuhn poker at random, and notes the card of each game, by its number: it never changes, nor comes again."""

    begun = 0

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        super().begin(game, batch, rng)
        Noting.begun += 1
        self.game, self.seen = game, np.full((batch, 2), -1, np.int64)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> Actions:
        assert len(np.unique(games)) == len(games)
        mover, moves = self.game.to_move(states).astype(np.int64), states["length"].astype(np.int64)
        card = states["cards"][np.arange(len(states)), mover].astype(np.int64)
        first = moves == mover
        assert (self.seen[games[first]] == -1).all(), "a number that a game has had"
        assert (self.seen[games[~first], 0] == card[~first]).all(), "another card than at the last move"
        self.seen[games, 0], self.seen[games, 1] = card, moves
        return super().act(states, games, rng)


def chosen(mask: NDArray[np.int8], rng: np.random.Generator) -> Actions:
    """A legal action of each game, at random; 0 where it is over."""
    return np.asarray((mask * (1 + rng.random(mask.shape))).argmax(1))


def rollout(made: Any, seed: int | None, steps: int) -> list[Any]:
    """All that is seen in some steps with legal actions drawn by a seed."""
    rng = np.random.default_rng(7)
    seen: list[Any] = [made.reset(seed=seed)]
    for _ in range(steps):
        seen.append(made.step(chosen(seen[-1][0]["action_mask"], rng)))
    return seen


@EVERY
def test_one_game_is_that_of_the_environment_alone(name: str, options: dict[str, Any]) -> None:
    vector, alone = SingleAgentVectorEnv(name, 1, **options), SingleAgentEnv(name, **options)
    rng = np.random.default_rng(7)
    (shown, infos), (observation, info), over = vector.reset(seed=3), alone.reset(seed=3), False
    assert vector.single_observation_space == alone.observation_space
    endings = 0
    for _ in range(300):
        assert np.array_equal(shown["observation"][0], observation["observation"])
        assert np.array_equal(shown["action_mask"][0], observation["action_mask"])
        assert np.array_equal(infos["action_mask"][0], info["action_mask"])
        assert vector.observation_space.contains(shown)
        assert infos["seat"][0] == info["seat"]
        assert ("ending" in infos) == over
        if over:
            assert infos["ending"][0] == info["ending"]
        actions = chosen(shown["action_mask"], rng)
        shown, rewards, ended, cut, infos = vector.step(actions)
        if over:
            (observation, info), reward, over = alone.reset(), 0.0, False
        else:
            observation, reward, over, _, info = alone.step(int(actions[0]))
        assert (rewards[0], ended[0], cut[0]) == (reward, over, False)
        endings += over
    assert endings >= 1


def test_returns_agree_with_a_match() -> None:
    """The solution of Kuhn poker as the learner, against the weakest opponent: the mean of each seat."""
    learner = dancfr.solve("kuhn", "lp", progress=False).agent()
    rng = np.random.default_rng(1)
    for seat, key in enumerate(("first", "second")):
        made = SingleAgentVectorEnv("kuhn", 500, seat=seat)
        made.reset(seed=seat)
        learner.begin(made.game, 500, rng)
        total: list[float] = []
        while len(total) < 4000:
            running = np.flatnonzero(made.action_masks().any(1))
            actions = np.zeros(500, np.int64)
            actions[running] = learner.act(made._at(running), running, rng)
            _, rewards, over, _, _ = made.step(actions)
            total += rewards[over].tolist()
        stated = dancfr.play(learner, "random", "kuhn", games=4000, seed=1).result.seats[key]
        assert np.mean(np.array(total) > 0) == pytest.approx(stated["win_rate"], abs=0.045)


def test_seats_are_drawn_for_each_game() -> None:
    made = SingleAgentVectorEnv("cheat", 400, players=4)
    _, infos = made.reset(seed=1)
    counts = np.bincount(infos["seat"], minlength=4)
    assert counts.min() > 60
    fixed = SingleAgentVectorEnv("cheat", 8, seat=2, players=4)
    assert (fixed.reset(seed=1)[1]["seat"] == 2).all()


def test_equal_seeds_are_equal_games() -> None:
    one, other = (SingleAgentVectorEnv("geister", 16, "pretrained:geister", ply_limit=20) for _ in range(2))
    rollout(other, 5, 30)
    first = rollout(one, 4, 60)
    assert pickle.dumps(first) == pickle.dumps(rollout(other, 4, 60))
    assert any(step[2].any() for step in first[1:])
    assert pickle.dumps(rollout(one, None, 9)) == pickle.dumps(rollout(other, None, 9))


def test_form_is_that_of_gymnasiums_vectors() -> None:
    ours, sync = (gymnasium.make_vec("dancfr/Kuhn-v0", 6, vectorization_mode=mode) for mode in (None, "sync"))
    assert isinstance(ours, SingleAgentVectorEnv)
    for name in ("observation_space", "single_observation_space", "action_space", "single_action_space"):
        assert getattr(ours, name) == getattr(sync, name)
    assert ours.metadata.get("autoreset_mode") == sync.metadata.get("autoreset_mode")
    endings = 0
    for mine, theirs in zip(rollout(ours, 1, 40), rollout(sync, 1, 40), strict=True):
        for one, other in zip(mine[1:-1], theirs[1:-1], strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
        for key in mine[-1].keys() & theirs[-1].keys():
            assert (mine[-1][key].dtype, mine[-1][key].shape) == (theirs[-1][key].dtype, theirs[-1][key].shape)
        assert mine[-1].keys() ^ theirs[-1].keys() <= {"ending", "_ending"}
        if "ending" in mine[-1]:
            endings += int(mine[-1]["_ending"].sum())
            assert [each is not None for each in mine[-1]["ending"]] == mine[-1]["_ending"].tolist()
    assert endings > 6


def test_episodes_are_recorded_by_gymnasiums_wrapper() -> None:
    made = RecordEpisodeStatistics(gymnasium.make_vec("dancfr/Leduc-v0", num_envs=10))
    paid = recorded = 0.0
    for step in rollout(made, 2, 200)[1:]:
        paid += step[1].sum()
        if "episode" in step[-1]:
            recorded += step[-1]["episode"]["r"][step[-1]["_episode"]].sum()
    assert made.episode_count > 100
    assert recorded == pytest.approx(paid)
    assert paid != 0


def test_opponents_with_a_memory_know_their_games_apart() -> None:
    Noting.begun = 0
    made = SingleAgentVectorEnv("kuhn", 5, Noting())
    episodes = sum(int(step[2].sum()) for step in rollout(made, 1, 900)[1:])
    assert episodes > 4 * 5 * GAMES_A_BATCH
    assert Noting.begun == pytest.approx((episodes + 5) / (5 * GAMES_A_BATCH), abs=2)
    assert len(made._copies) <= 2


def test_games_without_a_decision_of_the_learner_are_dealt_again() -> None:
    """Player 1 of one-card poker decides only after a bet."""
    made = SingleAgentVectorEnv(OneCard(), 50, seat=1)
    _, infos = made.reset(seed=1)
    assert infos["action_mask"].all()
    with pytest.raises(RunError, match=r"^one-card: player 1 had no decision in 1,000 games in a row$"):
        SingleAgentVectorEnv(OneCard(), 3, Fixed(0), 1).reset(seed=1)


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        ("masked", "action 0 of environment 1 is not legal; legal actions are ["),
        ([-1, 0, 0], "action -1 of environment 0 is not legal"),
        ([99, 0, 0], "action 99 of environment 0 is not legal"),
        (0, "actions must be 3 integers, got int64[]"),
        ([0, 0], "actions must be 3 integers, got int64[2]"),
        ([0.0, 0.0, 0.0], "actions must be 3 integers, got float64[3]"),
        ([True, True, True], "actions must be 3 integers, got bool[3]"),
        (None, "actions must be 3 integers, got object[]"),
    ],
)
def test_illegal_actions_are_refused_and_change_nothing(actions: Any, told: str) -> None:
    made = SingleAgentVectorEnv("mini-geister", 3, seat=0)
    made.reset(seed=1)
    legal = made.action_masks().argmax(1)
    if isinstance(actions, str):
        actions = legal.copy()
        actions[1] = made.action_masks()[1].argmin()
        told = told.replace("action 0", f"action {actions[1]}")
    before = made._begun().copy()
    with pytest.raises(ValueError, match=f"^mini-geister: {re.escape(told)}"):
        made.step(actions)
    assert np.array_equal(made._begun(), before)
    made.step(legal)


def test_calls_before_the_first_reset_are_refused() -> None:
    made = SingleAgentVectorEnv("kuhn", 2, render_mode="ansi")
    for call in (lambda: made.step(np.zeros(2, np.int64)), made.action_masks, made.render):
        with pytest.raises(GameOver, match=r"^kuhn: no game has begun; call reset\(\) first$"):
            call()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"num_envs": 0}, "num_envs must be from 1 to 1,000,000, got 0"),
        ({"num_envs": 2.5}, "num_envs expects an integer"),
        ({"game": "guandan"}, "guandan lists its actions"),
        ({"opponent": "randon"}, "no agent for kuhn named 'randon'; did you mean random?"),
        ({"seat": 2}, "seat must be from 0 to 1 in kuhn, or None, got 2"),
        ({"render_mode": "human"}, "render_mode must be one of ['ansi', 'rgb_array'] or None for several games"),
        ({"card": 4}, "no option of kuhn named 'card'; did you mean cards?"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        gymnasium.make_vec("dancfr/Game-v0", **{"game": "kuhn", **arguments})
    assert told in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("action", [7, -1, 0.5, [0, 1]])
def test_illegal_actions_of_the_opponent_are_its_own_fault(action: Any) -> None:
    made = SingleAgentVectorEnv("kuhn", 4, Fixed(action), seat=1)
    with pytest.raises(AgentError, match=r"^agent random (chose an illegal action|returned )"):
        made.reset(seed=1)


def test_pictures_are_those_of_the_environment_alone() -> None:
    for name, mode in (("geister", "rgb_array"), ("leduc", "ansi")):
        vector, alone = SingleAgentVectorEnv(name, 1, render_mode=mode), SingleAgentEnv(name, render_mode=mode)
        vector.reset(seed=1)
        alone.reset(seed=1)
        frames = vector.render()
        assert frames is not None
        assert len(frames) == 1
        assert np.array_equal(frames[0], alone.render())


class Failing(RandomAgent):
    """Plays an action that does not exist from its second call on."""

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        super().begin(game, batch, rng)
        self.calls = 0

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> Actions:
        self.calls += 1
        return super().act(states, games, rng) if self.calls < 2 else np.full(len(states), 99)


@pytest.mark.parametrize("make", [SingleAgentEnv, lambda game, *more, seat: SingleAgentVectorEnv(game, 1, *more, seat)])
def test_an_error_of_the_opponent_ends_the_games(make: Any) -> None:
    made = make("mini-geister", Failing(), seat=1)
    for _ in range(2):  # `reset` begins again
        observation, _ = made.reset(seed=1)
        actions = observation["action_mask"].argmax(-1)
        with pytest.raises(AgentError):
            made.step(actions)
        with pytest.raises(GameOver, match=r"call reset\(\) first$"):
            made.step(actions)
