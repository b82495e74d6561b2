"""Paper 002, Figs 5 to 13: belief states and depth-limited external sampling on Mini Geister, and ablations.

The paper draws its curves without numbers; the published values are those that its text gives for the final results.
Where a choice that the paper leaves open was made by its results, the agreement is fitted, and the row says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dancfr.agents.by_name import make_agent
from dancfr.errors import RunError
from dancfr.evaluation.arena import MatchResult, play
from dancfr.evaluation.statistics import summarise, wilson
from dancfr.games.registry import entry_of, make_game
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, count_runs, row
from dancfr.report.history import History, Settings
from dancfr.report.plots import Plot
from dancfr.report.report import Table
from dancfr.report.stacks import draw_areas, draw_shares, shares_of, stack_of

PRESET = "mini-geister-belief-tables"
OPPONENTS = ("random", "heuristic", "rush")
_ONE_GAME = ("tables.states=1", "tables.passes=1", "iterations=100000")
"""An iteration of Figs 9 to 12 as most papers count them: one game for each player. Their number is ours."""

VARIANTS: Mapping[str, tuple[str, ...]] = {
    "full": (),
    "exact-belief": ("tables.belief=exact",),
    "no-belief": ("tables.belief=none",),
    "no-baseline": ("tables.baseline=false",),
    "dream": ("tables.method=dream", *_ONE_GAME),
    "dream-no-belief": ("tables.method=dream", "tables.belief=none", *_ONE_GAME),
    "outcome-sampling": ("tables.method=outcome-sampling", *_ONE_GAME),
    "outcome-sampling-no-belief": ("tables.method=outcome-sampling", "tables.belief=none", *_ONE_GAME),
}
"""Settings of each variant that differ from the preset."""

PUBLISHED: Mapping[str, tuple[float, str]] = {
    "full/random": (75.0, "nearly 75 %"),
    "full/heuristic": (55.0, "over 55 %"),
    "no-belief/random": (70.0, "about 70 %"),
    "no-belief/heuristic": (35.0, "only about 35 %"),
    "no-baseline/heuristic": (20.0, "only about 20 %"),
    "dream/heuristic": (10.0, "only about 10 %"),
    "dream-no-belief/heuristic": (10.0, "only about 10 %"),
    "outcome-sampling/heuristic": (10.0, "only about 10 %"),
    "outcome-sampling-no-belief/heuristic": (10.0, "only about 10 %"),
    "heuristic/random": (70.0, "about 70 %"),
}
"""Final win rates in percent and their wording in the text of section V."""
BARELY = "barely superior to the random player"
OURS = {"exact-belief": "not in the paper: the update that keeps the posterior's mean"}
FITTED_BOT = "fitted: the weights of heuristic are those under which this win rate comes out"
FITTED_STATES = "fitted: the paper does not give tables.states=256, chosen because the full method then matches"
BUDGET = "an iteration is read as one game for each player; the paper does not say, nor how many it has"
UNIT = "Win rates are percent of games."
FIXED = ("game", "game_options", "tables", "evaluation.opponents", "minutes")
GAMES = 10_000
OUTCOMES = entry_of("mini-geister").outcomes


def _scales(variants: Sequence[str], seeds: int, every: int = 100) -> dict[str, Scale]:
    """Returns the scales: the paper's size takes minutes; ``quick`` has fewer seeds, games and evaluations."""
    settings = tuple(Setting(name, PRESET, VARIANTS[name], f"mini-geister-{name}") for name in variants)
    often = (f"evaluation.games={GAMES}", f"evaluation.every={every}")
    whole = Scale(settings, tuple(range(1, seeds + 1)), often, games=GAMES, fixed=FIXED, parallel=True)
    few = ("evaluation.games=2000", f"evaluation.every={5 * every}")
    return {
        "paper": whole,
        "quick": replace(whole, seeds=(1, 2), overrides=few, note="quick scale: fewer seeds, games and evaluations"),
    }


def compare_bots(settings: Settings, scale: Scale) -> Comparison:
    """Compares Fig. 5, the heuristic player against the random one, and plays all other pairs of bots."""
    bars, rows = {}, []
    for first, second in (("heuristic", "random"), ("rush", "random"), ("rush", "heuristic")):
        found = _match(first, second, scale.games, seed=1)
        bars[f"{first} against {second}"] = shares_of(OUTCOMES, found.categories)
        rows.append(_match_row(f"{first}/{second}", found))
    note = f"{scale.games:,} games each, half of them in each seat, at most 30 plies."
    figure = draw_shares(OUTCOMES, "fig5-bots", "Bots of Mini Geister against each other", note, bars, note)
    return Comparison(rows, [figure], unit=UNIT)


def compare_curves(figure: str, settings: Settings, scale: Scale) -> Comparison:
    """Compares Figs 6 to 12: final win rates, and the endings of games over the iterations."""
    rows = [_end_row(name, opponent, runs) for name, runs in settings.items() for opponent in OPPONENTS]
    figures, left_out = [], []
    for name, runs in settings.items():
        stacks = [stack_of(OUTCOMES, f"against {opponent}", runs, opponent) for opponent in OPPONENTS]
        drawn = [stack for stack in stacks if stack is not None]
        if not drawn:
            left_out.append(f"{name}: its runs have no evaluation.")
            continue
        text = f"mean over {count_runs(drawn[0].runs)}"
        title = f"How games of {name} ended, {text}"
        figures.append(
            draw_areas(OUTCOMES, f"{figure}-{name}", title, f"Share of the games in each category, {text}.", drawn)
        )
    return Comparison(rows, figures, left_out, [_categories(settings)], UNIT)


def compare_head_to_head(settings: Settings, scale: Scale) -> Comparison:
    """Compares Fig. 13: the worst agent with belief states against the best agent without, ranked by `heuristic`."""
    ranked = {name: sorted(runs, key=lambda run: _rate(run, "heuristic")) for name, runs in settings.items()}
    first, second = ranked["full"][0], ranked["no-belief"][-1]
    found = _match(str(first.path), str(second.path), scale.games, seed=1)
    text = f"{first.name}, the worst of {len(ranked['full'])}, against {second.name}, the best of "
    text += f"{len(ranked['no-belief'])}, against heuristic"
    rows = [
        _match_row(
            "full/no-belief", found, f"{text}; the paper draws it and says significantly better; {FITTED_STATES}"
        )
    ]
    title = "Agent with belief states against agent without"
    figure: Plot = draw_shares(
        OUTCOMES, "fig13", title, text, {title.lower(): shares_of(OUTCOMES, found.categories)}, f"{text}."
    )
    return Comparison(rows, [figure], unit=UNIT)


def _match(first: str, second: str, games: int, seed: int) -> MatchResult:
    game = make_game("mini-geister")
    return play(game, (make_agent(first, game), make_agent(second, game)), games, np.random.default_rng(seed))


def _match_row(cell: str, found: MatchResult, note: str = "") -> Row:
    low, high = found.ci95
    paper, said = PUBLISHED.get(cell, (None, ""))
    text = f"95 % interval {100 * low:.1f} to {100 * high:.1f} over {found.games:,} games"
    fitted = FITTED_BOT if cell == "heuristic/random" else ""
    note = "; ".join(filter(None, [text, f"the paper says {said}" if said else "", fitted, note]))
    return row(cell, paper, 100 * found.win_rate, None, note)


def _end_row(name: str, opponent: str, runs: Sequence[History]) -> Row:
    """Returns a row with the final win rate of a variant."""
    found = summarise([100 * _rate(run, opponent) for run in runs])
    last = _last(runs[0], opponent)
    paper, said = PUBLISHED.get(f"{name}/{opponent}", (None, ""))
    note = f"mean over {count_runs(found.n)} of {last['games']:,} games after {last['iteration']:,} iterations"
    if found.n == 1:
        low, high = wilson(last["wins"], last["games"])
        note += f", 95 % interval {100 * low:.1f} to {100 * high:.1f}"
    if said:
        note += f"; the paper says {said}"
    elif opponent == "random" and name.startswith(("dream", "outcome")):
        note += f"; the paper says {BARELY}"
    caveat = BUDGET if name.startswith(("dream", "outcome")) else FITTED_STATES if paper is not None else ""
    notes = filter(None, [note, OURS.get(name, ""), caveat])
    return row(f"{name}/{opponent}", paper, found.mean, found.sd, "; ".join(notes))


def _last(run: History, opponent: str) -> dict[str, Any]:
    """Returns the last evaluation of a run against an opponent.

    Raises:
        RunError: the run was not evaluated against the opponent.
    """
    found = [each for each in run.evaluations if each["opponent"] == opponent]
    if not found:
        raise RunError(f"{run.path} has no evaluation against {opponent}: leave out settings of evaluation")
    return dict(found[-1])


def _rate(run: History, opponent: str) -> float:
    return float(_last(run, opponent)["win_rate"])


def _categories(settings: Settings) -> Table:
    """Returns a table of the endings of the games of the last evaluations, in percent, as means over runs."""
    lines = []
    for name, runs in settings.items():
        for opponent in OPPONENTS:
            shares = np.mean([shares_of(OUTCOMES, _last(run, opponent)["categories"]) for run in runs], axis=0)
            lines.append((f"{name}/{opponent}", *(f"{100 * share:.1f}" for share in shares)))
    columns = ("", *(said for said, _ in OUTCOMES.values()))
    return Table("How games ended", "Percent of the games of the last evaluations.", columns, tuple(lines))


_OTHERS = ("dream", "dream-no-belief", "outcome-sampling", "outcome-sampling-no-belief")
_FOLDER = "mini-geister"

EXPERIMENTS = {
    "mini-geister-fig5": Experiment(
        "Paper 002, Fig. 5: the heuristic player of Mini Geister against the random one.",
        _FOLDER,
        {name: Scale((), (1,), games=GAMES) for name in ("quick", "paper")},
        compare_bots,
    ),
    "mini-geister-fig6": Experiment(
        "Paper 002, Fig. 6: belief states and depth-limited external sampling; with the exact update of beliefs, too.",
        _FOLDER,
        _scales(("full", "exact-belief"), 4),
        partial(compare_curves, "fig6"),
    ),
    "mini-geister-fig7": Experiment(
        "Paper 002, Fig. 7: depth-limited external sampling without belief states.",
        _FOLDER,
        _scales(("no-belief",), 3),
        partial(compare_curves, "fig7"),
    ),
    "mini-geister-fig8": Experiment(
        "Paper 002, Fig. 8: belief states and depth-limited external sampling without baselines.",
        _FOLDER,
        _scales(("no-baseline",), 3),
        partial(compare_curves, "fig8"),
    ),
    "mini-geister-fig9-12": Experiment(
        "Paper 002, Figs 9 to 12: tabular DREAM and outcome sampling, with and without belief states.",
        _FOLDER,
        _scales(_OTHERS, 3, every=5000),
        partial(compare_curves, "fig9-12"),
    ),
    "mini-geister-fig13": Experiment(
        "Paper 002, Fig. 13: agents with and without belief states against each other.",
        _FOLDER,
        _scales(("full", "no-belief"), 4),
        compare_head_to_head,
    ),
}
