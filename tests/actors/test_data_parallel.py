"""Two learner processes train the net that one would, and neither waits for ever for one that is gone."""

import os
import signal
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from actors.buffer import BufferServer
from actors.candidate_policy import CandidatePolicyPlayer
from actors.data_parallel import DataParallelServer, LearnerGroup, start_learner
from actors.dream.traversal import DreamTraverser, TraversalTask, TraversalWeights
from actors.learning import LearnerServer
from actors.listed_play import SelfPlayTask, SelfPlayWeights
from actors.remote import InlineRuntime, RayRuntime, WorkerDied
from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import LEARNER, TrajectoryTask, TrajectoryWeights
from envs.goofspiel import Goofspiel
from learners.buffers import CircularBuffer
from learners.candidate_policy.learner import CandidatePolicyLearner
from learners.candidate_policy.settings import CandidatePolicyTrainingSettings
from learners.deep_cfr.advantage import AdvantageLearner
from learners.dmc.learner import QLearner
from learners.dmc.settings import DmcTrainingSettings
from learners.dream.baseline import BaselineLearner
from learners.dream.settings import SamplingSettings
from learners.listed.settings import QNetworkSettings
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.learner import PolicyLearner
from learners.policy_gradient.settings import PolicyTrainingSettings
from learners.settings import TrainingSettings
from learners.storage import load_state
from learners.value_functions.learner import RangeValueLearner
from learners.value_functions.limit import Limit
from learners.value_functions.parts import split_game
from learners.value_functions.samples import random_plans, solve_samples
from learners.value_functions.settings import ValueNetSettings, ValueSolving
from tests.games import kuhn
from tests.learners.candidate_policy.test_learner import GAME as OPEN
from tests.ragged_game import HeapGame, choose_uniformly, play

GAME, HEAP = kuhn(), HeapGame()
LIMIT = Limit.parse("actions:2")
NET = NetworkSettings(trunk="flat", width=32, depth=2, norm="layer", outputs="action")
BATCH_NORM = NET.model_copy(update={"norm": "batch"})
Q_NET = QNetworkSettings(width=32, depth=2)


def fitting(**changes: Any) -> TrainingSettings:
    return TrainingSettings.model_validate({"batch": 101, "minibatches": 20, "weight_average": 2.0} | changes)


def advantage(training: TrainingSettings, network: NetworkSettings = NET, **more: Any) -> dict[str, Any]:
    return {"learner": AdvantageLearner, "game": GAME, "network": network, "training": training, "seed": 1} | more


def baseline(training: TrainingSettings, network: NetworkSettings) -> dict[str, Any]:
    return {"learner": BaselineLearner, "game": GAME, "network": network, "training": training, "seed": 2}


def q_values(**changes: Any) -> dict[str, Any]:
    training = DmcTrainingSettings.model_validate({"batch": 2500, "minibatches": 1, "learning_rate": 1e-4} | changes)
    return {"learner": QLearner, "game": HEAP, "network": Q_NET, "training": training, "seed": 3}


def policy(**changes: Any) -> dict[str, Any]:
    training = PolicyTrainingSettings.model_validate({"batch": 1013, "epochs": 1, "normalise": True} | changes)
    return {"learner": PolicyLearner, "game": GAME, "network": NET, "training": training, "seed": 4}


def candidates(**changes: Any) -> dict[str, Any]:
    given = {"batch": 1013, "minibatches": 1, "optimiser": "adam", "proposals": 3, "critic_width": 16} | changes
    training = CandidatePolicyTrainingSettings.model_validate(given)
    return {"learner": CandidatePolicyLearner, "game": OPEN, "network": Q_NET, "training": training, "seed": 5}


def range_values(**changes: Any) -> dict[str, Any]:
    more = {"limit": LIMIT, "network": ValueNetSettings(width=32, depth=2), "loss": "l1"}
    return advantage(fitting(**changes), learner=RangeValueLearner, game=Goofspiel(3), **more)


CASES: dict[str, dict[str, Any]] = {
    "one step": advantage(fitting(minibatches=1), importance="full"),
    "one step of batch norm": baseline(fitting(minibatches=1), BATCH_NORM),
    "one step of Q": q_values(),
    "one step of a policy": policy(),
    "one step over candidates": candidates(),
    "one step of range values": range_values(minibatches=1, batch=45),
    "one step of merged samples": advantage(fitting(minibatches=1, batch=8), merge=True),
    "a fit": advantage(fitting(), importance="clipped"),
    "a fit with fresh nets": advantage(fitting(warm_start=False, anneal=True)),
    "an epoch with a short end": advantage(fitting(minibatches=None), BATCH_NORM),
    "a fit with batch norm": baseline(fitting(), BATCH_NORM),
    "a fit of merged samples": advantage(fitting(batch=1024), merge=True),
    "a fit of a policy": policy(batch=101),
    "a fit over candidates": candidates(batch=101, minibatches=10),
    "a fit of range values": range_values(batch=10, minibatches=None),
    "a fit of Q": q_values(batch=500, minibatches=8, optimiser="adam"),
}
PLAYERS = dict(enumerate(CASES.values()))
LONG = {0: advantage(fitting(minibatches=10**6))}


def make(learner: Any, **arguments: Any) -> Any:
    """Learners of several kinds in one server: the tests need few processes so."""
    return learner(**arguments)


@cache
def samples() -> dict[str, np.ndarray]:
    """Of Kuhn poker, with a length that no batch divides, and of the heap game."""
    worker = DreamTraverser(GAME, NET, NET, SamplingSettings(epsilon=0.5))
    _, block = worker.traverse(TraversalTask((1, 1, 0), 3, 0, 1500), TraversalWeights(0, (None, None), None))
    rows = {part: block[part][:1013] for part in ("advantages", "transitions")}
    assert [len(each) for each in rows.values()] == [1013, 1013]
    rng = np.random.default_rng(5)
    rows["values"] = play(HEAP, 1000, choose_uniformly(rng), 0, rng)
    weights = make(**PLAYERS[list(CASES).index("one step of a policy")]).weights()
    task = TrajectoryTask((1,), ((700, (LEARNER, LEARNER)),))
    rows["trajectories"] = TrajectoryPlayer(GAME, 1.0, 1.0).play(task, TrajectoryWeights(1, NET, (weights,)))[1]["net0"]
    weights = make(**PLAYERS[list(CASES).index("one step over candidates")]).weights()
    player = CandidatePolicyPlayer(OPEN, Q_NET, 3, 1.0)
    rows["choices"] = player.play(SelfPlayTask((5,), 800, 800), SelfPlayWeights(1, weights))[1]["values"]
    split, solving = split_game(Goofspiel(3), LIMIT), ValueSolving(iterations=20, asked_iterations=4, starts=2)
    rows["ranges"] = solve_samples(split, random_plans(split, 15, solving, rng), solving, rng)[0]
    for part, least in {"trajectories": 1013, "choices": 1013, "ranges": 45}.items():
        assert len(rows[part]) >= least
        rows[part] = rows[part][:least]
    return rows


Fitted = tuple[LearnerGroup, dict[tuple[int, str], tuple[Any, Any]], Path]

PART = {
    AdvantageLearner: "advantages",
    BaselineLearner: "transitions",
    QLearner: "values",
    PolicyLearner: "trajectories",
    CandidatePolicyLearner: "choices",
    RangeValueLearner: "ranges",
}


def buffers(runtime: Any, rows: dict[str, np.ndarray]) -> dict[str, Any]:
    """A buffer of each kind of samples. On Ray each is a process, so tests ask for those that they need."""
    made = {}
    for part, block in rows.items():
        made[part] = runtime.start(BufferServer, CircularBuffer, 5000, block.dtype, cpus=0, name=part)
        runtime.get(made[part].call(BufferServer.add, (0,), block, (0,)))
    return made


def advantage_rows(runtime: RayRuntime) -> Any:
    """The only buffer that a fit of `LONG` needs."""
    return buffers(runtime, {"advantages": samples()["advantages"]})["advantages"]


def group_of(runtime: RayRuntime, players: dict[int, Any], **more: Any) -> LearnerGroup:
    group = start_learner(runtime, make, players, "cpu", name="learner", learners=2, cpus=0, **more)
    assert isinstance(group, LearnerGroup)
    runtime.get(group.ready())
    return group


@pytest.fixture(scope="module")
def fitted(ray_module: RayRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fitted]:
    """Two fits of every case, by two ranks and by one learner: metrics of both, and where they have saved."""
    folder, rows = tmp_path_factory.mktemp("learners"), samples()
    group, one = group_of(ray_module, PLAYERS), LearnerServer(make, PLAYERS, "cpu")
    theirs, ours = buffers(ray_module, rows), buffers(InlineRuntime(), rows)
    metrics: dict[tuple[int, str], tuple[Any, Any]] = {}
    for t in (1, 2):
        for player, (case, arguments) in enumerate(CASES.items()):
            part = PART[arguments["learner"]]
            joint, weights = ray_module.get(list(group.call_pair(LearnerServer.fit, player, t, theirs[part], (7, t))))
            single, expected = one.fit(player, t, ours[part], (7, t))
            metrics[t, case] = joint, single
            assert {name: array.shape for name, array in weights.items()} == {n: a.shape for n, a in expected.items()}
        ray_module.get(
            [rank.call(LearnerServer.save, str(folder / f"rank-{n}-{t}")) for n, rank in enumerate(group.ranks)]
        )
        one.save(str(folder / f"one-{t}"))
    yield group, metrics, folder
    for handle in [*group.ranks, *theirs.values()]:
        ray_module.stop(handle)


def of_case(path: Path, case: str) -> dict[str, np.ndarray]:
    prefix = f"{list(CASES).index(case)}."
    return {name.removeprefix(prefix): a for name, a in load_state(path)[0].items() if name.startswith(prefix)}


def difference(
    two: dict[str, np.ndarray], one: dict[str, np.ndarray], prefix: str, leave: tuple[str, ...] = ()
) -> float:
    """Largest difference of the arrays with this prefix, each in units of its largest entry."""
    assert two.keys() == one.keys()
    names = [name for name in one if name.startswith(prefix) and not name.endswith(leave or "\n")]
    assert names
    return max(float(np.abs(two[name] - one[name]).max() / max(np.abs(one[name]).max(), 1e-30)) for name in names)


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("one step")])
def test_one_step_of_two_ranks_has_the_gradient_of_one_learner(fitted: Fitted, case: str) -> None:
    """After the first step the optimiser's moments are the gradient and its square, times constants. The largest
    difference measured was 6.7e-6 of the largest entry: some roundings of float32 (1.2e-7 each). The bias before a
    batch normalisation has no gradient but rounding, and no more has one that is added to all logits of a list."""
    _, metrics, folder = fitted
    two, one = of_case(folder / "rank-0-1", case), of_case(folder / "one-1", case)
    free = {"one step of batch norm": "3", "one step over candidates": "5"}.get(case, "none")
    free = (f"optimiser.{free}.exp_avg", f"optimiser.{free}.exp_avg_sq")
    assert difference(two, one, "optimiser.", free) < 1e-5
    joint, single = metrics[1, case]
    assert joint["loss"] == pytest.approx(single["loss"], rel=1e-6)
    assert joint["rows"] == single["rows"]


@pytest.mark.parametrize("case", [case for case in CASES if "norm" not in case and "short" not in case])
def test_two_ranks_train_the_net_of_one_learner(fitted: Fitted, case: str) -> None:
    """After two fits nets and averages differed by at most 2.5e-7 of their largest entry. The second fit changes them
    by more than a hundred times the bound."""
    _, metrics, folder = fitted
    two, one = of_case(folder / "rank-0-2", case), of_case(folder / "one-2", case)
    free = ("q.out.bias",) if "candidates" in case else ()
    assert difference(two, one, "net.", free) < 2e-6
    if any(name.startswith("average.") for name in one):
        assert difference(two, one, "average.module.") < 2e-6
    assert difference(of_case(folder / "one-1", case), one, "net.", free) > (2e-3 if "Q" not in case else 2e-4)
    for t in (1, 2):
        joint, single = metrics[t, case]
        same = [key for key in single if key not in ("seconds", "waited", "cpu", "rows_per_second")]
        assert [joint[key] for key in same] == pytest.approx([single[key] for key in same], rel=1e-5, abs=1e-7)


def test_batch_normalisation_sees_whole_minibatches(fitted: Fitted) -> None:
    """Epochs whose last minibatch of 3 rows gives one rank a single row. The normalisation removes a constant added to
    all rows, so the bias before it (and with it the mean) has no gradient but rounding, and may differ. A fit whose
    targets are values of the net itself lets rounding grow; its loss differed by 6e-4."""
    _, metrics, folder = fitted
    free = ("hidden.1.bias", "running_mean")
    case = "an epoch with a short end"
    two, one = of_case(folder / "rank-0-2", case), of_case(folder / "one-2", case)
    assert difference(two, one, "net.", free) < 2e-5
    assert difference(of_case(folder / "one-1", case), one, "net.", free) > 2e-2
    for t in (1, 2):
        for name, bound in ((case, 1e-5), ("a fit with batch norm", 5e-3)):
            joint, single = metrics[t, name]
            assert joint["loss"] == pytest.approx(single["loss"], rel=bound)
            assert joint["rows"] == single["rows"]


@pytest.mark.parametrize("case", CASES)
def test_ranks_hold_the_same_net_to_the_bit(fitted: Fitted, case: str) -> None:
    _, _, folder = fitted
    first, second = (of_case(folder / f"rank-{rank}-2", case) for rank in (0, 1))
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_a_saved_group_goes_on_to_the_bit_and_so_does_one_learner(fitted: Fitted, ray_module: RayRuntime) -> None:
    group, _, folder = fitted
    before = ray_module.get(group.call(LearnerServer.weights, 4))
    ray_module.get(group.call(LearnerServer.load, str(folder / "rank-1-1")))
    ray_module.get([rank.call(LearnerServer.save, str(folder / f"loaded-{n}")) for n, rank in enumerate(group.ranks)])
    saved = load_state(folder / "rank-0-1")[0]
    for rank in (0, 1):
        loaded = load_state(folder / f"loaded-{rank}")[0]
        assert all(np.array_equal(loaded[name], saved[name]) for name in saved)
    assert any(
        not np.array_equal(before[name], a) for name, a in ray_module.get(group.call(LearnerServer.weights, 4)).items()
    )
    one = LearnerServer(make, PLAYERS, "cpu")
    one.load(str(folder / "rank-0-2"))
    assert all(np.array_equal(one.weights(4)[name], before[name]) for name in before)
    ray_module.get(group.call(LearnerServer.load, str(folder / "rank-0-2")))


def test_ranks_listen_on_loopback_alone(fitted: Fitted, ray_module: RayRuntime) -> None:
    ranks = processes_of(ray_module, fitted[0])
    listening = [c.laddr.ip for rank in ranks for c in rank.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert listening
    assert set(listening) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def processes_of(runtime: RayRuntime, group: LearnerGroup) -> list[psutil.Process]:
    return [psutil.Process(pid) for pid in runtime.get([rank.call(DataParallelServer.process) for rank in group.ranks])]


@pytest.fixture
def long_fit(ray_runtime: RayRuntime) -> tuple[LearnerGroup, Any, list[psutil.Process]]:
    """A group at a fit that would take an hour, its result, and the processes of its ranks."""
    group = group_of(ray_runtime, LONG, timeout_s=6.0)
    ranks = processes_of(ray_runtime, group)
    metrics, _ = group.call_pair(LearnerServer.fit, 0, 1, advantage_rows(ray_runtime), (7, 1))
    time.sleep(1.0)
    return group, metrics, ranks


@pytest.mark.parametrize(
    ("rank", "harm", "seconds"),
    [(1, signal.SIGKILL, 5), (1, signal.SIGSTOP, 12), (0, signal.SIGSTOP, 20)],
    ids=["rank 1 killed", "rank 1 stopped", "rank 0 stopped"],
)
def test_a_rank_that_is_gone_ends_the_fit_of_all(long_fit, ray_runtime: RayRuntime, rank, harm, seconds) -> None:
    """Within the time limit, here 6 s, where it hangs, and 5 s more where it is the one that would tell the driver."""
    group, metrics, ranks = long_fit
    assert ray_runtime.wait([metrics], timeout=0.5) == []
    started = time.monotonic()
    os.kill(ranks[rank].pid, harm)
    with pytest.raises(WorkerDied, match=r"rank 0 of 2 has lost the others|died"):
        ray_runtime.get(metrics, timeout=60)
    assert time.monotonic() - started < seconds + 10  # of which 10 are for a loaded machine
    with pytest.raises(WorkerDied):  # and it stays so: actors must be made again
        ray_runtime.get(group.call_pair(LearnerServer.fit, 0, 2, None, (7, 2))[0], timeout=30)


def test_a_rank_that_fails_tells_the_others_why(ray_runtime: RayRuntime) -> None:
    group = group_of(ray_runtime, LONG)
    theirs = advantage_rows(ray_runtime)
    group.ranks[1].call(DataParallelServer.assist, group.ranks[0], 5, 1, theirs, (7, 1))  # there is no player 5
    metrics, _ = group.ranks[0].call_pair(LearnerServer.fit, 0, 1, theirs, (7, 1))
    with pytest.raises(WorkerDied, match="rank 1 left: KeyError: 5"):
        ray_runtime.get(metrics, timeout=30)


def test_inline_there_is_one_learner_whatever_is_asked_for() -> None:
    runtime = InlineRuntime()
    learner = start_learner(runtime, make, LONG, "cpu", name="learner", learners=2)
    assert not isinstance(learner, LearnerGroup)
    assert (
        runtime.get(learner.call(LearnerServer.weights, 0)).keys() == LearnerServer(make, LONG, "cpu").weights(0).keys()
    )
