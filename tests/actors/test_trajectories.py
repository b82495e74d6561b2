"""Games of a policy gradient: the policy of each seat, the decisions that become samples, and measurements."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from actors.trajectories import BadMove, BadReturns, NotZeroSum, TrajectoryPlayer
from actors.trajectory_tasks import LEARNER, Rival, TrajectoryTask, TrajectoryWeights
from dancfr.agents.insight import consult
from envs.agent import Agent
from envs.cheat import Cheat
from envs.game import Game, States
from envs.geister import Geister
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.players import RandomAgent
from learners.networks.settings import NetworkSettings, Weights, network_for
from learners.policy_gradient.agent import PolicyAgent
from learners.policy_gradient.network import policy_net
from learners.policy_gradient.policy import PolicyInference
from learners.policy_gradient.settings import NoiseSettings
from learners.samples import unpack_mask
from tests.games import sudden_kuhn

MINI = Geister(size=4, ply_limit=30, observation_limit=30)
NET = NetworkSettings(width=16, depth=2, outputs="move")


def fresh(game: Game, network: NetworkSettings, seed: int) -> Weights:
    torch.manual_seed(seed)
    net = policy_net(network, game.spec)
    with torch.no_grad():  # fresh policies would be uniform
        net.out.weight.normal_(std=0.5)
    return net.inference_weights()


WEIGHTS = TrajectoryWeights(1, NET, (fresh(MINI, NET, 1),))


class Watching:
    """A random player that notes in which games it was asked, and who was to move."""

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


def task(*tables: tuple[int, tuple[int, ...]], seed: int = 1) -> TrajectoryTask:
    return TrajectoryTask((seed, 1, 1), tables)


@pytest.mark.parametrize("seat", [0, 1])
def test_an_opponent_is_asked_for_its_own_seat_only_and_gives_no_samples(seat: int) -> None:
    opponent = Watching()
    parties = (LEARNER, 1) if seat == 0 else (1, LEARNER)
    worker = TrajectoryPlayer(MINI, 0.99, 0.9, [opponent])
    stats, block = worker.play(task((50, parties)), WEIGHTS)
    rows = block["net0"]
    assert set(opponent.movers) == {1 - seat}
    assert opponent.batch == 50
    assert all(len(set(places)) == len(places) for places in opponent.places)
    assert set(rows["infostate"][:, 19]) == {1 - seat}  # whether the observer moves first
    assert stats["games"] == stats["games/1"] == 50
    assert stats["samples"] == len(rows)
    assert stats["decisions"] == len(rows) + len(opponent.movers)
    assert abs(stats["return/1"]) <= 50


def test_self_play_and_opponents_share_a_chunk() -> None:
    opponent = Watching()
    worker = TrajectoryPlayer(MINI, 0.99, 0.9, [opponent])
    stats, _ = worker.play(task((30, (LEARNER, LEARNER)), (10, (LEARNER, 1)), (10, (1, LEARNER))), WEIGHTS)
    assert stats["games"] == 50
    assert stats["games/1"] == 20
    asked = set(np.concatenate(opponent.places).tolist())
    assert asked <= set(range(30, 50))
    assert asked & set(range(40, 50)), "it moves first in the last ten games"


def test_the_learner_s_return_is_the_mean_over_its_seats() -> None:
    """The outcomes of Cheat for four add up to 0, and the winner's return is 1."""
    game = Cheat(players=4)
    network = NetworkSettings(width=8, depth=1, outputs="action")
    weights = TrajectoryWeights(1, network, (fresh(game, network, 1),))
    worker = TrajectoryPlayer(game, 1.0, 1.0, [RandomAgent()])
    chunk = task((20, (1, LEARNER, LEARNER, LEARNER)))
    returns = worker.measure(chunk, weights)[0][0]
    np.testing.assert_allclose(returns.sum(axis=1), 0, atol=1e-6)
    stats, _ = worker.play(chunk, weights)
    assert stats["games/1"] == 20
    assert stats["return/1"] == pytest.approx(-returns[:, 0].sum() / 3, abs=1e-4)
    assert abs(stats["return/1"]) > 0.2


def test_games_that_end_before_a_decision_ask_nobody() -> None:
    game, opponent = sudden_kuhn(), Watching()
    network = NetworkSettings(width=8, depth=1, outputs="action")
    weights = TrajectoryWeights(1, network, (fresh(game, network, 1),))
    worker = TrajectoryPlayer(game, 1.0, 1.0, [opponent])
    chunk = task((400, (LEARNER, 1)))
    returns = worker.measure(chunk, weights)[0][0]
    assert (returns != 0).all()
    opponent.movers.clear()
    stats, block = worker.play(chunk, weights)
    assert set(opponent.movers) == {1}
    assert stats["return/1"] == pytest.approx(returns[:, 0].sum())
    rows = block["net0"]
    assert 260 < stats["decisions"] - len(opponent.movers) == len(rows)
    assert np.isfinite(rows["log_probability"]).all()
    assert unpack_mask(rows["legal"], 2).all()


def test_a_chunk_is_repeated_by_its_seed() -> None:
    chunk = task((64, (LEARNER, LEARNER)), seed=4)
    first = TrajectoryPlayer(MINI, 0.99, 0.9).play(chunk, WEIGHTS)[1]["net0"]
    worker = TrajectoryPlayer(MINI, 0.99, 0.9)
    worker.play(task((10, (LEARNER, LEARNER)), seed=9), WEIGHTS)
    assert worker.play(chunk, WEIGHTS)[1]["net0"].tobytes() == first.tobytes()
    other = worker.play(task((64, (LEARNER, LEARNER)), seed=5), WEIGHTS)[1]["net0"]
    assert other.tobytes() != first.tobytes()


def test_samples_say_what_was_played() -> None:
    rows = TrajectoryPlayer(MINI, 1.0, 1.0).play(task((200, (LEARNER, LEARNER))), WEIGHTS)[1]["net0"]
    legal = unpack_mask(rows["legal"], MINI.spec.num_actions)
    chosen = np.arange(len(rows)), rows["action"].astype(np.int64)
    assert legal[chosen].all()
    policy, _ = PolicyInference(MINI, NET, WEIGHTS.nets[0])(np.ascontiguousarray(rows["infostate"]), legal)
    np.testing.assert_allclose(rows["log_probability"], np.log(policy[chosen]), atol=2e-3)
    assert set(np.round(rows["target"], 4)) <= {-1.0, 0.0, 1.0}, "undiscounted returns without bootstrapping"
    assert set(rows["version"]) == {1}


def test_nets_for_each_player_get_their_own_samples() -> None:
    weights = TrajectoryWeights(1, NET, (fresh(MINI, NET, 1), fresh(MINI, NET, 2)))
    blocks = TrajectoryPlayer(MINI, 0.99, 0.9).play(task((40, (LEARNER, LEARNER))), weights)[1]
    assert set(blocks) == {"net0", "net1"}
    for player, rows in enumerate(blocks.values()):
        assert set(rows["infostate"][:, 19]) == {1 - player}


def test_a_former_net_takes_the_place_of_an_opponent() -> None:
    former = Rival("former", 7, (fresh(MINI, NET, 3),))
    weights = TrajectoryWeights(9, NET, WEIGHTS.nets, (former,))
    stats, block = TrajectoryPlayer(MINI, 0.99, 0.9).play(task((40, (LEARNER, 1))), weights)
    assert stats["games/1"] == 40
    assert set(block["net0"]["infostate"][:, 19]) == {1}


def rivalry(wins: dict[int, float], learns: bool = True) -> TrajectoryWeights:
    """The nets of `WEIGHTS` against others that learn."""
    return TrajectoryWeights(1, NET, WEIGHTS.nets, (Rival("hunter", 5, (fresh(MINI, NET, 3),), learns, wins),))


def test_a_rival_that_learns_gives_samples_of_its_own() -> None:
    chunk = task((60, (LEARNER, 1)), (60, (1, LEARNER)), (60, (LEARNER, LEARNER)))
    stats, blocks = TrajectoryPlayer(MINI, 1.0, 1.0).play(chunk, rivalry({}))
    own, theirs = blocks["net0"], blocks["hunter"]
    assert set(blocks) == {"net0", "hunter"}
    assert stats["samples"] == len(own)
    assert stats["decisions"] == len(own) + len(theirs)
    assert set(own["version"]) == {1}
    assert set(theirs["version"]) == {5}
    legal = unpack_mask(theirs["legal"], MINI.spec.num_actions)
    policy, _ = PolicyInference(MINI, NET, fresh(MINI, NET, 3))(np.ascontiguousarray(theirs["infostate"]), legal)
    chosen = policy[np.arange(len(theirs)), theirs["action"].astype(np.int64)]
    np.testing.assert_allclose(theirs["log_probability"], np.log(chosen), atol=2e-3)
    assert stats["reward/1"] == pytest.approx(-stats["return/1"]), "without wins of its own, the game's returns"
    silent, alone = TrajectoryPlayer(MINI, 1.0, 1.0).play(chunk, rivalry({}, learns=False))
    assert set(alone) == {"net0"}
    assert silent["samples"] == pytest.approx(stats["samples"], rel=0.15)


def test_the_worth_of_a_win_to_a_rival_changes_nothing_for_the_learner() -> None:
    """With no discount and full traces, targets are the rewards of whole games."""
    chunk = task((400, (LEARNER, 1)), (400, (1, LEARNER)))
    escape, blues = MINI.spec.endings.index("escape"), MINI.spec.endings.index("blues taken")
    plain, before = TrajectoryPlayer(MINI, 1.0, 1.0).play(chunk, rivalry({}))
    stats, after = TrajectoryPlayer(MINI, 1.0, 1.0).play(chunk, rivalry({escape: -0.25, blues: 0.5}))
    assert after["net0"].tobytes() == before["net0"].tobytes()
    assert stats["return/1"] == plain["return/1"]
    was, now = (np.round(blocks["hunter"]["target"], 4) for blocks in (before, after))
    assert set(was) <= {-1.0, 0.0, 1.0}
    assert {-0.25, 0.5, -1.0} <= set(now) <= {-1.0, -0.25, 0.0, 0.5, 1.0}
    assert (now[was < 1] == was[was < 1]).all(), "losses and draws are worth what they were"
    assert (now[was == 1] < 1).any()
    assert stats["reward/1"] < plain["reward/1"]


def test_each_rival_has_its_own_wins_and_samples() -> None:
    ended = MINI.spec.endings.index("escape")
    nets = [(fresh(MINI, NET, seed),) for seed in (3, 4)]
    rivals = Rival("one", 5, nets[0], True, {ended: -0.25}), Rival("two", 6, nets[1], True), Rival("former", 2, nets[0])
    worker = TrajectoryPlayer(MINI, 1.0, 1.0, [RandomAgent()])
    tables = [(100, (LEARNER, party)) for party in (1, 2, 3, 4)]
    stats, blocks = worker.play(task(*tables), TrajectoryWeights(1, NET, WEIGHTS.nets, rivals))
    assert set(blocks) == {"net0", "one", "two"}
    assert [set(blocks[name]["version"]) for name in ("net0", "one", "two")] == [{1}, {5}, {6}]
    assert -0.25 in np.round(blocks["one"]["target"], 4)
    assert -0.25 not in np.round(blocks["two"]["target"], 4)
    assert [stats[f"games/{party}"] for party in (1, 2, 3, 4)] == [100.0] * 4


def test_a_critic_of_a_rival_is_its_own() -> None:
    network = NetworkSettings(width=16, depth=1, outputs="move")
    with_critic = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        with_critic.append(policy_net(network, MINI.spec, True).inference_weights())
    rival = Rival("hunter", 1, (with_critic[1],), learns=True)
    worker = TrajectoryPlayer(MINI, 0.9, 0.5, critic=True)
    chunk = task((40, (LEARNER, 1)))
    blocks = worker.play(chunk, TrajectoryWeights(1, network, (with_critic[0],), (rival,)))[1]
    same = Rival("hunter", 2, (with_critic[0],), learns=True)
    others = worker.play(chunk, TrajectoryWeights(1, network, (with_critic[0],), (same,)))[1]
    assert len(blocks["hunter"]["others"])
    assert blocks["hunter"]["advantage"].tobytes() != others["hunter"]["advantage"].tobytes()


def noisy(opponents: Sequence[Agent] = (), **noise: float) -> TrajectoryPlayer:
    return TrajectoryPlayer(MINI, 0.99, 0.9, opponents, noise=NoiseSettings.model_validate(noise))


def test_games_may_begin_with_random_plies_that_give_no_samples() -> None:
    chunk = task((400, (LEARNER, LEARNER)), seed=2)
    plain, none = TrajectoryPlayer(MINI, 0.99, 0.9), noisy(opening_plies=9, tremble_rate=0.5)
    assert plain.play(chunk, WEIGHTS)[1]["net0"].tobytes() == none.play(chunk, WEIGHTS)[1]["net0"].tobytes()
    # Openings longer than any game: next to nothing is left to decide.
    stats, blocks = noisy(openings=1.0, opening_plies=100_000).play(chunk, WEIGHTS)
    assert stats["games"] == 400
    assert stats["decisions"] == len(blocks["net0"]) < 5
    # One random ply: the first decision is the second player's.
    stats, blocks = noisy(openings=1.0, opening_plies=1).play(chunk, WEIGHTS)
    assert set(blocks["net0"]["infostate"][:400, 19]) == {0}
    assert stats["decisions"] == len(blocks["net0"])
    # Half of the games, within four standard errors: the others ask the opponent immediately.
    opponent = Watching()
    noisy([opponent], openings=0.5, opening_plies=4).play(task((400, (1, 1)), seed=3), WEIGHTS)
    assert 160 <= len(opponent.places[0]) <= 240
    assert len(opponent.places[3]) > 320, "the others have been asked by now, but for games that have ended"


def test_the_learner_may_tremble_and_learns_nothing_of_it() -> None:
    """Uniform rates up to r tremble in r / 2 of the actions, as far as games do not change in length."""
    opponent = Watching()
    stats, blocks = noisy([opponent], tremble=1.0, tremble_rate=0.5).play(task((2000, (LEARNER, 1))), WEIGHTS)
    asked = np.concatenate(opponent.places)
    rows = blocks["net0"]
    assert stats["decisions"] == len(rows) + len(asked), "opponents never tremble: each of their turns is asked for"
    assert len(rows) / len(asked) == pytest.approx(0.75, abs=0.05)
    policy, _ = PolicyInference(MINI, NET, WEIGHTS.nets[0])(
        np.ascontiguousarray(rows["infostate"]), legal := unpack_mask(rows["legal"], MINI.spec.num_actions)
    )
    chosen = policy[np.arange(len(rows)), rows["action"].astype(np.int64)]
    assert legal.any(axis=1).all()
    # What is kept are draws from the policy: the mean probability of what was drawn is that of its own square.
    assert chosen.mean() == pytest.approx((policy**2).sum(axis=1).mean(), abs=0.01)
    half = noisy([Watching()], tremble=0.5, tremble_rate=0.5).play(task((2000, (LEARNER, 1))), WEIGHTS)[0]
    assert half["samples"] > 1.1 * stats["samples"]


def test_measurements_are_without_noise() -> None:
    chunk = task((100, (LEARNER, LEARNER)))
    loud = noisy(openings=1.0, opening_plies=20, tremble=1.0)
    returns = [worker.measure(chunk, WEIGHTS)[0][0] for worker in (TrajectoryPlayer(MINI, 0.99, 0.9), loud)]
    np.testing.assert_array_equal(*returns)


def test_a_measurement_plays_as_the_agent_does() -> None:
    game = Leduc()
    network = network_for(game.spec).model_copy(update={"width": 16, "depth": 1})
    net = fresh(game, network, 5)
    weights = TrajectoryWeights(1, network, (net,), threshold=1.0)
    worker = TrajectoryPlayer(game, 1.0, 1.0, [PolicyAgent(game, network, [net], "same", 1.0)])
    (returns, cpu), nothing = worker.measure(task((4000, (LEARNER, 1))), weights)
    assert nothing is None
    assert cpu > 0
    assert returns.shape == (4000, 2)
    mirrored = worker.measure(task((4000, (1, LEARNER))), weights)[0][0]
    np.testing.assert_array_equal(returns, mirrored)  # greedy play draws nothing


class Paying(Kuhn):
    """Kuhn poker with a fee, which is paid in all games, or only in those with a bet."""

    fee, always, share = 0.5, True, 0.75

    def returns(self, states: States) -> NDArray[np.float32]:
        won = super().returns(states)
        paying = self.always | (np.abs(won) > 1)
        return np.float32(self.share) * won - np.where(paying, np.float32(self.fee), np.float32(0))


class Faulty(Kuhn):
    """Kuhn poker with returns that are not finite, or too large."""

    factor = np.float32(np.nan)

    def returns(self, states: States) -> NDArray[np.float32]:
        return super().returns(states) * self.factor


class Stubborn(RandomAgent):
    """Plays one action, legal or not."""

    name = "stubborn"

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return np.full(len(states), 7)


def test_returns_of_a_constant_sum_are_shifted_and_others_refused_where_it_matters() -> None:
    game, free = Paying(), Paying()
    object.__setattr__(free, "fee", 0.0)
    network = network_for(game.spec).model_copy(update={"width": 8, "depth": 1})
    weights = TrajectoryWeights(1, network, (fresh(game, network, 1),))
    chunk = task((4, (LEARNER, LEARNER)))
    TrajectoryPlayer(game, 1.0, 1.0).play(chunk, weights)
    shifted, zero = (TrajectoryPlayer(each, 1.0, 1.0, zero_sum=True).measure(chunk, weights) for each in (game, free))
    assert np.array_equal(shifted[0][0], zero[0][0])
    assert shifted[0][0].dtype == np.float32
    object.__setattr__(game, "always", False)
    with pytest.raises(NotZeroSum, match=r"add up to (0 in one game and to -1|-1 in one game and to 0) in another"):
        TrajectoryPlayer(game, 1.0, 1.0, zero_sum=True).play(task((40, (LEARNER, LEARNER))), weights)


def test_samples_do_not_depend_on_the_constant_that_returns_add_up_to() -> None:
    """It would be discounted, a price or a reward of every further decision, and be a part of the stakes."""
    network = network_for(Paying().spec).model_copy(update={"width": 8, "depth": 1})
    weights = TrajectoryWeights(1, network, (fresh(Paying(), network, 1),))
    samples = []
    for fee, always in ((0.0, True), (0.5, True), (0.5, False)):
        game = Paying()
        vars(game).update(fee=fee, always=always)
        samples.append(TrajectoryPlayer(game, 0.5, 0.5).play(task((40, (LEARNER, LEARNER))), weights)[1]["net0"])
    free, paid, unsteady = samples
    for name in ("advantage", "target"):
        np.testing.assert_allclose(paid[name], free[name], atol=1e-6)
    assert np.abs(unsteady["target"] - free["target"]).max() > 0.2  # a sum that varies is a part of the game


def test_the_value_that_is_shown_contains_the_constant_that_is_not_learned() -> None:
    shown = []
    for game in (Kuhn(), Paying()):
        rng, network = np.random.default_rng(1), network_for(game.spec).model_copy(update={"width": 8, "depth": 1})
        net = {name: 0.1 * array for name, array in fresh(game, network, 1).items()}  # values within those of the game
        shown.append(consult(PolicyAgent(game, network, (net,), "net"), game, game.reset(1, rng), [], rng).value)
    assert shown[0] is not None
    assert shown[1] == pytest.approx(shown[0] - 0.5)


@pytest.mark.parametrize("fee", [0.5, -0.5])
def test_a_rival_wins_whose_return_is_above_the_other_s(fee: float) -> None:
    """With the fee no return is above 0, and with a gift in its place none below; targets are halves of rewards, less
    those of the constant."""
    network = network_for(Paying().spec).model_copy(update={"width": 8, "depth": 1})
    nets = (fresh(Paying(), network, 1), fresh(Paying(), network, 2))
    rival = Rival("hunter", 5, nets[1:], True, {1: 1.0})
    worth = []
    for each in (0.0, fee):
        game = Paying()
        vars(game).update(fee=each, share=0.25)
        chunk = task((40, (LEARNER, 1)), (40, (1, LEARNER)))
        played = TrajectoryPlayer(game, 1.0, 1.0).play(chunk, TrajectoryWeights(1, network, nets[:1], (rival,)))
        worth.append(np.asarray(played[1]["hunter"]["target"]))
    won = worth[0] > 0.9
    assert 0 < won.mean() < 1
    np.testing.assert_allclose(worth[1], np.where(won, 1 + fee / 2, worth[0]), atol=1e-5)


@pytest.mark.parametrize(("factor", "told"), [(np.nan, "returned nan"), (3.0, "returned 6, but its max_return is 2")])
def test_returns_that_cannot_be_are_refused(factor: float, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Faulty, "factor", np.float32(factor))
    game = Faulty()
    network = network_for(game.spec).model_copy(update={"width": 8, "depth": 1})
    weights = TrajectoryWeights(1, network, (fresh(game, network, 1),))
    with pytest.raises(BadReturns, match=told):
        TrajectoryPlayer(game, 1.0, 1.0).play(task((40, (LEARNER, LEARNER))), weights)


def test_an_agent_that_breaks_the_rules_is_named() -> None:
    with pytest.raises(BadMove, match="stubborn"):
        TrajectoryPlayer(MINI, 1.0, 1.0, [Stubborn()]).play(task((4, (LEARNER, 1))), WEIGHTS)
