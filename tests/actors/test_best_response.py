"""Games of a best response: who plays what, what becomes of it, and the targets of decisions before exploration."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from actors.best_response import BadMove, NotZeroSum, Responder, ResponseTask, ResponseWeights
from envs.game import Game, States
from envs.geister import Geister
from envs.kuhn import Kuhn
from envs.players import RandomAgent
from learners.best_response.agent import QValues, ResponseAgent
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings, Weights

MINI = Geister(size=4, ply_limit=30, observation_limit=30)
NET = NetworkSettings(width=16, depth=2, outputs="move")
KUHN_NET = NetworkSettings(width=16, depth=2, outputs="action")


def fresh(game: Game, network: NetworkSettings, seed: int) -> Weights:
    torch.manual_seed(seed)
    return ValueNet(network, game.spec).inference_weights()


WEIGHTS = ResponseWeights(1, (fresh(MINI, NET, 1), fresh(MINI, NET, 2)))


class Watching:
    """A random player that notes in which games it was asked, and whether it was to move."""

    name = "watching"

    def __init__(self) -> None:
        self.inner, self.places, self.movers = RandomAgent(), [], []

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self.game, self.batch = game, batch
        self.inner.begin(game, batch, rng)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        self.places.append(games.copy())
        self.movers += self.game.to_move(states).tolist()
        return self.inner.act(states, games, rng)


def responder(opponent: Any, explore: float = 0.5, least: float | None = None) -> Responder:
    return Responder(MINI, NET, opponent, explore, explore if least is None else least)


@pytest.mark.parametrize("seat", [0, 1])
def test_the_frozen_agent_is_asked_for_its_own_seat_only(seat: int) -> None:
    opponent = Watching()
    stats, block = responder(opponent).play(ResponseTask((1, 1, 1, 1), seat, 50), WEIGHTS)
    assert set(opponent.movers) == {1 - seat}
    assert opponent.batch == 50
    assert all(len(set(places)) == len(places) for places in opponent.places)
    rows = block["responses"]
    assert stats["games"] == 50
    assert stats["samples"] == len(rows) >= 50
    assert set(rows["infostate"][:, 19]) == {1 - seat}  # whether the observer moves first


def test_a_chunk_is_repeated_by_its_seed() -> None:
    task = ResponseTask((4, 1, 2, 3), 0, 64)
    first = responder(RandomAgent()).play(task, WEIGHTS)[1]["responses"]
    worker = responder(RandomAgent())
    worker.play(ResponseTask((9, 1, 2, 3), 1, 10), WEIGHTS)
    assert worker.play(task, WEIGHTS)[1]["responses"].tobytes() == first.tobytes()
    assert len(first) != len(worker.play(ResponseTask((5, 1, 2, 3), 0, 64), WEIGHTS)[1]["responses"])


def test_without_exploration_targets_are_returns_and_actions_greedy() -> None:
    worker, task = responder(RandomAgent(), explore=1e-12), ResponseTask((1, 1, 1, 1), 0, 200)
    rows = worker.play(task, WEIGHTS)[1]["responses"]
    returns, nothing = worker.measure(task, WEIGHTS)
    assert nothing is None
    assert set(rows["target"]) <= {-1.0, 0.0, 1.0}
    first = rows[:200]  # of the first ply: one of each game, in their order
    assert np.array_equal(first["target"], returns)
    states = MINI.reset(200, np.random.default_rng(np.random.SeedSequence(task.seed)).spawn(3)[0])
    values = QValues(MINI, NET, WEIGHTS.nets[0])(np.ascontiguousarray(first["infostate"]), MINI.legal(states))
    assert np.array_equal(values.argmax(axis=1), first["action"])


def test_decisions_before_an_exploring_one_get_the_value_of_the_best_action_there() -> None:
    worker, task = responder(RandomAgent(), explore=0.3), ResponseTask((1, 1, 1, 1), 0, 100)
    cut = worker.play(task, WEIGHTS)[1]["responses"]
    kept = {name: worker._rows[name].copy() for name in ("game", "best", "explored")}
    plain = worker.play(ResponseTask(task.seed, 0, 100, cut=False), WEIGHTS)[1]["responses"]
    assert np.array_equal(cut["infostate"], plain["infostate"])
    assert 0.1 < kept["explored"].mean() < 0.3  # a random move may be the greedy one
    for game in range(100):
        own = np.flatnonzero(kept["game"] == game)
        assert len(set(plain["target"][own])) == 1
        wanted = plain["target"][own[-1]]
        for row in own[::-1]:
            assert cut["target"][row] == wanted
            if kept["explored"][row]:
                wanted = kept["best"][row]


def test_games_of_a_chunk_explore_from_a_lot_to_hardly() -> None:
    worker = responder(RandomAgent(), explore=0.5, least=1e-12)
    worker.play(ResponseTask((1, 1, 1, 1), 1, 300), WEIGHTS)
    explored, game = worker._rows["explored"], worker._rows["game"]
    assert explored[game < 20].mean() > 0.1
    assert not explored[game > 200].any()


def test_the_agent_plays_what_the_worker_measures() -> None:
    agent = ResponseAgent(MINI, NET, WEIGHTS.nets)
    agent.begin(MINI, 200, np.random.default_rng(0))
    states = MINI.reset(200, np.random.default_rng(2))
    MINI.step(states, agent.act(states, np.arange(200), np.random.default_rng(0)))
    legal, packed = MINI.legal(states), MINI.observe(states, MINI.to_move(states))
    best = QValues(MINI, NET, WEIGHTS.nets[1])(packed, legal).argmax(axis=1)
    assert np.array_equal(agent.act(states, np.arange(200), np.random.default_rng(0)), best)
    assert legal[np.arange(200), best].all()


class Paying(Kuhn):
    """Kuhn poker with a fee."""

    def returns(self, states: States) -> NDArray[np.float32]:
        return super().returns(states) - np.float32(0.5)


class Stubborn(RandomAgent):
    """Plays one action, legal or not."""

    name = "stubborn"

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return np.full(len(states), 7)


def test_a_game_that_is_not_zero_sum_is_refused() -> None:
    game = Paying()
    weights = ResponseWeights(1, (fresh(game, KUHN_NET, 1), fresh(game, KUHN_NET, 2)))
    with pytest.raises(NotZeroSum, match="add up to 1 and not to 0"):
        Responder(game, KUHN_NET, RandomAgent(), 0.5, 0.5).play(ResponseTask((1, 1, 1, 1), 0, 4), weights)


def test_an_agent_that_breaks_the_rules_is_named() -> None:
    with pytest.raises(BadMove, match="stubborn"):
        responder(Stubborn()).play(ResponseTask((1, 1, 1, 1), 0, 4), WEIGHTS)
