"""Tests of the driver for Deep Monte-Carlo: the age of weights and samples, critics and teachers, refusals."""

from pathlib import Path

import numpy as np
import pytest
import torch

from actors.dmc import DmcPlayer, DmcTask
from actors.listed_play import SelfPlayTask, SelfPlayWeights
from dancfr.agents.by_name import make_agent
from dancfr.errors import UsageError
from dancfr.methods.averaging import average_weights
from dancfr.methods.dmc.config import DmcConfig
from envs.guandan import GuanDan
from learners.dmc.learner import QLearner
from learners.listed.critic import CriticInference, without_critic
from learners.listed.network import QNet, QWithCritic
from learners.storage import load_state
from tests.dancfr.methods import listed_runs
from tests.dancfr.methods.listed_runs import DMC
from tests.dancfr.methods.table_runs import rows, run_preset, stored


def tiny(*overrides: str, preset: str = DMC) -> DmcConfig:
    config = listed_runs.tiny(preset, *overrides)
    assert isinstance(config, DmcConfig)
    return config


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four iterations, inline and without interruption."""
    path = tmp_path_factory.mktemp("runs") / "reference"
    result = run_preset(path, DMC, tiny("iterations=4"))
    assert result["iterations"] == 4
    assert result["samples"] > 4 * 6 * 20
    assert set(result["metrics"]) == {"last/random"}
    return path


def test_actors_play_by_weights_one_fit_behind_and_the_learner_says_so(reference: Path) -> None:
    trained = rows(reference, "train")
    assert [row["iteration"] for row in trained] == [1, 2, 3, 4]
    assert [row["selfplay/age"] for row in trained] == [0, 1, 1, 1]
    assert "loss/value" not in trained[0], "nothing was fitted while the first games were played"
    for row in trained[1:]:
        assert 0 < row["loss/value"] < 4 * GuanDan().spec.max_return ** 2, "values and returns are of one unit"
        assert row["learner/clipped"] < 1, "some rows have a gradient"
        assert 0 < row["learner/q_spread"] < GuanDan().spec.max_return, "the net is not constant"
        assert row["learner/rows"] == 3 * 64
    ages = [row["learner/age"] for row in trained[1:]]
    assert ages[0] == 1, "the first samples came from weights 0 and were fitted in iteration 1"
    assert max(ages) <= 4


def test_evaluated_nets_are_kept(reference: Path) -> None:
    assert list(stored(reference)) == ["p0-000002.safetensors", "p0-000004.safetensors"]
    assert [row["iteration"] for row in rows(reference, "evaluation")] == [2, 4]


def test_the_agent_averages_the_weights_that_played() -> None:
    rng = np.random.default_rng(0)
    nets = [{"w": rng.normal(size=(3, 2)).astype(np.float32)} for _ in range(6)]
    linear = last = nets[0]
    for n, net in enumerate(nets, start=1):
        linear = average_weights(linear, net, n, 1.0)
        last = average_weights(last, net, n, 0.0)
    wanted = np.average([net["w"] for net in nets], axis=0, weights=range(1, 7))
    assert np.allclose(linear["w"], wanted, atol=1e-6)
    assert last is nets[-1]


def test_tributes_are_learnt_where_that_is_wanted(tmp_path: Path) -> None:
    config = tiny("iterations=2", "tribute=learnt", "network.encoding=tribute")
    assert run_preset(tmp_path / "learnt", DMC, config)["iterations"] == 2
    with pytest.raises(UsageError, match=r"set network\.encoding=tribute"):
        tiny("tribute=learnt")


def test_whole_matches_and_the_paper_s_preset_run(tmp_path: Path) -> None:
    config = tiny("iterations=1", "games=2", "chunk=2", "game_options.length=match", preset="guandan-dmc-no-wild")
    result = run_preset(tmp_path / "match", DMC, config)
    assert result["samples"] > 300
    (evaluated,) = rows(tmp_path / "match", "evaluation")
    assert evaluated["games"] == 4


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (["game=geister"], "ragged actions"),
        (["pool=32"], "pool must be at least training.batch"),
        (["network.encoding=planes"], "no flat encoding planes"),
        (["evaluation.opponents=gready"], "greedy"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_starts(overrides: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        tiny(*overrides)


@pytest.mark.parametrize("preset", ["guandan-dmc-quick", "guandan-dmc"])
@pytest.mark.parametrize("settings", [["training.objective=policy"], ["training.objective=policy", "bogus=1"]])
def test_former_objective_is_refused_with_the_preset_that_trains_a_policy(preset: str, settings: list[str]) -> None:
    with pytest.raises(UsageError, match="guandan-quick and guandan-strong train a policy") as refused:
        listed_runs.tiny(preset, *settings)
    assert "\n" not in str(refused.value)


def test_self_play_is_its_seed_and_its_targets_are_the_rounds_returns() -> None:
    config = tiny()
    game = GuanDan(length="match", situation="first")
    weights = SelfPlayWeights(3, QNet(config.network, game.spec).inference_weights())
    player = DmcPlayer(game, config.network, epsilon=0.3)
    stats, block = player.play(SelfPlayTask((5,), games=3, tables=2), weights)
    again, same = DmcPlayer(game, config.network, epsilon=0.3).play(SelfPlayTask((5,), games=3, tables=2), weights)
    assert block["values"].tobytes() == same["values"].tobytes()
    assert stats["samples"] == again["samples"] == len(block["values"])
    values = block["values"]
    assert set(np.unique(np.abs(values["target"]))) <= {0, 1, 2, 3}
    assert (values["version"] == 3).all()
    assert np.abs(values["target"]).max() == 3
    assert stats["rows"] > 2 * stats["samples"], "every sample was a choice"
    player = DmcPlayer(game, config.network, epsilon=0.3, win_bonus=1.5)
    valued = player.play(SelfPlayTask((5,), games=3, tables=2), weights)[1]["values"]
    np.testing.assert_allclose(valued["target"], values["target"] + 1.5 * np.sign(values["target"]))


CRITIC = ("training.critic=all", *listed_runs.CRITIC)


def test_a_run_with_a_critic_is_the_same_after_resuming_and_keeps_it(tmp_path: Path) -> None:
    config = tiny("iterations=3", *CRITIC, "network.tower=1", "network.tower_width=16")
    run_preset(tmp_path / "whole", DMC, config)
    run_preset(tmp_path / "parts", DMC, config.model_copy(update={"iterations": 1}))
    run_preset(tmp_path / "parts", DMC, config, resume=True)
    assert stored(tmp_path / "parts") == stored(tmp_path / "whole")
    assert rows(tmp_path / "parts", "train") == rows(tmp_path / "whole", "train")
    arrays, _ = load_state(tmp_path / "whole" / "strategies" / "p0-000003.safetensors")
    assert {"tower0.w", "critic.0.w"} <= arrays.keys(), "a search needs the critic"


def test_advantages_are_returns_less_what_the_critic_expects() -> None:
    """With lambda = 1, return = advantage + value; with lambda = 0, the last decision alone sees the return."""
    config = tiny(*CRITIC)
    game = GuanDan(length="round")
    net = QWithCritic(config.network, config.training, game.spec, game.full_inputs)
    weights, task = SelfPlayWeights(1, net.inference_weights()), SelfPlayTask((5,), games=6, tables=3)
    blocks = [
        DmcPlayer(game, config.network, 0.3, trace=trace).play(task, weights)[1]["values"] for trace in (1.0, 0.0, None)
    ]
    whole, one_step, plain = blocks
    assert (plain["infostate"] == whole["infostate"]).all()
    np.testing.assert_allclose(whole["value"], plain["target"], atol=1e-5)
    expected = CriticInference(game, weights.net)(whole["infostate"], whole["hidden"])
    np.testing.assert_allclose(whole["target"], plain["target"] - expected, atol=1e-5)
    with torch.no_grad():
        pairs = torch.zeros(len(expected), net.q.state_inputs + net.q.action_inputs)
        by_torch = net(pairs, torch.from_numpy(game.encode_full(whole["infostate"], whole["hidden"])))[:, 1]
    np.testing.assert_allclose(expected, by_torch.numpy(), atol=1e-4)
    ends = np.isclose(one_step["value"], plain["target"], atol=1e-5)
    assert 0 < ends.sum() < len(ends) / 4
    hands = whole["hidden"].reshape(len(whole), 3, 16)[:, :, :14]
    assert (hands.sum(axis=2) > 0).any(axis=1).all(), "another player holds cards at every decision"


def test_the_critic_learns_what_returns_depend_on() -> None:
    """Three seeds leave 52 to 62 % of the variance; a critic that has not learnt leaves all of it."""
    config = tiny(*CRITIC, "training.batch=256", "training.minibatches=320", "training.learning_rate=0.002")
    game = GuanDan(length="round")
    learner = QLearner(game, config.network, config.training, seed=1)
    player = DmcPlayer(game, config.network, 0.05, trace=1.0)
    task = SelfPlayTask((1,), games=200, tables=200)
    block = player.play(task, SelfPlayWeights(0, learner.weights()))[1]["values"]
    rng = np.random.default_rng(0)
    learner.fit((block[rng.integers(len(block), size=256)] for _ in range(320)), 1)
    expected = CriticInference(game, learner.weights())(block["infostate"], block["hidden"])
    returns = block["value"]  # lambda = 1
    assert np.square(returns - expected).mean() < 0.7 * returns.var()


def test_a_teacher_plays_in_the_first_iterations(tmp_path: Path) -> None:
    """By a random net the rounds of a planner are shorter, and its plays are among the candidates."""
    game, config = GuanDan(length="round"), tiny(*CRITIC)
    net = QWithCritic(config.network, config.training, game.spec, game.full_inputs).inference_weights()
    player = DmcPlayer(game, config.network, 0.0, trace=1.0, teacher=make_agent("planner", game))
    lessons, alone = (
        player.play(DmcTask((5,), 40, 40, taught), SelfPlayWeights(1, net))[0] for taught in (True, False)
    )
    planners = DmcPlayer(game, config.network, 0.0, rivals=[(make_agent("planner", game), 1.0)])
    between = planners.play(SelfPlayTask((5,), 40, 40), SelfPlayWeights(1, without_critic(net)))[0]
    assert lessons["decisions"] < 0.9 * alone["decisions"]
    assert lessons["samples"] > 40 * 15
    assert between["samples"] < lessons["samples"], "the seats of a rival give no samples, those of a teacher do"
    taught = tiny("iterations=3", "teacher=planner", "taught=2")
    run_preset(tmp_path / "whole", DMC, taught)
    run_preset(tmp_path / "parts", DMC, taught.model_copy(update={"iterations": 1}))
    run_preset(tmp_path / "parts", DMC, taught, resume=True)
    assert stored(tmp_path / "parts") == stored(tmp_path / "whole")
    for wrong in ("taught=2", "teacher=planner"):
        with pytest.raises(UsageError, match="belong together"):
            tiny(wrong)


class Rememberer:
    """Plays as `planner` does, and checks that a number stays with its table, where hands only lose cards."""

    name = "rememberer"

    def __init__(self, game: GuanDan) -> None:
        self.planner = make_agent("planner", game)

    def begin(self, game: GuanDan, batch: int, rng: np.random.Generator) -> None:
        self.planner.begin(game, batch, rng)
        self.left = np.full((batch, 4), 255, np.uint8)
        self.asked = np.zeros(batch, np.int64)

    def act(self, states: np.ndarray, games: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        assert (states["left"] <= self.left[games]).all(), "a hand has grown: this is another table"
        self.left[games] = states["left"]
        self.asked[games] += 1
        return self.planner.act(states, games, rng)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_a_teacher_knows_its_tables_again(share: float) -> None:
    game, config = GuanDan(length="round"), tiny()
    net = QNet(config.network, game.spec).inference_weights()
    teacher, rivals = Rememberer(game), [(make_agent("greedy", game), share)] if share else []
    player = DmcPlayer(game, config.network, 0.0, teacher=teacher, rivals=rivals)
    player.play(DmcTask((5,), 12, 12, taught=True), SelfPlayWeights(1, net))
    assert (teacher.asked > 5).all(), "every table has asked, those that ended first too"
