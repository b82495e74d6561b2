"""Monte Carlo CFR: unbiased whatever is sampled, against values computed here node by node."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.extensive import CHANCE, OVER
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.tree import Tree, assemble, compile_tree
from learners.cfr import sampling
from learners.cfr.monte_carlo import ALGORITHMS, MonteCarloSolver

Floats = NDArray[np.float64]

Z = 5.0
"""Half width of the intervals in standard errors: that one of 1000 means leaves its own has a chance of 1e-3."""

VARIANTS = {
    "chance-sampled": ("chance-sampled", {}),
    "simultaneous": ("chance-sampled", {"alternating": False}),
    "external-sampling": ("external-sampling", {}),
    "outcome-sampling": ("outcome-sampling", {}),
    "vr-infoset": ("vr-mccfr", {}),
    "vr-history": ("vr-mccfr", {"baseline": "history"}),
}


def random_tree(seed: int, movers: tuple[int, ...]) -> Tree:
    """A game whose actions, chances and payoffs are drawn from `seed`; `movers` says who moves at each depth.

    Each player sees his own actions, of the other's only the parity, and every second outcome of chance. Infosets
    therefore mix histories that differ in chance and in hidden actions.
    """
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, int, int, float, float]] = [(movers[0], -1, -1, 1.0, 0.0)]
    seen: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ())]
    widths, level = [1], [0]
    actions: dict[tuple[int, tuple[int, ...]], int] = {}
    for depth, mover in enumerate(movers):
        following = movers[depth + 1] if depth + 1 < len(movers) else OVER
        below = []
        for node in level:
            if mover == CHANCE:
                count = 3
            else:
                count = actions.setdefault((mover, seen[node][mover]), int(rng.integers(2, 4)))
            chances = rng.dirichlet(np.full(count, 2.0)) if mover == CHANCE else np.ones(count)
            for a in range(count):
                utility = float(rng.normal()) if following == OVER else 0.0
                rows.append((following, node, a, float(chances[a]), utility))
                told = [a + 1 if p == mover else 1 + (a + (p if mover == CHANCE else 0)) % 2 for p in (0, 1)]
                seen.append(((*seen[node][0], told[0]), (*seen[node][1], told[1])))
                below.append(len(rows) - 1)
        widths.append(len(below))
        level = below
    columns = dict(zip(("mover", "parent", "action", "probability", "utility"), np.array(rows).T, strict=True))
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    keys = [
        numbers.setdefault((row[0], own[row[0]]), len(numbers)) if row[0] >= 0 else -1
        for row, own in zip(rows, seen, strict=True)
    ]
    observed = np.zeros((len(rows), 1), np.uint8)
    return assemble("random", 3, widths, columns, np.array(keys), observed, started=time.perf_counter())


TREES: dict[str, Callable[[], Tree]] = {
    "kuhn": lambda: compile_tree(Kuhn()),
    "random": lambda: random_tree(7, (CHANCE, 0, 1, CHANCE, 1, 0)),
}


def random_policy(tree: Tree, seed: int) -> Floats:
    """Random probabilities, `[S]`."""
    weight = np.random.default_rng(seed).exponential(size=tree.num_slots)
    return weight / np.repeat(np.add.reduceat(weight, tree.slots[:-1]), np.diff(tree.slots))


def node_values(tree: Tree, policy: Floats) -> Floats:
    """Expected return of player 0 at each node, `[N]`."""
    slot, value = tree.node_slots(), tree.utility.copy()
    for node in range(tree.num_nodes - 1, 0, -1):
        value[tree.parent[node]] += (policy[slot[node]] if slot[node] >= 0 else tree.probability[node]) * value[node]
    return value


def node_reaches(tree: Tree, policy: Floats) -> Floats:
    """Probability of each node by player 0, player 1 and chance, each alone, `[N, 3]`."""
    slot, reach = tree.node_slots(), np.ones((tree.num_nodes, 3))
    for node in range(1, tree.num_nodes):
        reach[node] = reach[tree.parent[node]]
        if slot[node] >= 0:
            reach[node, tree.mover[tree.parent[node]]] *= policy[slot[node]]
        else:
            reach[node, 2] *= tree.probability[node]
    return reach


def exact_regrets(tree: Tree, policy: Floats) -> Floats:
    """Immediate counterfactual regrets of both players, `[S]`: sum over h of pi_{-i}(h) (v(ha) - v(h))."""
    slot, value, reach = tree.node_slots(), node_values(tree, policy), node_reaches(tree, policy)
    result = np.zeros(tree.num_slots)
    for node in np.flatnonzero(slot >= 0):
        parent = tree.parent[node]
        mover = tree.mover[parent]
        sign = 1 if mover == 0 else -1
        result[slot[node]] += reach[parent, 1 - mover] * reach[parent, 2] * sign * (value[node] - value[parent])
    return result


def exact_averages(tree: Tree, policy: Floats) -> Floats:
    """Sum over h of chance's and the player's reach times the policy, `[S]`."""
    slot, reach = tree.node_slots(), node_reaches(tree, policy)
    result = np.zeros(tree.num_slots)
    for node in np.flatnonzero(slot >= 0):
        parent = tree.parent[node]
        result[slot[node]] += reach[parent, tree.mover[parent]] * reach[parent, 2] * policy[slot[node]]
    return result


def nash_conv(tree: Tree, policy: Floats) -> float:
    """The gain of both players together by answering best."""
    return sum(best_value(tree, policy, player) for player in (0, 1))


def best_value(tree: Tree, policy: Floats, player: int) -> float:
    """Return of `player` who answers best: decides at his infosets from the deepest level up."""
    reach = node_reaches(tree, policy)
    weight = reach[:, 1 - player] * reach[:, 2]
    value = weight * tree.utility * (1 if player == 0 else -1)
    for begin, end in zip(tree.levels[-3::-1], tree.levels[-2:0:-1], strict=True):
        totals: dict[int, Floats] = {}
        for node in range(begin, end):
            below = value[tree.children[node] : tree.children[node + 1]]
            if tree.mover[node] == player:
                infoset = int(tree.infoset[node])
                totals[infoset] = totals.get(infoset, 0.0) + below
            elif tree.mover[node] != OVER:
                value[node] = below.sum()
        for node in range(begin, end):
            if tree.mover[node] == player:
                value[node] = value[tree.children[node] + totals[int(tree.infoset[node])].argmax()]
    return float(value[0])


def frozen_solver(tree: Tree, variant: str, policy: Floats) -> MonteCarloSolver:
    """A solver whose policy stays: its regrets are so large that samples change probabilities by less than 1e-6."""
    algorithm, options = VARIANTS[variant]
    solver = MonteCarloSolver(tree, algorithm, seed=3, **options)
    solver.start_from(policy, 1e9)
    return solver


def samples(solver: MonteCarloSolver, batches: int, size: int) -> tuple[Floats, Floats]:
    """The increments of regrets and averages in an iteration: means of batches of iterations, `[batches, S]`."""
    regrets, averages = np.zeros((2, batches, solver.tree.num_slots))
    start = solver.regrets.copy()
    for i in range(batches):
        solver.regrets[:], solver.averages[:] = start, 0.0
        solver.run(size)
        regrets[i], averages[i] = (solver.regrets - start) / size, solver.averages / size
    return regrets, averages


def deviations(means: Floats, exact: Floats) -> Floats:
    """Distance of the samples' mean from the expected value, in standard errors, `[S]`."""
    error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    return np.abs(means.mean(axis=0) - exact) / np.maximum(error, 1e-6)


@pytest.mark.parametrize("game", TREES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_sampled_regrets_and_averages_are_unbiased(game: str, variant: str) -> None:
    tree = TREES[game]()
    policy, other = random_policy(tree, 1), random_policy(tree, 2)
    regrets, averages = samples(frozen_solver(tree, variant, policy), 200, 500)
    assert deviations(regrets, exact_regrets(tree, policy)).max() < Z
    assert deviations(averages, exact_averages(tree, policy)).max() < Z
    # the intervals are narrow enough to tell another policy
    assert deviations(regrets, exact_regrets(tree, other)).max() > 4 * Z
    assert deviations(averages, exact_averages(tree, other)).max() > 4 * Z


@pytest.mark.parametrize("variant", ["vr-infoset", "vr-history"])
def test_bad_baselines_bias_nothing(variant: str) -> None:
    tree = TREES["random"]()
    policy = random_policy(tree, 1)
    solver = frozen_solver(tree, variant, policy)
    solver.options = solver.options._replace(decay=0.0)
    solver.baselines[:] = np.random.default_rng(8).normal(size=len(solver.baselines)) * 3
    regrets, _ = samples(solver, 200, 500)
    assert deviations(regrets, exact_regrets(tree, policy)).max() < Z
    assert deviations(regrets, np.zeros(tree.num_slots)).max() > 4 * Z


def test_exact_baselines_by_history_leave_no_variance_in_values() -> None:
    tree = TREES["random"]()
    policy = random_policy(tree, 1)
    exact, solver, rng = node_values(tree, policy), frozen_solver(tree, "vr-history", policy), np.random.default_rng(0)
    tables, options = solver.tables._replace(baselines=exact), solver.options._replace(decay=0.0)
    values = [sampling.traverse_outcome_sampling(tables, rng, options, 0, (0.0, 0.0))[0] for _ in range(50)]
    assert values == pytest.approx([exact[0]] * 50, abs=1e-9)


def test_learned_baselines_lower_the_variance() -> None:
    tree = compile_tree(Leduc())
    policy = random_policy(tree, 1)
    variance = {}
    for variant in ("outcome-sampling", "vr-infoset", "vr-history"):
        solver = frozen_solver(tree, variant, policy)
        solver.run(200_000)  # for the baselines
        variance[variant] = samples(solver, 200, 500)[0].var(axis=0).sum()
    # 0.55 and 0.23 were seen: an infoset mixes histories of different values, and no baseline of its own can tell them
    assert variance["vr-infoset"] < 0.7 * variance["outcome-sampling"]
    assert variance["vr-history"] < 0.35 * variance["outcome-sampling"]


@pytest.mark.parametrize(
    ("variant", "options", "iterations"),
    [
        ("chance-sampled", {}, 20_000),
        ("chance-sampled", {"floor": True, "linear": True}, 20_000),
        ("simultaneous", {}, 20_000),
        ("external-sampling", {}, 50_000),
        ("external-sampling", {"linear": True}, 50_000),
        ("outcome-sampling", {}, 200_000),
        ("vr-infoset", {}, 200_000),
        ("vr-infoset", {"floor": True, "linear": True}, 200_000),
        ("vr-history", {"floor": True}, 200_000),
    ],
)
def test_kuhn_is_solved(variant: str, options: dict, iterations: int) -> None:
    tree = TREES["kuhn"]()
    algorithm, others = VARIANTS[variant]
    for seed in range(3):
        solver = MonteCarloSolver(tree, algorithm, seed=seed, **others, **options)
        solver.run(iterations)
        assert nash_conv(tree, solver.average_policy()) < 0.03  # uniform: 0.917


def test_nash_conv_of_uniform_kuhn() -> None:
    assert nash_conv(TREES["kuhn"](), TREES["kuhn"]().uniform()) == pytest.approx(2 * 0.458333, abs=1e-6)


def plain_cfr(tree: Tree, iterations: int, alternating: bool, floor: bool, linear: bool) -> tuple[Floats, Floats]:
    """Regrets and averages of CFR over the whole tree, `[S]` each."""
    slot_player = tree.player[tree.slot_infoset]
    regrets, averages = np.zeros((2, tree.num_slots))
    for t in range(1, iterations + 1):
        for players in ([0], [1]) if alternating else ([0, 1],):
            mine = np.isin(slot_player, players)
            positive = np.maximum(regrets, 0)
            total = np.repeat(np.add.reduceat(positive, tree.slots[:-1]), np.diff(tree.slots))
            policy = np.where(total > 0, positive / np.where(total > 0, total, 1), tree.uniform())
            immediate = exact_regrets(tree, policy) * (t if linear and not floor else 1)
            regrets = np.where(mine, regrets + immediate, regrets)
            regrets = np.maximum(regrets, 0) if floor else regrets
            averages += np.where(mine, exact_averages(tree, policy) * (t if linear else 1), 0)
    return regrets, averages


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize(("floor", "linear"), [(False, False), (True, True), (False, True)])
def test_without_chance_chance_sampling_is_cfr(alternating: bool, floor: bool, linear: bool) -> None:
    tree = random_tree(11, (0, 1, 1, 0))
    assert not (tree.mover == CHANCE).any()
    solver = MonteCarloSolver(tree, "chance-sampled", seed=0, alternating=alternating, floor=floor, linear=linear)
    solver.run(25)
    regrets, averages = plain_cfr(tree, 25, alternating, floor, linear)
    assert solver.regrets == pytest.approx(regrets, abs=1e-11)
    assert solver.averages == pytest.approx(averages, abs=1e-11)
    assert nash_conv(tree, solver.average_policy()) < 0.5 * nash_conv(tree, tree.uniform())


@pytest.mark.parametrize("variant", VARIANTS)
def test_same_seed_same_result_in_any_pieces(variant: str) -> None:
    tree = TREES["random"]()
    algorithm, options = VARIANTS[variant]

    def make(seed: int) -> MonteCarloSolver:
        return MonteCarloSolver(tree, algorithm, seed=seed, floor=True, linear=True, **options)

    whole, pieces = make(1), make(1)
    whole.run(20)
    pieces.run(10)
    pieces.run(10)
    assert pieces.iteration == whole.iteration == 20
    assert pieces.nodes == whole.nodes > 0
    for name in ("regrets", "averages", "baselines"):
        assert getattr(pieces, name).tobytes() == getattr(whole, name).tobytes(), name
    different = make(2)
    different.run(20)
    assert (different.averages != whole.averages).any()


def test_long_runs_are_cut_unseen() -> None:
    tree = TREES["kuhn"]()
    whole, pieces = (MonteCarloSolver(tree, "external-sampling", seed=4) for _ in range(2))
    whole.run(5_000)
    for _ in range(5):
        pieces.run(1_000)
    assert whole.averages.tobytes() == pieces.averages.tobytes()


def test_nodes_are_counted() -> None:
    tree = TREES["kuhn"]()
    counts = {}
    for algorithm in ALGORITHMS:
        solver = MonteCarloSolver(tree, algorithm, seed=0)
        solver.run(1)
        counts[algorithm] = solver.nodes
    assert counts["chance-sampled"] == 2 * (2 + 9)  # two deals, then the 9 nodes of the bidding, for each player
    assert 2 * 6 <= counts["external-sampling"] <= 2 * 9
    assert 2 * 5 <= counts["outcome-sampling"] <= 2 * 6


def test_policies_before_and_after_a_warm_start() -> None:
    tree = TREES["random"]()
    policy = random_policy(tree, 5)
    solver = MonteCarloSolver(tree, "external-sampling", seed=0, linear=True)
    assert (solver.average_policy() == tree.uniform()).all()
    assert (solver.current_policy() == tree.uniform()).all()
    solver.start_from(policy, 10)
    assert solver.current_policy() == pytest.approx(policy, abs=1e-12)
    assert solver.average_policy() == pytest.approx(policy, abs=1e-12)
    assert solver.averages == pytest.approx(55 * exact_averages(tree, policy))
    assert solver.iteration == 10
    solver.run(20_000)
    assert nash_conv(tree, solver.average_policy()) < 0.2 * nash_conv(tree, policy)


def test_a_warm_start_leaves_nothing_of_what_was_learned() -> None:
    """In Kuhn poker chance leads to every infoset with probability 1/3, and the largest return is 2."""
    tree = TREES["kuhn"]()
    policy = random_policy(tree, 6)
    solver = MonteCarloSolver(tree, "vr-mccfr", seed=0)
    solver.run(100)
    assert solver.baselines.any()
    solver.start_from(policy, 10)
    assert not solver.baselines.any()
    np.testing.assert_allclose(solver.regrets, 10 * 2 / 3 * policy)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "mccfr"}, "algorithm must be one of chance-sampled, external-sampling, .*'mccfr'"),
        ({"baseline": "node"}, "baseline must be one of infoset, history, .*'node'"),
        ({"epsilon": 0.0}, "epsilon .*0.0"),
        ({"epsilon": 1.5}, "epsilon .*1.5"),
        ({"decay": float("nan")}, "decay .*nan"),
        ({"seed": -1}, "seed .*-1"),
        ({"alternating": False}, "alternating .* vr-mccfr"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MonteCarloSolver(TREES["kuhn"](), **{"algorithm": "vr-mccfr", "seed": 0, **options})


def test_bad_starts() -> None:
    tree = TREES["kuhn"]()
    solver = MonteCarloSolver(tree, "vr-mccfr", seed=0)
    with pytest.raises(ValueError, match=r"iterations .*-1"):
        solver.run(-1)
    with pytest.raises(ValueError, match=r"policy .*float64\[24\].*float64\[3\]"):
        solver.start_from(np.ones(3), 1.0)
    with pytest.raises(ValueError, match="infoset 0"):
        solver.start_from(np.ones(tree.num_slots), 1.0)
    with pytest.raises(ValueError, match="infoset 0"):
        solver.start_from(np.full(tree.num_slots, np.nan), 1.0)
    with pytest.raises(ValueError, match=r"weight .*0"):
        solver.start_from(tree.uniform(), 0)
