"""Gymnasium environments of one player: played beside the rules, with every opponent, and refused in one line."""

import pickle
import re
from copy import deepcopy
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

import dancfr
from dancfr.errors import RunError, UsageError
from dancfr.evaluation.arena import AgentError
from dancfr.games.registry import make_game_as
from dancfr.gym import GAMES, id_of
from dancfr.gym.environment import SingleAgentEnv
from envs.game import Game, GameOver, States
from envs.players import RandomAgent
from examples.own_game import OneCard
from tests.games import kuhn as kuhn_tree

MANY: dict[str, Any] = {"players": 4, "ranks": 4, "copies": 3, "max_discard": 3, "discards": "sets"}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in GAMES),
    ("goofspiel", {"prizes": "random"}),  # chance between the moves
    ("cheat", {"players": 3}),
    ("cheat", {"health": 1, **MANY}),
    ("cheat", {"players": 6, "health": 1, "ply_limit": 60}),
    ("geister", {"random_setup": False, "clip_ply": False, "observation_limit": 50}),
    ("mini-geister", {"history": True}),
]
EVERY = pytest.mark.parametrize(("name", "options"), VARIANTS, ids=str)


class LegalMoves(SingleAgentEnv):
    """Takes every number as one of a legal action, for checks that draw numbers without the mask."""

    def step(self, action: SupportsIndex) -> Any:
        legal = np.flatnonzero(self.action_masks())
        return super().step(int(legal[int(action) % len(legal)]))


class Fixed(RandomAgent):
    """Always plays the same action."""

    def __init__(self, action: Any) -> None:
        super().__init__()
        self.action = action

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> Any:
        return np.array([self.action] * len(states))


class SeatLog(RandomAgent):
    """Plays at random and records for which players."""

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        super().begin(game, batch, rng)
        self.game, self.seats = game, set[int]()

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        self.seats.update(self.game.to_move(states).tolist())
        return super().act(states, games, rng)


def episode(made: gymnasium.Env[Any, Any], seed: int | None) -> list[Any]:
    """Plays a game with legal actions drawn by the seed; returns all that was seen."""
    choose = np.random.default_rng((seed or 0) + 100)
    observation, info = made.reset(seed=seed)
    seen: list[Any] = [observation, info]
    over = False
    while not over:
        observation, reward, over, _, info = made.step(choose.choice(np.flatnonzero(observation["action_mask"])))
        seen += [observation, reward, over, info]
    return seen


def same(one: Any, other: Any) -> bool:
    return pickle.dumps(one) == pickle.dumps(other)


@EVERY
@pytest.mark.filterwarnings("error")
def test_environment_passes_the_check_of_gymnasium(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dancfr.gym.environment.SingleAgentEnv", LegalMoves)
    made = gymnasium.make(id_of(name), **options)
    assert isinstance(made.unwrapped, LegalMoves)
    check_env(made.unwrapped)
    assert capsys.readouterr().out, "the mode human, too, has been checked"


@EVERY
def test_environment_shows_what_the_rules_say(name: str, options: dict[str, Any]) -> None:
    """Played beside the rules with the same stream: seats, deals, masks, observations, moves of others, returns."""
    game = make_game_as(Game, name, **options)
    for encoding in game.spec.shapes:
        seats, rewards = set(), []
        for seed in range(6):
            made = SingleAgentEnv(game, "random", None, encoding)
            rng, choose, other = np.random.default_rng(seed), np.random.default_rng(seed + 100), RandomAgent()
            seen = iter(episode(made, seed))
            states, seat = deal(game, other, rng)
            seats.add(seat)
            compare(made, game, states, seat, encoding, next(seen), next(seen))
            while not game.finished(states)[0]:
                action = choose.choice(np.flatnonzero(game.legal(states)[0]))
                game.step(states, np.array([action]), rng)
                to_decision(game, states, seat, other, rng)
                observation, reward, over, info = (next(seen) for _ in range(4))
                compare(made, game, states, seat, encoding, observation, info)
                assert over == game.finished(states)[0]
                assert reward == game.returns(states)[0, seat]
                rewards.append(reward)
            assert next(seen, None) is None
            assert info["ending"] == game.spec.endings[game.endings(states)[0]]
        assert len(seats) > 1
        assert any(rewards)


def deal(game: Game, other: RandomAgent, rng: np.random.Generator) -> tuple[States, int]:
    """Draws a seat and deals until it has a decision; returns the state of this decision, and the seat."""
    seat = int(rng.integers(game.spec.num_players))
    while True:
        states = game.reset(1, rng)
        other.begin(game, 1, rng)
        to_decision(game, states, seat, other, rng)
        if not game.finished(states)[0]:
            return states, seat


def to_decision(game: Game, states: States, seat: int, other: RandomAgent, rng: np.random.Generator) -> None:
    while game.to_move(states)[0] not in (seat, -1):
        game.step(states, other.act(states, np.zeros(1, np.int64), rng), rng)


def compare(
    made: SingleAgentEnv, game: Game, states: States, seat: int, encoding: str, observation: Any, info: Any
) -> None:
    assert made.observation_space.contains(observation)
    assert info["seat"] == seat
    shown = game.encode(game.observe(states, np.array([seat], np.int8)), encoding)[0]
    assert np.array_equal(observation["observation"], shown)
    assert observation["action_mask"].dtype == np.int8
    for mask in (observation["action_mask"], info["action_mask"]):
        assert np.array_equal(mask, game.legal(states)[0])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("leduc", {"opponent": "pretrained:leduc"}),
        ("geister", {"opponent": "pretrained:geister"}),
        ("cheat", {"players": 4, "opponent": "heuristic"}),
    ],
)
def test_equal_seeds_are_equal_episodes(name: str, arguments: dict[str, Any]) -> None:
    one, other = (gymnasium.make(id_of(name), **arguments) for _ in range(2))
    games = [episode(one, seed) for seed in range(5)]
    assert len({pickle.dumps(game) for game in games}) == 5
    for seed in (4, 0, 2):  # whatever has been played before
        assert same(episode(other, seed), games[seed])
    assert len({game[1]["seat"] for game in games}) > 1
    again = [gymnasium.make(id_of(name), **arguments) for _ in range(2)]
    for made in again:
        made.reset(seed=3)
    assert same(again[0].reset(), again[1].reset()), "a reset without a seed continues the stream"


def test_returns_agree_with_a_match() -> None:
    """The solution of Kuhn poker as the learner, against the weakest opponent: the mean of each seat."""
    learner = dancfr.solve("kuhn", "lp").agent()
    game = dancfr.make_game("kuhn")
    for seat, key in enumerate(("first", "second")):
        made, total = SingleAgentEnv("kuhn", "random", seat), []
        made.reset(seed=seat)
        learner.begin(game, 1, made.np_random)
        for _ in range(2000):
            over = False
            while not over:
                action = learner.act(made._view.states, np.zeros(1, np.int64), made.np_random)[0]
                _, reward, over, _, _ = made.step(action)
            total.append(reward)
            made.reset()
        stated = dancfr.play(learner, "random", "kuhn", games=4000, seed=1).result.seats[key]
        assert np.mean(np.array(total) > 0) == pytest.approx(stated["win_rate"], abs=0.045)


def test_rules_are_those_of_a_match_against_the_opponent() -> None:
    plain, strong = (gymnasium.make("dancfr/Geister-v0", opponent=name) for name in ("rush", "pretrained:geister"))
    assert plain.observation_space["observation"].shape == (6, 6, 6)  # type: ignore[index]
    assert strong.observation_space["observation"].shape == (568,)  # type: ignore[index]
    for made in (plain, strong):
        assert made.unwrapped.game.ply_limit == 300  # type: ignore[attr-defined]
    given = gymnasium.make("dancfr/Geister-v0", opponent="rush", history=True, ply_limit=40, encoding="flat")
    assert given.observation_space["observation"].shape == (568,)  # type: ignore[index]
    assert given.unwrapped.game.ply_limit == 40  # type: ignore[attr-defined]


def test_one_agent_has_all_other_seats() -> None:
    log = SeatLog()
    made = SingleAgentEnv("cheat", log, 2, players=5)
    assert made.opponent is not log, "an agent may be given to several environments"
    assert isinstance(made.opponent, SeatLog)
    episode(made, 1)
    assert made.opponent.seats == {0, 1, 3, 4}


def test_games_without_a_decision_of_the_learner_are_dealt_again() -> None:
    """Player 1 of one-card poker decides only after a bet."""
    made = SingleAgentEnv(OneCard(), seat=1)
    for seed in range(20):
        _, info = made.reset(seed=seed)
        assert info["action_mask"].all()
    with pytest.raises(RunError, match=r"^one-card: player 1 had no decision in 1,000 games in a row$"):
        SingleAgentEnv(OneCard(), Fixed(0), 1).reset(seed=1)


def test_game_without_an_environment_of_its_own_is_played() -> None:
    made = SingleAgentEnv(kuhn_tree(), seat=0)
    assert len(episode(made, 1)) >= 6
    other = gymnasium.make("dancfr/Game-v0", game="openspiel:kuhn_poker", seat=1)
    assert len(episode(other, 1)) >= 6


@pytest.mark.parametrize("action", ["masked", -1, 99, None, "north", 0.0, True, np.array([0, 1])])
def test_illegal_actions_are_refused_and_change_nothing(action: Any) -> None:
    made = SingleAgentEnv("mini-geister", seat=0)
    observation, _ = made.reset(seed=1)
    chosen = int(np.argmin(observation["action_mask"])) if isinstance(action, str) and action == "masked" else action
    before = made._view.states.copy()
    legal = re.escape(str(np.flatnonzero(made.action_masks()).tolist()))
    with pytest.raises(ValueError, match=rf"^geister_v0: action [^\n]+ is not legal[^\n]+; legal actions are {legal}$"):
        made.step(chosen)
    assert np.array_equal(made._view.states, before)
    made.step(np.int64(np.argmax(observation["action_mask"])))


def test_calls_out_of_order_are_refused() -> None:
    made = SingleAgentEnv("kuhn", render_mode="ansi")
    for call in (lambda: made.step(0), made.action_masks, made.render):
        with pytest.raises(GameOver, match=r"call reset\(\) first"):
            call()
    episode(made, 1)
    assert not made.action_masks().any()
    assert made.render()
    with pytest.raises(GameOver, match=r"^kuhn: no game is running; call reset\(\) first$"):
        made.step(0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"game": "guandan"}, "guandan lists its actions"),
        ({"game": "kunh"}, "no game named 'kunh'; did you mean kuhn?"),
        ({"opponent": "randon"}, "no agent for kuhn named 'randon'; did you mean random?"),
        ({"opponent": "pretrained:geister"}, "was trained on geister, not on kuhn"),
        ({"opponent": RandomAgent}, "opponent expects text or an agent"),
        ({"seat": 2}, "seat must be from 0 to 1 in kuhn, or None, got 2"),
        ({"seat": -1}, "seat must be from 0 to 1 in kuhn, or None, got -1"),
        ({"seat": True}, "seat expects an integer or"),
        ({"encoding": "planes"}, "encoding must be one of ['flat'] in kuhn, got 'planes'"),
        (
            {"render_mode": "svg"},
            "kuhn: render_mode must be one of ['human', 'ansi', 'rgb_array'] or None, got 'svg'",
        ),
        ({"card": 4}, "no option of kuhn named 'card'; did you mean cards?"),
        ({"cards": "four"}, "option cards of kuhn expects an integer"),
        ({"game": dancfr.make_game("kuhn"), "cards": 4}, "the rules of kuhn are given"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        gymnasium.make("dancfr/Game-v0", disable_env_checker=True, **{"game": "kuhn", **arguments})
    assert told in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("action", [7, -1, 0.5, [0, 1]])
def test_illegal_actions_of_the_opponent_are_its_own_fault(action: Any) -> None:
    made = SingleAgentEnv("kuhn", Fixed(action), seat=1)
    with pytest.raises(AgentError, match=r"^agent random chose an illegal action: kuhn_v0: action .* player_0; legal"):
        made.reset(seed=1)


def test_vector_of_environments_plays_as_each_alone() -> None:
    arguments: dict[str, Any] = {"opponent": RandomAgent(), "cards": 4}
    vector = gymnasium.make_vec("dancfr/Kuhn-v0", num_envs=3, vectorization_mode="sync", **arguments)
    alone = [gymnasium.make("dancfr/Kuhn-v0", **arguments) for _ in range(3)]
    assert vector.single_observation_space == alone[0].observation_space
    shown, _ = vector.reset(seed=[4, 5, 6])
    for i, made in enumerate(alone):
        assert np.array_equal(made.reset(seed=4 + i)[0]["observation"], shown["observation"][i])
    shown, rewards, over, _, infos = vector.step(np.array([1, 1, 1]))
    for i, made in enumerate(alone):
        observation, reward, ended, _, info = made.step(1)
        assert np.array_equal(observation["observation"], shown["observation"][i])
        assert np.array_equal(info["action_mask"], infos["action_mask"][i])
        assert (reward, ended) == (rewards[i], over[i])
    assert over.any()
    vector.step(np.array([0, 0, 0]))
    vector.close()


def test_pictures_are_those_of_the_pettingzoo_environment(capsys: pytest.CaptureFixture[str]) -> None:
    for name, mode in (("geister", "rgb_array"), ("cheat", "ansi"), ("leduc", "ansi"), ("leduc", "rgb_array")):
        view = dancfr.make_game(name).env(render_mode=mode)
        view.reset(seed=1)
        first = view.possible_agents.index(view.agent_selection)
        made = SingleAgentEnv(dancfr.make_game(name), seat=first, render_mode=mode)
        made.reset(seed=1)
        assert np.array_equal(made.render(), view.render())
        assert made.metadata["render_modes"] == view.metadata["render_modes"]
    shown = SingleAgentEnv("leduc", render_mode="human")
    shown.reset(seed=1)
    assert capsys.readouterr().out


def test_environment_travels_to_other_processes() -> None:
    made = SingleAgentEnv("geister", "rush", 1, "planes", "ansi", ply_limit=50)
    other = pickle.loads(pickle.dumps(made))
    assert same(episode(made, 1), episode(other, 1))
    assert made.render() == other.render()
    assert np.array_equal(other.action_masks(), np.zeros(32, np.bool_))


@EVERY
def test_copies_keep_the_game_and_its_random_draws(name: str, options: dict[str, Any]) -> None:
    made = gymnasium.make(id_of(name), **options)
    observation, _ = made.reset(seed=4)
    copies = [deepcopy(made), pickle.loads(pickle.dumps(made))]
    first, second, third = (
        [one.step(observation["action_mask"].argmax()), episode(one, None)] for one in (made, *copies)
    )
    assert same(first, second)
    assert same(first, third)
