"""Paper 003's other experiments with value nets (unseen public states, ranges, numbers of samples, architectures and
losses), and its future work: nets trained on the ranges that the solver queries."""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import RunError
from dancfr.evaluation.statistics import over_iterations, summarise
from dancfr.games.limits import LIMITS
from dancfr.methods.value_functions.config import ValueFunctionConfig
from dancfr.methods.value_functions.solving import cut_game, load_net
from dancfr.papers.paper003 import (
    ERRORS,
    FIXED,
    FOLDER,
    LINF,
    PLAIN,
    PUBLIC_STATES,
    QUICK_NET,
    STRATEGIES,
    UNIT,
    by_game,
    last_of,
    paper_net,
)
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, count_runs, row
from dancfr.report.history import History, Settings
from dancfr.report.plots import Line, Panel, draw_lines
from dancfr.runs.run import Run
from learners.value_functions.learner import validation_losses
from learners.value_functions.network import NetValues
from learners.value_functions.parts import Pair, Split
from learners.value_functions.samples import random_plans, solve_samples
from learners.value_functions.settings import LOSSES, ValueSolving
from learners.value_functions.solver import DepthLimitedSolver, SolvedValues, ValueFunction
from learners.value_functions.trunks import normalise, ranges_of

_RANDOM = ("asked=0", "data_seed=1", "evaluation.every=5", "checkpoint_every=1000")
UNSEEN = {"goofspiel5": 2.6, "oshi_zumo8_k1": 0.1, "oshi_zumo8_k3": 0.1, "leduc_2b2r": 0.08}
"""Largest errors at a public state excluded from training, as stated in the paper."""
ENOUGH_SAMPLES = 50_000
"""Samples with which a Huber loss of 0.001 is reached, as stated in the paper of its medium-sized games."""

QUERIES = {"quick": (100, 200), "paper": (1000, 1000)}
"""Iterations in trunk and bottom of the solvers whose ranges `dlcfr-ranges` compares."""
MOST_PLANS = 64
"""Plans of each kind that are solved for the errors of a net on their ranges, at most."""


def _scales(
    game: str,
    quick: Sequence[Setting],
    paper: Sequence[Setting],
    seeds: int = 1,
    fixed: Sequence[str] = (),
    lengths: tuple[int, int] = (10, 100),
) -> dict[str, Scale]:
    """Returns scales of runs that are trained in parallel and share their random samples."""
    shown: dict[str, Any] = {
        "fixed": (*FIXED, "asked", "more", *fixed),
        "game": game,
        "parallel": True,
        "shared": "data",
    }
    short = (f"iterations={lengths[0]}", "evaluation.iterations=250")
    return {
        "quick": Scale(
            tuple(quick),
            tuple(range(1, seeds + 1)),
            short,
            f"{QUICK_NET}; shorter fits",
            **shown,
        ),
        "paper": Scale(tuple(paper), (1, 2, 3), (f"iterations={lengths[1]}",), games=1, **shown),
    }


def _unseen_scales(game: str) -> dict[str, Scale]:
    count, preset = PUBLIC_STATES[game], f"{game}-values"

    def left_out(states: Sequence[int], *more: str) -> list[Setting]:
        return [Setting(f"without {s}", preset, (*_RANDOM, f"unseen={s}", *more), f"{game}-unseen{s}") for s in states]

    few = sorted({0, count // 2, count - 1})
    return _scales(game, left_out(few), left_out(range(count), *paper_net(game)), fixed=("unseen",))


def compare_unseen(settings: Settings, scale: Scale) -> Comparison:
    """Compares errors at public states that were excluded from training."""
    rows: list[Row] = []
    for loss in ERRORS:
        each = [np.mean([last_of(run, f"validation/{loss}") for run in runs]) for runs in settings.values()]
        found = summarise([float(value) for value in each])
        paper = UNSEEN[scale.game] if loss == "linf" else None
        note = (
            f"mean over {found.n} public states of {PUBLIC_STATES[scale.game]}, each left out of a training of its own"
        )
        note += f"; {LINF}" if loss == "linf" else ""
        rows.append(row(f"unseen/{loss}", paper, found.mean, found.sd, note))
    for name, runs in settings.items():
        worst = summarise([last_of(run, "validation/linf") for run in runs])
        lost = np.mean([last_of(run, "normalised_exploitability") for run in runs])
        note = f"mean over {count_runs(worst.n)}; exploitability of DL-CFR+ with it {lost:.4f}"
        rows.append(row(f"{name}/linf", None, worst.mean, worst.sd, note))
    return Comparison(rows, [], unit="Errors of counterfactual values in the game's unit.")


def _ranges_scales(game: str) -> dict[str, Scale]:
    preset = f"{game}-values"
    quick = [Setting("net", preset, _RANDOM, f"{game}-ranges")]
    paper = [Setting("net", preset, (*_RANDOM, *paper_net(game)), f"{game}-ranges")]
    return _scales(game, quick, paper)


def compare_ranges(settings: Settings, scale: Scale) -> Comparison:
    """Compares the ranges that DL-CFR+ and CFR-D query with those of random strategies, over the nets of all runs."""
    split = cut_game(scale.game, {}, LIMITS[scale.game])
    trunk, bottom = QUERIES["paper" if scale.games else "quick"]
    searched = _ask(split, SolvedValues(split, bottom), "cfr-d", trunk)
    found = [_query(split, run, searched, trunk, np.random.default_rng(i)) for i, run in enumerate(settings["net"], 1)]
    count = count_runs(len(found))
    rows: list[Row] = []
    for cell, note in _RANGE_ROWS.items():
        mean = summarise([each.values[cell] for each in found])
        rows.append(row(cell, None, mean.mean, mean.sd, f"mean over {count}; {note}"))
    steps = np.arange(1.0, trunk + 1)
    curve = {name: over_iterations([(steps, each.entropies[name]) for each in found]) for name in ("DL-CFR+", "CFR-D")}
    lines = [Line(name, band, i) for i, (name, band) in enumerate(curve.items())]
    level = (float(np.mean([each.entropies["random"] for each in found])), "random strategies")
    panel = Panel("", "iteration", "entropy (1 for uniform)", lines, reference=level)
    title = f"Entropy of the queried ranges, {scale.game}"
    figure = draw_lines("dlcfr-ranges", title, "Mean over players and public states.", [panel], "share")
    return Comparison(rows, [figure], unit="Shares; errors are of counterfactual values in the game's unit.")


_APART = "total variation, iteration by iteration; the paper: "
_FRESH = f"samples of {MOST_PLANS} plans that the net was not trained on"
_RANGE_ROWS = {
    "distance DL-CFR+ to CFR-D": f"{_APART}strong similarity",
    "distance DL-CFR+ to random": f"{_APART}substantially different",
    "distance CFR-D to random": f"{_APART}substantially different",
    **{f"entropy/{name}": "1 for uniform ranges" for name in ("DL-CFR+", "CFR-D", "random")},
    **{
        f"{loss} on ranges of {name}": _FRESH
        for name in ("random", "CFR-D", "DL-CFR+")
        for loss in ("huber", "l1", "largest")
    },
}
"""Rows of `dlcfr-ranges`, with a note each."""


class _Queried(NamedTuple):
    """Measurements of a run's net: values of `_RANGE_ROWS`, and the entropy of ranges by iteration, `float64[T]`."""

    values: dict[str, float]
    entropies: dict[str, NDArray[np.float64]]


def _query(split: Split, run: History, searched: Pair, trunk: int, rng: np.random.Generator) -> _Queried:
    """Compares the ranges that DL-CFR+ queries with a run's net to those of CFR-D and to random ones.

    Args:
        split: The game, cut.
        run: Run of the net.
        searched: Plans of CFR-D, see `_ask`.
        trunk: Iterations of DL-CFR+, as many as those of CFR-D.
        rng: Draws the random plans, and those that are solved for the errors.

    Raises:
        RunError: the run has stored no net.
    """
    stored = Run.open(run.path)
    if not (nets := stored.list_strategies()):
        raise RunError(f"{run.path} has stored no net yet: train it for longer")
    function = load_net(stored, stored.config_as(ValueFunctionConfig), split, nets[-1].iteration)
    assert isinstance(function, NetValues)
    solving = ValueSolving()
    asked = {
        "DL-CFR+": _ask(split, function, "dl-cfr+", trunk),
        "CFR-D": searched,
        "random": random_plans(split, trunk, solving, rng),
    }
    ranges = {name: normalise(split, ranges_of(split, plans))[0] for name, plans in asked.items()}
    values = {
        f"distance {first} to {second}": _distance(split, ranges[first], ranges[second])
        for first, second in itertools.combinations(asked, 2)
    }
    entropies = {name: _entropy(split, own) for name, own in ranges.items()}
    values |= {f"entropy/{name}": float(curve.mean()) for name, curve in entropies.items()}
    for name, plans in asked.items():
        chosen = rng.choice(trunk, min(trunk, MOST_PLANS), replace=False)
        first, second = (np.ascontiguousarray(plan[:, chosen]) for plan in plans)
        samples, _ = solve_samples(split, (first, second), solving, rng)
        errors = validation_losses(function.net, samples)
        values |= {f"{loss} on ranges of {name}": errors[loss] for loss in ("huber", "l1", "largest")}
    return _Queried(values, entropies)


def _ask(split: Split, function: ValueFunction, algorithm: str, iterations: int) -> Pair:
    """Returns both players' plans of the trunk at every iteration of a solver, `[Q, T]`."""
    solver = DepthLimitedSolver(split, function, algorithm)
    plans: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
    for _ in range(iterations):
        for player in (0, 1):
            plans[player].append(solver.plans[player][:, 0].copy())
        solver.run(1)
    return np.stack(plans[0], axis=1).astype(np.float32), np.stack(plans[1], axis=1).astype(np.float32)


def _distance(split: Split, first: Pair, second: Pair) -> float:
    """Returns the mean total variation distance between ranges, over players, public states and columns."""
    found = []
    for player in (0, 1):
        gap = np.abs(split.encoding.spread(player, first[player]) - split.encoding.spread(player, second[player]))
        found.append(float(gap.sum(axis=1).mean()) / 2)
    return float(np.mean(found))


def _entropy(split: Split, ranges: Pair) -> NDArray[np.float64]:
    """Returns the entropy of ranges by column, as a fraction of the maximum, `float64[T]`."""
    totals = []
    for player in (0, 1):
        spread = split.encoding.spread(player, ranges[player].astype(np.float64))
        entropy = -(spread * np.log(np.maximum(spread, 1e-30))).sum(axis=1)
        counts = np.bincount(split.encoding.public[player])
        many = counts > 1
        totals.append((entropy[many] / np.log(counts[many])[:, None]).mean(axis=0))
    mean: NDArray[np.float64] = np.mean(totals, axis=0)
    return mean


def compare_settings(what: str, settings: Settings, scale: Scale) -> Comparison:
    """Compares the final errors and exploitability of all settings."""
    rows: list[Row] = []
    for name, runs in settings.items():
        for loss in ERRORS:
            found = summarise([last_of(run, f"validation/{loss}") for run in runs])
            note = f"mean over {count_runs(found.n)}, held-out samples of its own kind"
            rows.append(row(f"{name}/{loss}", None, found.mean, found.sd, note))
        lost = summarise([last_of(run, "normalised_exploitability") for run in runs])
        note = f"mean over {count_runs(lost.n)}, {_samples(runs[0])}"
        rows.append(row(f"{name}/exploitability", None, lost.mean, lost.sd, "; ".join(filter(None, (note, what)))))
    return Comparison(rows, [], unit=f"{UNIT} Errors are of counterfactual values in the game's unit.")


def _samples(run: History) -> str:
    return f"{int(run.last('samples/values') or 0):,} samples"


def _sample_scales(game: str) -> dict[str, Scale]:
    most = STRATEGIES.get(game, 2000)
    enough = max(most, -(-ENOUGH_SAMPLES // PUBLIC_STATES[game]))  # a strategy is a sample at every public state

    def sized(counts: Sequence[int], *more: str) -> list[Setting]:
        return [
            Setting(
                f"{n * PUBLIC_STATES[game]} samples",
                f"{game}-values",
                (*_RANDOM, f"strategies={n}", *more),
                f"{game}-of{n}",
            )
            for n in sorted({max(count, 20) for count in counts})
        ]

    quick = sized([most // part for part in (16, 4, 1)])
    full = sized([enough // part for part in (32, 16, 8, 4, 2, 1)], *paper_net(game))
    return _scales(game, quick, full, fixed=("strategies",))


def _architecture_scales(game: str) -> dict[str, Scale]:
    def nets(depths: Sequence[int], widths: Sequence[int], *more: str) -> list[Setting]:
        return [
            Setting(
                f"{depth}x{width}",
                f"{game}-values",
                (*_RANDOM, f"network.depth={depth}", f"network.width={width}", *more),
                f"{game}-{depth}x{width}",
            )
            for depth in depths
            for width in widths
        ]

    return _scales(
        game, nets((2, 5), (64, 256)), nets((1, 2, 4, 5, 6, 8), (50, 100, 200, 400, 500), *PLAIN), fixed=("network",)
    )


def _loss_scales(game: str) -> dict[str, Scale]:
    def fitted(*more: str) -> list[Setting]:
        return [
            Setting(f"fitted to {loss}", f"{game}-values", (*_RANDOM, f"loss={loss}", *more), f"{game}-loss-{loss}")
            for loss in LOSSES
        ]

    return _scales(game, fitted(), fitted(*paper_net(game)), fixed=("loss",))


_ADDED = 128
"""Strategies that an iteration of `dlcfr-asked` adds, random ones and the solver's together."""


def _asked_scales(game: str) -> dict[str, Scale]:
    def shares(*more: str) -> list[Setting]:
        common = ("strategies=500", "data_seed=1", "evaluation.every=5", "checkpoint_every=1000", *more)
        return [
            Setting(
                f"{asked} of {_ADDED} asked",
                f"{game}-values",
                (*common, f"asked={asked}", f"more={_ADDED - asked}"),
                f"{game}-asked{asked}",
            )
            for asked in (0, 8, 32, _ADDED)
        ]

    return _scales(game, shares(), shares(*paper_net(game)), seeds=3, fixed=("strategies",), lengths=(20, 60))


_FITS = "the paper: 50,000 samples suffice for a Huber loss of 0.001, and for exploitability of about 0.01"
_DEEP = "the paper: 4 to 6 layers of 200 to 500 units are best"
_ALIKE = "the paper: the losses are alike"
_EQUAL = "as many strategies solved, and as long a fit, with every share"

EXPERIMENTS = {
    "dlcfr-unseen": Experiment(
        "Paper 003: errors at public states that are excluded from training.",
        FOLDER,
        compare=compare_unseen,
        **by_game(_unseen_scales),
    ),
    "dlcfr-ranges": Experiment(
        "Paper 003: the ranges that DL-CFR+ and CFR-D query, and random ranges.",
        FOLDER,
        compare=compare_ranges,
        **by_game(_ranges_scales),
    ),
    "dlcfr-samples": Experiment(
        "Paper 003: value nets trained on different numbers of samples.",
        FOLDER,
        compare=partial(compare_settings, _FITS),
        **by_game(_sample_scales),
    ),
    "dlcfr-architecture": Experiment(
        "Paper 003: numbers of hidden layers and of units.",
        FOLDER,
        compare=partial(compare_settings, _DEEP),
        **by_game(_architecture_scales),
    ),
    "dlcfr-losses": Experiment(
        "Paper 003: nets fitted to Huber, l1 and l_inf errors, measured by all of them.",
        FOLDER,
        compare=partial(compare_settings, _ALIKE),
        **by_game(_loss_scales),
    ),
    "dlcfr-asked": Experiment(
        "Beyond paper 003: training on the ranges that the solver queries, and on random ranges.",
        FOLDER,
        compare=partial(compare_settings, _EQUAL),
        **by_game(_asked_scales),
    ),
}
