"""Paper 004 (DanZero), Table I and Fig. 5: Deep Monte-Carlo on GuanDan with and without the flags for wild cards.

The paper's opponents are the eight best programs of a competition, which are not redistributable. Their results have
separate rows, and our nets play against the bots of this package instead. As in the paper, games are whole matches and
an agent plays both seats of a team; in addition, each deal is played from both sides.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from dancfr.agents.by_name import make_agent
from dancfr.agents.match_rules import match_rules
from dancfr.errors import RunError
from dancfr.evaluation.arena import play
from dancfr.evaluation.statistics import summarise
from dancfr.papers.crosstable import Cells, crosstable, tournaments
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, count_runs, row
from dancfr.report.figures import build, wanted_learning_curves, wanted_win_rates
from dancfr.report.history import History, Settings
from dancfr.runs.run import Run

BOTS = ("random", "greedy", "planner")
FULL, ABLATED = "Ours", "Ours-"
WHOLE = ("length=match",)

PUBLISHED = {
    FULL: {
        ABLATED: 53.45,
        "baseline1": 90.12,
        "baseline2": 82.61,
        "baseline3": 100.0,
        "baseline4": 87.45,
        "baseline5": 100.0,
        "baseline6": 100.0,
        "baseline7": 100.0,
        "baseline8": 100.0,
    },
    ABLATED: {
        "baseline1": 87.23,
        "baseline2": 74.67,
        "baseline3": 100.0,
        "baseline4": 82.68,
        "baseline5": 100.0,
        "baseline6": 100.0,
        "baseline7": 100.0,
        "baseline8": 100.0,
    },
}
"""Table I: percentage of matches won by the nets; baselines are numbered by their rank in the competition."""

NOT_HERE = "a program of the competition (gameai.njupt.edu.cn), which is not redistributable"
UNIT = "Win rates are percent of whole matches."

_ABLATION = ("network.encoding=no_wild_flags",)
SCALES = {
    "paper": Scale(
        settings=(Setting(FULL, "guandan-dmc"), Setting(ABLATED, "guandan-dmc-no-wild")),
        seeds=(1,),
        games=1000,
        checkpoints=30,
    ),
    "quick": Scale(
        settings=(
            Setting(FULL, "guandan-dmc-quick"),
            Setting(ABLATED, "guandan-dmc-quick", _ABLATION, "guandan-dmc-quick-no-wild"),
        ),
        seeds=(1,),
        note="scaled: the preset guandan-dmc-quick (3x128 units, Adam, averaged weights, single rounds, a floor of the "
        "clip), one training a side, minutes on few cores for 30 days on 160 CPUs; 200 of 1,000 matches",
        games=200,
        checkpoints=6,
    ),
}
_FULL_ONLY = {name: replace(scale, settings=scale.settings[:1]) for name, scale in SCALES.items()}


def compare_table(settings: Settings, scale: Scale) -> Comparison:
    """Compares Table I: all pairs of our nets and bots, in one tournament per seed."""
    played = tournaments("guandan", settings, scale.games, BOTS[::-1], WHOLE)
    names = (FULL, ABLATED, *reversed(BOTS))
    rows = _published_rows(FULL)
    rows += [_pair_row(played, one, other, scale.games) for one, other in combinations(names, 2)]
    rows += _published_rows(ABLATED)
    wanted = [wanted_win_rates(settings, bot, True, ("last",)) for bot in BOTS]
    figures, left_out = build(wanted)
    return Comparison(rows, figures, left_out, [crosstable(played, names, "matches", by_deals=True)], UNIT)


def compare_curve(settings: Settings, scale: Scale) -> Comparison:
    """Compares Fig. 5: win rates of stored nets in whole matches against each bot, over training time."""
    runs = [_replayed(run, scale, seed) for seed, run in enumerate(settings[FULL])]
    published = ", ".join(f"{name} {rate:.4g} %" for name, rate in PUBLISHED[FULL].items() if name != ABLATED)
    note = f"The paper's curves end, after 30 days, at: {published}."
    figures, left_out = build([wanted_learning_curves(FULL, runs, "last", note)])
    rows = _published_rows(FULL, "final, ")
    for bot in reversed(BOTS):
        curves = [run.win_rates(bot, "last")[1] for run in runs]
        final = summarise([100 * float(curve[-1]) for curve in curves])
        best = max(100 * float(curve.max()) for curve in curves)
        said = f"mean over {count_runs(final.n)}" if final.n > 1 else _interval(runs[0], bot)
        note = f"{said}; {scale.games:,} matches for each of {len(curves[0])} states; highest {best:.4g}"
        rows.append(row(f"final, {FULL} vs {bot}", None, final.mean, final.sd, note))
    return Comparison(rows, figures, left_out, unit=UNIT)


def _replayed(run: History, scale: Scale, seed: int) -> History:
    """Returns a run whose evaluations are replaced by whole matches of its stored nets.

    Raises:
        RunError: the run has stored no nets.
    """
    stored = [file.iteration for file in Run.open(run.path).list_strategies(0)]
    if not stored:
        raise RunError(f"{run.path} has stored no net: set evaluation.every, or train for longer")
    at = np.unique(np.linspace(len(stored) - 1, 0, scale.checkpoints).round().astype(int))  # the last one first
    seconds = {each["iteration"]: each["elapsed_s"] for each in run.train + run.evaluations if "elapsed_s" in each}
    rules, _ = match_rules("guandan", [str(run.path)], WHOLE)
    rows: list[dict[str, Any]] = []
    for iteration in (stored[i] for i in at):
        net = make_agent(f"{run.path}@{iteration}", rules)
        for bot in BOTS:
            found = play(rules, (net, make_agent(bot, rules)), scale.games, np.random.default_rng(seed))
            names = {"kind": "evaluation", "iteration": iteration, "policy": "last", "opponent": bot}
            rows.append(names | {"elapsed_s": seconds[iteration]} | found.as_dict())
    return replace(run, evaluations=tuple(rows))


def _published_rows(name: str, before: str = "") -> list[Row]:
    """Returns rows with the paper's results of matches that cannot be repeated."""
    rates = {against: rate for against, rate in PUBLISHED[name].items() if against != ABLATED}
    return [row(f"{before}{name} vs {against}", rate, None, None, NOT_HERE) for against, rate in rates.items()]


def _pair_row(played: Sequence[Cells], one: str, other: str, games: int) -> Row:
    cells = [table[one][other] for table in played]
    found = summarise([100 * each["win_rate"] for each in cells])
    note = f"mean over {count_runs(found.n)} of {games:,} matches"
    if len(cells) == 1:
        low, high = cells[0]["ci95"]
        note = f"95 % interval {100 * low:.1f} to {100 * high:.1f} over {games:,} matches, by deals"
    return row(f"{one} vs {other}", PUBLISHED.get(one, {}).get(other), found.mean, found.sd, note)


def _interval(run: History, opponent: str) -> str:
    """Formats the interval of the last evaluation, by deals."""
    low, high = next(each["ci95_pairs"] for each in reversed(run.evaluations) if each["opponent"] == opponent)
    return f"95 % interval {100 * low:.1f} to {100 * high:.1f}"


EXPERIMENTS = {
    "danzero-table1": Experiment(
        "Paper 004, Table I: every pair of DanZero's nets, with and without flags for wild cards, and of the bots.",
        "danzero",
        SCALES,
        compare_table,
    ),
    "danzero-fig5": Experiment(
        "Paper 004, Fig. 5: win rates of DanZero's net against each bot over the time of its training.",
        "danzero",
        _FULL_ONLY,
        compare_curve,
    ),
}
