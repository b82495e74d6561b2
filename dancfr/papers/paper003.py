"""Paper 003, Table 2, Fig. 2 and exploitability: DL-CFR+ with value nets on goofspiel, oshi-zumo and Leduc hold'em."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import RunError, warn
from dancfr.evaluation.statistics import summarise
from dancfr.games.limits import LIMITS
from dancfr.methods import find_preset
from dancfr.methods.value_functions.config import ValueFunctionConfig
from dancfr.methods.value_functions.solving import cut_game
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, count_runs, row
from dancfr.report.history import History, Settings
from dancfr.report.plots import Plot, finish, frame, grid, number, plain_ticks, png_of
from dancfr.runs.run import Run
from envs.tree import Tree
from learners.cfr.sequence_form import sequence_form
from learners.cfr.vector_solver import VectorSolver
from learners.value_functions.exploitability import TrunkEvaluator
from learners.value_functions.limit import border
from learners.value_functions.parts import Pair, Split
from learners.value_functions.settings import LOSSES
from learners.value_functions.solver import DepthLimitedSolver, SolvedValues, ValueFunction, ZeroValues
from learners.value_functions.trunks import plans_of

GAMES = ("goofspiel5", "oshi_zumo8_k1", "oshi_zumo8_k3", "leduc_2b2r")
NETS: Mapping[str, tuple[int, int]] = {
    "goofspiel5": (5, 500),
    "oshi_zumo8_k1": (4, 400),
    "oshi_zumo8_k3": (4, 400),
    "leduc_2b2r": (6, 200),
}
"""Numbers of hidden layers and units of the paper's nets."""
STRATEGIES: Mapping[str, int] = {"leduc_2b2r": 812}
"""Numbers of random strategies of its data sets; 2,000 if the paper gives none."""
PUBLIC_STATES: Mapping[str, int] = {"goofspiel5": 9, "oshi_zumo8_k1": 17, "oshi_zumo8_k3": 27, "leduc_2b2r": 87}

FIXED = (
    *("game", "game_options", "limit", "data", "data_seed", "held", "chunk", "solving"),
    *("evaluation.opponents", "minutes"),
)
FOLDER = "dlcfr"
UNIT = "Exploitability is a fraction of the largest return."
PLAIN = ("training.weight_average=0", "network.zero_sum=false")
"""The paper mentions neither averaged weights nor a correction of values to zero sum, which our presets have."""
QUICK_NET = "a smaller net, its weights averaged and its values corrected to zero sum, unlike the paper's"
ASKED = "not in the paper: trained on the ranges that the solver queries, too (asked=128 strategies an iteration)"
LINF = "linf: mean over samples of the largest error of a sample; the paper does not define its own"
ERRORS = (*LOSSES, "largest")
"""Errors on held-out samples, see `learners.value_functions.learner`."""
RANDOM, QUERIED = "DL-CFR+", "DL-CFR+ trained on queried ranges"
"""Nets of the exploitability: trained on random ranges, as in the paper, or on those that the solver queries."""
FEWEST = 4
"""Minimum number of checkpoints of a run for a correlation."""
MOST = 1 - 1e-9
"""Largest correlation of which Fisher's z is taken, since that of 1 is infinite."""

ITERATIONS: dict[str, tuple[int, int]] = {"quick": (200, 200), "paper": (1000, 1000)}
"""Iterations of the trunk, and of the bottom in each of them, for solvers with exact values."""

TABLE_2: Mapping[str, Mapping[str, float]] = {
    "goofspiel5": {"infosets": 5000, "histories": 56_000, "private actions": 1, "early terminals": 0, "constant": 0},
    "oshi_zumo8_k1": {"private actions": 1, "early terminals": 1, "constant": 0},
    "oshi_zumo8_k3": {"infosets": 1600, "histories": 20_000, "private actions": 1, "early terminals": 1, "constant": 0},
    "leduc_2b2r": {"infosets": 4000, "histories": 61_000, "private actions": 0, "early terminals": 1, "constant": 1},
}
"""Table 2 of the paper. Its sizes of oshi-zumo belong to the board of 7 cells, its public states to that of 3 cells."""


def by_game(make: Callable[[str], dict[str, Scale]]) -> dict[str, Any]:
    """Returns the arguments `scales` and `games` of an `Experiment` on the four games."""
    games = {game: make(game) for game in GAMES}
    return {"scales": games[GAMES[0]], "games": games}


def compare_games(settings: Settings, scale: Scale) -> Comparison:
    """Compares Table 2, for the chosen game or for all games."""
    rows: list[Row] = []
    for game in (scale.game,) if scale.game else GAMES:
        split = cut_game(game, {}, LIMITS[game])
        found = facts_of(split)
        for what, value in found.items():
            note = "1 yes, 0 no" if what in ("private actions", "early terminals", "constant") else ""
            cell = f"{game}/{'constant size of infosets' if what == 'constant' else what}"
            rows.append(row(cell, TABLE_2[game].get(what), float(value), None, note))
    return Comparison(rows, [], unit="Counts, of infosets those of one player.")


def facts_of(split: Split) -> dict[str, int]:
    """Returns the facts of Table 2 about a game, and the sizes of its encoding."""
    tree, encoding = split.tree, split.encoding
    sizes = [np.bincount(own) for own in _histories(split)]
    return {
        "infosets": max(tree.num_infosets),
        "histories": tree.num_nodes,
        "public states at the limit": encoding.num_public,
        "places of a range": max(encoding.widths),
        "private actions": int(_hidden_actions(tree)),
        "early terminals": int(split.trunk.payoff.nnz > 0),
        "constant": int(all(len(np.unique(size)) == 1 for size in sizes)),
    }


def _histories(split: Split) -> list[NDArray[np.int64]]:
    """Returns each player's history at the nodes of the depth limit."""
    nodes = border(split.tree, split.limit)
    assert split.tree.history is not None
    return [np.unique(split.tree.history[nodes, p], return_inverse=True)[1].astype(np.int64) for p in (0, 1)]


def _hidden_actions(tree: Tree) -> bool:
    """Returns whether a player has hidden actions: two actions that lead to the same history of the other player."""
    assert tree.history is not None
    nodes = np.flatnonzero(tree.mover[tree.parent[1:]] >= 0) + 1
    seen = tree.history[nodes, 1 - tree.mover[tree.parent[nodes]]]
    pairs = np.unique(np.stack([seen, tree.action[nodes]], axis=1), axis=0)
    return len(pairs) > len(np.unique(seen))


def paper_net(game: str) -> tuple[str, ...]:
    """Returns the settings of the paper's net, which is neither averaged nor corrected."""
    depth, width = NETS[game]
    return f"network.depth={depth}", f"network.width={width}", *PLAIN


def _exploitability_scales(game: str) -> dict[str, Scale]:
    preset, count = f"{game}-values", f"strategies={STRATEGIES.get(game, 2000)}"
    common = ("asked=0", count)
    quick = [Setting(RANDOM, preset, (*common, "evaluation.every=5"), f"{game}-random-net")]
    config = find_preset(preset).config_as(ValueFunctionConfig)
    if config.asked:
        quick.append(Setting(QUERIED, preset, ("evaluation.every=5",), f"{game}-net"))
    paper = (*paper_net(game), *common, "iterations=100", "evaluation.every=10")
    return {
        "quick": Scale(tuple(quick), (1,), fixed=(*FIXED, "asked"), game=game, note=QUICK_NET),
        "paper": Scale(
            (Setting(RANDOM, preset, paper, f"{game}-net"),), (1, 2, 3), fixed=(*FIXED, "asked"), game=game, games=1000
        ),
    }


def compare_solvers(settings: Settings, scale: Scale) -> Comparison:
    """Compares the normalised exploitability of the trunk strategies of all solvers."""
    split = cut_game(scale.game, {}, LIMITS[scale.game])
    trunk, bottom = ITERATIONS["paper" if scale.games else "quick"]
    rows = []
    for name, runs in settings.items():
        found = summarise([last_of(run, "normalised_exploitability") for run in runs])
        fits = int(runs[0].exact[-1]["iteration"])
        steps = Run.open(runs[0].path).config_as(ValueFunctionConfig).evaluation.iterations
        note = f"{steps} iterations, mean over {count_runs(found.n)} after {fits} iterations of the fit"
        if steps != trunk:
            note += f"; the solvers with exact values have {trunk} iterations"
        note += f"; {ASKED}" if name == QUERIED else "; the paper says below 0.01"
        rows.append(row(name, 0.01 if name == RANDOM else None, found.mean, found.sd, note))
    evaluator = TrunkEvaluator(split)
    solved = SolvedValues(split, bottom)
    compared: list[tuple[str, str, ValueFunction, int, str]] = [
        ("DL-CFR+ exact values", "dl-cfr+", solved, trunk, f"{trunk} iterations, the bottom solved by {bottom}"),
        ("DL-CFR+ zero values", "dl-cfr+", ZeroValues(), 1000, "1000 iterations"),
        ("CFR-D", "cfr-d", solved, trunk, f"{trunk} iterations, the bottom solved by {bottom}"),
    ]
    for cell, algorithm, function, count, note in compared:
        solver = DepthLimitedSolver(split, function, algorithm)
        for part in np.array_split(np.arange(count), 10):  # at the paper's scale, some minutes each
            warn(f"{scale.game}, {cell}: {solver.iteration:,} of {count:,} iterations")
            solver.run(len(part))
        rows.append(row(cell, None, _normalised(evaluator, split, solver.average_policies()), None, note))
    rows.append(row("CFR+", None, full_cfr(split, evaluator), None, "1000 iterations of the whole game, its trunk"))
    return Comparison(rows, [], unit=UNIT)


def full_cfr(split: Split, evaluator: TrunkEvaluator) -> float:
    """Returns the normalised exploitability of the trunk strategy of 1000 iterations of CFR+ on the whole game."""
    solver = VectorSolver(sequence_form(split.tree), "cfr+")
    solver.run(1000)
    policy = solver.average_policy()
    policies = [treeplex.from_slots(policy)[:, None] for treeplex in split.trunk.players]
    return _normalised(evaluator, split, (policies[0], policies[1]))


def _normalised(evaluator: TrunkEvaluator, split: Split, policies: Pair) -> float:
    """Returns the exploitability of a trunk strategy as a fraction of the largest return."""
    found = evaluator.evaluate(plans_of(split.trunk, policies))
    return max(float(found.exploitability[0]), 0.0) / split.tree.max_utility


def last_of(run: History, key: str) -> float:
    """Returns the newest value of a key of a run's exact evaluations.

    Raises:
        RunError: the run has no such value.
    """
    return values_of(run, key)[-1]


def values_of(run: History, key: str) -> list[float]:
    """Returns a key's value in each of a run's exact evaluations.

    Raises:
        RunError: the run has no such value, or was never evaluated.
    """
    if not run.exact:
        raise RunError(f"{run.path} has no exact evaluation yet: train it for longer")
    if not all(key in each for each in run.exact):
        raise RunError(f"{run.path} has no {key}: another version has trained it, so choose another --out")
    return [float(each[key]) for each in run.exact]


def _figure_2_scales(game: str) -> dict[str, Scale]:
    preset, strategies = f"{game}-values", STRATEGIES.get(game, 2000)
    common = ("asked=0", "data_seed=1", "evaluation.every=1", "checkpoint_every=1000", f"strategies={strategies}")
    quick = (*common, "iterations=36", "training.minibatches=60", "evaluation.iterations=250")
    paper = (*common, *paper_net(game), "iterations=100", "training.minibatches=200")
    seeds = (1, 2, 3, 4, 5)
    shown: dict[str, Any] = {"fixed": (*FIXED, "asked"), "game": game, "parallel": True, "shared": "data"}
    return {
        "quick": Scale((Setting("nets", preset, quick, f"{game}-fig2"),), seeds, note=QUICK_NET, **shown),
        "paper": Scale((Setting("nets", preset, paper, f"{game}-fig2"),), seeds, games=1, **shown),
    }


def compare_losses(settings: Settings, scale: Scale) -> Comparison:
    """Compares Fig. 2: exploitability against the errors on held-out samples, along each run."""
    runs = settings["nets"]
    rows: list[Row] = []
    means: dict[str, float] = {}
    for loss in ERRORS:
        found = [value for run in runs if (value := _correlation(run, loss)) is not None]
        if not found:
            rows.append(
                row(f"correlation/{loss}", None, None, None, f"each run has fewer than {FEWEST} different checkpoints")
            )
            continue
        mean, interval = mean_correlation(found)
        means[loss] = mean
        each = ", ".join(f"{value:.2f}" for value in found)
        bounds = f", 95 % t interval over runs {interval[0]:.2f} to {interval[1]:.2f}" if interval else ""
        note = (
            f"of the logarithms along a run, mean of Fisher's z over {count_runs(len(found))} ({each}){bounds}; the "
            "paper: strongly correlated"
        )
        rows.append(row(f"correlation/{loss}", None, mean, None, note))
    best = summarise([min(each["normalised_exploitability"] for each in run.exact) for run in runs])
    rows.append(row("lowest exploitability", 0.01, best.mean, best.sd, "mean over runs; the paper: below 0.01"))
    for loss, paper in zip(ERRORS, (0.001, 0.01, 0.1, None), strict=True):
        least = summarise([min(values_of(run, f"validation/{loss}")) for run in runs])
        said = "the paper, of goofspiel: below this, in a unit that it does not give" if paper else ""
        said = said if scale.game == "goofspiel5" else ""
        note = "; ".join(filter(None, [said, LINF if loss == "linf" else ""]))
        rows.append(row(f"lowest {loss}", paper if said else None, least.mean, least.sd, note))
    split = cut_game(scale.game, {}, LIMITS[scale.game])
    figure = _scatter(scale.game, runs, full_cfr(split, TrunkEvaluator(split)), means)
    return Comparison(rows, [figure], unit=UNIT)


def _correlation(run: History, loss: str) -> float | None:
    """The correlation of the logarithms of an error and of exploitability over the checkpoints of a run; None if there
    are fewer than `FEWEST`, or one of them does not change."""
    errors = np.array(values_of(run, f"validation/{loss}"))
    exploitability = np.array([each["normalised_exploitability"] for each in run.exact])
    kept = (errors > 0) & (exploitability > 0)
    x, y = np.log(errors[kept]), np.log(exploitability[kept])
    if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def mean_correlation(values: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """Returns the mean of the correlations of runs by Fisher's z, and its 95 % t interval for three runs or more.

    The checkpoints of a run are not independent, so that only the runs count.
    """
    found = summarise(np.arctanh(np.clip(values, -MOST, MOST)).tolist())
    mean, low, high = (float(np.tanh(each)) for each in (found.mean, found.low, found.high))
    return mean, (low, high) if found.n >= 3 else None


def _scatter(game: str, runs: Sequence[History], reference: float, correlations: Mapping[str, float]) -> Plot:
    """Draws a panel per loss with a dot per checkpoint; `correlations` are means over runs, for the description."""
    from matplotlib.ticker import LogLocator

    title = f"Exploitability of DL-CFR+ and errors of its net, {game}"
    note = f"Dots: checkpoints of {count_runs(len(runs))}, held-out samples. Line: the trunk of CFR+."
    figure, axes = grid(len(LOSSES))
    names = {"huber": "Huber loss", "l1": "mean absolute error", "linf": "largest error of a sample, mean"}
    lines = []
    for axis, loss in zip(axes, LOSSES, strict=False):
        for i, run in enumerate(runs):
            x = [each[f"validation/{loss}"] for each in run.exact]
            y = [each["normalised_exploitability"] for each in run.exact]
            axis.scatter(x, y, s=9, alpha=0.7, color=f"C{i}", label=run.name)
            lines.append((names[loss], run.name, number(min(x)), number(min(y))))
        axis.axhline(max(reference, 1e-6), color="#2a7f2a", lw=1, ls=":", label="CFR+")
        axis.set_xscale("log")
        axis.set_yscale("log")
        for scale in (axis.xaxis, axis.yaxis):
            scale.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
            plain_ticks(scale)
        finish(axis, names[loss], names[loss], "exploitability / largest return")
    frame(figure, axes[: len(LOSSES)], title, note)
    told = ", ".join(f"{correlations[loss]:.2f} with the {names[loss]}" for loss in LOSSES if loss in correlations)
    alt = f"{title}. {note}" + (f" Mean correlation of the logarithms along a run: {told}." if told else "")
    columns = ("panel", "run", "lowest error", "lowest exploitability")
    return Plot("dlcfr-fig2", title, note, alt, png_of(figure), columns, tuple(lines))


_TABLE = {game: {name: Scale((), (1,), game=game) for name in ("quick", "paper")} for game in GAMES}

EXPERIMENTS = {
    "dlcfr-table2": Experiment(
        "Paper 003, Table 2: the games, their depth limits and the sizes of their encodings.",
        FOLDER,
        {name: Scale((), (1,)) for name in ("quick", "paper")},
        compare_games,
        _TABLE,
    ),
    "dlcfr-exploitability": Experiment(
        "Paper 003: exploitability of DL-CFR+ with a net, exact values and none, of CFR-D and CFR+.",
        FOLDER,
        compare=compare_solvers,
        **by_game(_exploitability_scales),
    ),
    "dlcfr-fig2": Experiment(
        "Paper 003, Fig. 2: exploitability against the errors of the net.",
        FOLDER,
        compare=compare_losses,
        **by_game(_figure_2_scales),
    ),
}
