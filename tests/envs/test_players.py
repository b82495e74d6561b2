"""The players that fit any game, and the bots of Geister one by one."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from envs.aec import AecGame
from envs.game import States
from envs.geister import Geister, raw_env
from envs.geister.players import BOTS, CAREFUL, RUSH, HeuristicAgent, HeuristicWeights
from envs.players import RandomAgent, choose_uniform
from tests.envs.geister_positions import position, random_positions
from tests.envs.matches import play

LAST_BELOW_ONE = {np.float32: np.float32(1) - np.float32(2**-24), np.float64: 1 - 2.0**-53}


@pytest.mark.parametrize("actions", [1, 3, 8, 32, 70, 72, 256])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_choose_uniform_takes_the_allowed_action_of_that_rank(actions: int, dtype: type) -> None:
    rng = np.random.default_rng(actions)
    mask = rng.random((60, actions)) < 0.3
    mask[0], mask[1] = False, True
    for u in (rng.random(60).astype(dtype), np.zeros(60, dtype), np.full(60, LAST_BELOW_ONE[dtype], dtype)):
        allowed = [np.flatnonzero(row) for row in mask]
        expected = [a[int(float(x) * len(a))] if len(a) else -1 for a, x in zip(allowed, u, strict=True)]
        chosen = choose_uniform(mask, u)
        assert chosen.dtype == np.int64
        assert chosen.tolist() == expected


@pytest.mark.parametrize("actions", [8, 3])
def test_choose_uniform_takes_masks_however_they_lie_in_memory(actions: int) -> None:
    rng = np.random.default_rng(actions)
    mask, u = rng.random((60, actions)) < 0.5, rng.random(60)
    assert choose_uniform(np.asfortranarray(mask), u).tolist() == choose_uniform(mask, u).tolist()
    running = np.broadcast_to(mask[:, :1], mask.shape)  # all actions while a game runs
    assert choose_uniform(running, u).tolist() == choose_uniform(running.copy(), u).tolist()


def test_choose_uniform_is_uniform() -> None:
    mask = np.tile(np.isin(np.arange(32), [0, 5, 7, 8, 30, 31]), (60_000, 1))
    counts = np.bincount(choose_uniform(mask, np.random.default_rng(0).random(len(mask))), minlength=32)
    assert counts[~mask[0]].sum() == 0
    assert stats.chisquare(counts[mask[0]]).pvalue > 1e-4


def test_random_agent_plays_any_game() -> None:
    for game in (Geister(size=4, ply_limit=10), AecGame(lambda: raw_env(size=4, ply_limit=10))):
        states, _ = play(game, (RandomAgent(), RandomAgent()), 6, np.random.default_rng(0))
        assert game.finished(states).all()


@pytest.mark.parametrize("bot", BOTS)
@pytest.mark.parametrize("size", [6, 4])
@pytest.mark.parametrize("random_setup", [True, False])
@pytest.mark.parametrize("forced_escape", [True, False])
def test_bots_play_every_option(bot: str, size: int, random_setup: bool, forced_escape: bool) -> None:
    game = Geister(size, 60, random_setup, forced_escape)
    agent = BOTS[bot]()
    assert agent.name == bot
    states, _ = play(game, (agent, BOTS["random"]()), 50, np.random.default_rng(1))  # step refuses what is illegal
    assert game.finished(states).all()
    assert len(np.unique(states["red"])) > 1


def test_layouts_are_chosen_at_random() -> None:
    game = Geister(random_setup=False)
    states = game.reset(7_000, np.random.default_rng(0))
    bot = BOTS["rush"]()
    bot.begin(game, len(states), np.random.default_rng(0))
    counts = np.bincount(bot.act(states, np.arange(len(states)), np.random.default_rng(2)), minlength=70)
    assert stats.chisquare(counts).pvalue > 1e-4


def choices(weights: HeuristicWeights, game: Geister, *places: dict[str, int], games: int = 400) -> dict[str, float]:
    """How often a heuristic player makes each move in a position of `geister_positions.position`."""
    states = np.repeat(position(game, *places), games)
    agent = HeuristicAgent(weights)
    agent.begin(game, games, np.random.default_rng(0))
    actions, counts = np.unique(agent.act(states, np.arange(games), np.random.default_rng(3)), return_counts=True)
    names = [f"{'ABCDEFGH'[a // 4]} {'NEWS'[a % 4]}" for a in actions]
    return dict(zip(names, (counts / games).tolist(), strict=True))


FREE = Geister(forced_escape=False)
FAR = {"Ar": 34, "B": 33}
TOUCHING = {"Ar": 21, "B": 3}  # squares 14 and 32 of player 0
ONLY = {"attack": 0.0, "capture": 0.0, "neighbours": 0.0, "defence": 0.0, "temperature": 0.0}


def only(**weights: float | str) -> HeuristicWeights:
    """A player that minds nothing else."""
    return HeuristicWeights(**{**ONLY, **weights})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "own", "enemy", "best"),
    [
        (only(attack=1), {"A": 0, "Br": 20}, FAR, {"A N"}),  # leaving ends the way
        (only(attack=1), {"A": 12, "B": 17, "Cr": 20}, FAR, {"A N", "B N"}),
        (only(attack=1), {"A": 12, "Br": 6}, FAR, {"B N", "B E"}),
        (only(capture=1), {"A": 20, "Br": 35}, TOUCHING, {"A E", "A W", "A S", "B N", "B W"}),
        (only(capture=-1), {"A": 20, "Br": 35}, TOUCHING, {"A N"}),
        (only(neighbours=1), {"A": 20, "Br": 35}, TOUCHING, {"A N", "A W", "A E"}),
        (only(neighbours=-1), {"A": 20, "Br": 35}, {"Ar": 22, "B": 20}, {"A N"}),  # between the two
        (only(neighbours=1), {"A": 20, "B": 13}, TOUCHING, {"A N", "B E"}),  # a captured ghost is beside no other
        (
            only(neighbours=1),
            {"A": 0, "Br": 20},
            {"Ar": 34, "B": 29},
            {"A N", "A E", "A S"},
        ),  # nor one that left
        (
            only(neighbours=-1),
            {"Ar": 20, "B": 35},
            {"Ar": 22, "B": 20},
            {"A N", "A S", "A W", "A E", "B N", "B W"},
        ),
        (only(defence=1), {"A": 30, "Br": 29}, FAR, {"B S"}),
        (only(defence=1, kind="reds"), {"A": 29, "Br": 25}, FAR, {"B W", "B S"}),
        (only(defence=-1, kind="reds"), {"A": 29, "Br": 31}, FAR, {"B N", "B E"}),
    ],
)
def test_each_feature(weights: HeuristicWeights, own: dict, enemy: dict, best: set[str]) -> None:
    found = choices(weights, FREE, own, enemy)
    assert set(found) == best
    assert min(found.values()) > 0.5 / len(best)  # ties at random


def test_noise_makes_a_softmax() -> None:
    """The largest of scores with Gumbel noise is a draw proportional to exp(score / temperature)."""
    found = choices(only(attack=1, temperature=0.5), FREE, {"A": 12, "Br": 35}, FAR, games=40_000)
    weights = {move: np.exp(-steps / 0.5) for move, steps in {"A N": 2, "A E": 4, "A S": 4, "B N": 3, "B W": 3}.items()}
    assert set(found) == set(weights)
    for move, weight in weights.items():
        assert found[move] == pytest.approx(weight / sum(weights.values()), abs=0.01)


def probabilities(weights: HeuristicWeights, states: States) -> NDArray[np.float64]:
    agent = HeuristicAgent(weights)
    agent.begin(FREE, len(states), np.random.default_rng(0))
    return agent.probabilities(states, np.arange(len(states)))


def test_probabilities_are_the_softmax_and_without_noise_equal_among_the_best() -> None:
    states = position(FREE, {"A": 12, "Br": 35}, FAR)
    steps = np.array([2, 4, 4, 3, 3])  # of A north, east and south, and of B north and west
    expected = np.zeros(32)
    expected[[0, 1, 3, 4, 6]] = np.exp(-steps / 0.5) / np.exp(-steps / 0.5).sum()
    np.testing.assert_allclose(probabilities(only(attack=1, temperature=0.5), states)[0], expected, atol=1e-12)
    tied = position(FREE, {"A": 12, "Br": 18}, FAR)
    legal = FREE.legal(tied)[0]
    np.testing.assert_allclose(probabilities(only(), tied)[0], legal / legal.sum(), atol=1e-12)
    np.testing.assert_allclose(probabilities(only(attack=1), states)[0], np.arange(32) == 0, atol=1e-12)


@pytest.mark.parametrize("weights", [CAREFUL, RUSH], ids=["heuristic", "rush"])
def test_moves_are_made_as_often_as_is_said(weights: HeuristicWeights) -> None:
    """In 6 positions of random games, 20,000 times each, within 5 standard errors."""
    games = 20_000
    for state in random_positions(FREE, 6, 30, seed=4):
        states = np.repeat(state[None], games)
        agent = HeuristicAgent(weights)
        agent.begin(FREE, games, np.random.default_rng(0))
        made = np.bincount(agent.act(states, np.arange(games), np.random.default_rng(5)), minlength=32) / games
        (said,) = probabilities(weights, states[:1])
        assert said.sum() == pytest.approx(1)
        assert (said[~FREE.legal(states[:1])[0]] == 0).all()
        assert (np.abs(made - said) <= 5 * np.sqrt(said * (1 - said) / games)).all()


@pytest.mark.parametrize(
    "options", [{"kind": "blues"}, {"temperature": -0.1}, {"attack": float("nan")}, {"defence": float("inf")}]
)
def test_impossible_weights(options: dict) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        HeuristicWeights(**options)


def test_bots_say_what_is_wrong() -> None:
    game, rng = Geister(), np.random.default_rng(0)
    for make in BOTS.values():
        with pytest.raises(RuntimeError, match="call begin"):
            make().act(game.reset(1, rng), np.arange(1), rng)
    with pytest.raises(ValueError, match="rush plays geister and mini-geister only, not geister_v0"):
        BOTS["rush"]().begin(AecGame(raw_env), 1, rng)
