"""NashConv of policy gradients, DREAM, SD-CFR and tabular magnetic mirror descent on games with exact values.

No table of a paper is repeated here: the methods are compared with each other, at equal samples and at equal time, as
Sokota et al. 2022 (section 5) and Rudolph et al. 2025 compare theirs.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancfr.evaluation.statistics import Curve, over_time, summarise
from dancfr.games.trees import make_tree
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, count_runs, row
from dancfr.report.figures import build
from dancfr.report.history import History, Settings
from dancfr.report.plots import Line, Panel, Plot, draw_lines
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.mirror_descent import MirrorDescentSolver
from learners.cfr.sequence_form import sequence_form

GRADIENT, DREAM, SDCFR, MMD = "policy gradient", "DREAM", "SD-CFR", "tabular MMD"

DECISIONS = (1e5, 1e6, 1e7, 1e8)
SECONDS = (15, 60, 300, 600)
"""Numbers of decisions and seconds of training at which NashConv is stated."""

AXES: Mapping[Literal["decisions", "seconds"], str] = {"decisions": "decisions", "seconds": "seconds of training"}


class Exact(NamedTuple):
    """A game of the comparison: its name in `dancfr.games.registry`, and its options."""

    game: str
    options: Mapping[str, Any] = {}

    @property
    def overrides(self) -> tuple[str, ...]:
        """The game as settings of a run, with exact evaluations."""
        options = (f"game_options.{key}={value}" for key, value in self.options.items())
        return (f"game={self.game}", *options, "evaluation.exploitability=true")


GAMES: Mapping[str, Exact] = {
    "kuhn": Exact("kuhn"),
    "leduc": Exact("leduc"),
    "leduc_2b2r": Exact("leduc_2b2r"),
    "goofspiel5": Exact("goofspiel5"),
    "oshi_zumo8_k1": Exact("oshi_zumo8_k1"),
    "oshi_zumo8_k3": Exact("oshi_zumo8_k3"),
    "liars_dice5": Exact("liars_dice5"),
    "liars_dice": Exact("liars_dice"),
    "dark_hex": Exact("dark_hex", {"rows": 2, "columns": 3}),
    "dark_hex_abrupt": Exact("dark_hex", {"rows": 2, "columns": 3, "abrupt": True}),
    "mini-geister": Exact("mini-geister", {"random_setup": False, "ply_limit": 4}),
}
"""Mini Geister as far as its tree fits: layouts are chosen, and a game ends after four plies."""


class Measured(NamedTuple):
    """NashConv over decisions and over seconds of training."""

    decisions: Curve
    seconds: Curve


ENDS: Mapping[str, Callable[[NDArray[np.float64]], float]] = {
    "at the end": lambda values: float(values[-1]),
    "lowest of the run": lambda values: float(values.min()),
}
"""The figures of a whole run: a training that ends far above its lowest NashConv is one that should have stopped."""


def _scales(name: str) -> dict[str, Scale]:
    own = GAMES[name].overrides

    def settings(*gradient: str) -> tuple[Setting, ...]:
        return (
            Setting(GRADIENT, "leduc-policy-gradient", (*own, *gradient), f"{name}-policy-gradient"),
            Setting(DREAM, "leduc-dream", own, f"{name}-dream"),
            Setting(SDCFR, "leduc-sdcfr", own, f"{name}-sdcfr"),
        )

    shown: dict[str, Any] = {
        "parallel": True,
        "game": name,
        "fixed": ("game", "game_options", "evaluation.exploitability"),
    }
    return {
        "quick": Scale(settings("evaluation.every=200"), (1,), ("minutes=1",), "a minute in one process each", **shown),
        "paper": Scale(settings(), (1, 2, 3), ("minutes=10",), "10 minutes in one process each", **shown),
    }


def compare(settings: Settings, scale: Scale) -> Comparison:
    """Compares NashConv of each method at equal numbers of decisions and at equal times."""
    found = {name: [measure(run) for run in runs] for name, runs in settings.items()}
    longest = max((each.seconds[0][-1] for runs in found.values() for each in runs if len(each.seconds[0])), default=0)
    found[MMD] = [solve(GAMES[scale.game], float(longest))]
    rows: list[Row] = []
    for name, runs in found.items():
        for point in DECISIONS:
            rows += _row(f"{name}, {point:,.0f} decisions", [value_at(run.decisions, point) for run in runs])
        for point in SECONDS:
            rows += _row(f"{name}, {point:,.0f} s", [value_at(run.seconds, point) for run in runs])
        for what, of in ENDS.items():
            rows += _row(f"{name}, {what}", [of(run.seconds[1]) if len(run.seconds[1]) else None for run in runs])
    wanted = [(f"NashConv over {AXES[axis]}", "exact evaluations", partial(draw, found, axis)) for axis in AXES]
    figures, left_out = build(wanted)
    unit = "NashConv in the unit of the game, exact: of the average policy, with MMD of the last iterate."
    return Comparison(rows, figures, left_out, unit=unit)


def measure(run: History) -> Measured:
    """NashConv of the average policy of a run."""
    iterations, value = run.nash_conv()
    x: list[Curve] = []
    for key in ("samples/decisions", "elapsed_s"):
        at, known = run.metric(key)
        x.append((np.interp(iterations, at, known), value) if len(at) else (iterations[:0], value[:0]))
    return Measured(*x)


def solve(game: Exact, seconds: float) -> Measured:
    """NashConv of the last iterate of tabular mirror descent within `seconds`, at iterations 1, 2, 5, 10, ..."""
    tree = make_tree(game.game, dict(game.options))
    form = sequence_form(tree)
    MirrorDescentSolver(form).run(1)  # compiles
    solver, spent = MirrorDescentSolver(form), 0.0
    decisions = int((tree.mover >= 0).sum())
    rows: list[tuple[float, float, float]] = []
    for step in (factor * 10**power for power in count() for factor in (1, 2, 5)):
        # Twice to five times the work of the step before: a step that cannot end in time is not begun.
        if rows and 2 * spent > seconds:
            break
        began = perf_counter()
        solver.run(step - solver.iteration)
        spent += perf_counter() - began
        last = evaluate_policy(form, solver.current_policy())
        rows.append((float(step) * decisions, spent, last.nash_conv))
    x, time, value = np.array(rows, np.float64).T
    return Measured((x, value), (time, value))


def value_at(curve: Curve, point: float) -> float | None:
    """The newest value not beyond a position; None if the curve begins after it or ends before half of it."""
    x, y = curve
    at = int(np.searchsorted(x, point, "right")) - 1
    return None if at < 0 or x[-1] < point / 2 else float(y[at])


def _row(cell: str, values: Sequence[float | None]) -> list[Row]:
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return []
    found = summarise(known)
    return [row(cell, None, found.mean, found.sd, f"mean over {count_runs(found.n)}" if found.n > 1 else "")]


def draw(found: Mapping[str, Sequence[Measured]], axis: Literal["decisions", "seconds"]) -> Plot | None:
    """Draws NashConv over decisions or over seconds, as far as the trainings went."""
    curves = {name: [c for run in runs if len((c := getattr(run, axis))[0])] for name, runs in found.items()}
    end = max((x[-1] for name, own in curves.items() for x, _ in own if name != MMD), default=0.0)
    lines = []
    for colour, (name, own) in enumerate(curves.items()):
        drawn = [(x[x <= end], y[x <= end]) for x, y in own if x[0] <= end]
        if drawn:
            lines.append(Line(name, over_time(drawn), colour))
    if not lines:
        return None
    title = f"NashConv over {AXES[axis]}"
    note = f"Exact, in the unit of the game, of the average policy; of {MMD} the last iterate."
    panels = [Panel(title, AXES[axis], "NashConv", lines, log=True)]
    return draw_lines(f"nash-conv-{axis}", title, note, panels, "NashConv", note)


EXPERIMENTS = {
    "nash-conv": Experiment(
        "NashConv of policy gradients, DREAM, SD-CFR and tabular magnetic mirror descent on eleven games.",
        "nash-conv",
        _scales("kuhn"),
        compare,
        {name: _scales(name) for name in GAMES},
    ),
}
