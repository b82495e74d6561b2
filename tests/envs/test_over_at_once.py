"""Environments of a game that chance may end before its first move."""

import gymnasium
import numpy as np
import pytest
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

import dancfr
from envs.aec import AecGame
from envs.extensive import OVER
from examples.own_game import OneCard
from learners.dream.agent import own_log_reach


class Misdeal(OneCard):
    """One-card poker in which a high card wins 2 immediately, and player 1 never moves."""

    def apply(self, states, choices):
        super().apply(states, choices)
        states["mover"] = np.where((states["high"] == 1) | (states["bet"] == 1), OVER, states["mover"])

    def utilities(self, states):
        won = np.select([states["mover"] != OVER, states["high"] == 1, states["bet"] == 0], [0.0, 2.0, -1.0], -2.0)
        return np.stack([won, -won], axis=1)


def play(env: OrderEnforcingWrapper, seed: int) -> tuple[list[float], int]:
    """The rewards of a random game as `last` tells them, and the number of moves."""
    env.reset(seed=seed)
    told, moves = [0.0, 0.0], 0
    for agent in env.agent_iter():
        shown, reward, terminated, _, info = env.last()
        told[int(agent[-1])] += reward
        assert terminated == ("ending" in info)
        moves += not terminated
        env.step(None if terminated else int(env.action_space(agent).sample(shown["action_mask"])))
    return told, moves


def test_agents_are_terminated_by_reset_with_their_returns() -> None:
    env = Misdeal().env()
    env.action_space("player_0").seed(1)
    games = [play(env, seed) for seed in range(200)]
    at_once = [told for told, moves in games if not moves]
    assert 70 <= len(at_once) <= 130
    assert all(told == [2.0, -2.0] for told in at_once)
    assert {told[0] for told, moves in games if moves} == {-1.0, -2.0}


def test_the_environment_is_the_same_game_again() -> None:
    game = AecGame(Misdeal().env, max_return=2.0)
    match = dancfr.play("random", game=game, games=400, seed=1)
    assert match.result.seats["first"]["win_rate"] == pytest.approx(0.5, abs=0.12), "the half that ends by the deal"
    states = game.reset(100, np.random.default_rng(1))
    over = game.finished(states)
    assert over.any()
    assert not over.all()
    assert (game.returns(states)[over] == [2.0, -2.0]).all()


def test_gymnasium_deals_again() -> None:
    env = gymnasium.make("dancfr/Game-v0", game=Misdeal(), seat=0)
    for seed in range(20):
        observation, _ = env.reset(seed=seed)
        assert observation["action_mask"].all()
        _, reward, over, _, _ = env.step(seed % 2)
        assert (reward, over) == ([-1.0, -2.0][seed % 2], True)


def test_a_player_who_never_moves_has_no_reach() -> None:
    tree = dancfr.solve(Misdeal(), algorithm="lp").tree
    assert tree.num_infosets == (1, 0)
    assert own_log_reach(tree, np.flatnonzero(tree.player == 1), np.zeros((3, 0, 2), np.float32)).shape == (0, 3)
