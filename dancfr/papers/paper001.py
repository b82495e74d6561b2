"""Paper 001, Tables 1 and 2 and Figs 1-3: cost and win rates of chance-sampled CFR on Mini-Cheat."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dancfr.agents.by_name import make_agent
from dancfr.errors import RunError
from dancfr.evaluation.arena import play
from dancfr.evaluation.statistics import Curve, over_iterations, summarise
from dancfr.games.registry import make_game, make_game_as
from dancfr.methods.cheat_cfr.config import CheatCfrConfig
from dancfr.papers.paper001_settings import (
    AGENTS,
    ALL_BOTS,
    BASELINE,
    BASELINE_NOTES,
    EXACT,
    FIG1,
    FIG2,
    FIG3,
    HEALTHS,
    INFOSETS,
    OPPONENTS,
    PLAYED,
    SECONDS,
    SOLVED,
    STAGE,
    STARTS,
    STATED,
    TABLES,
)
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, count_runs, row
from dancfr.report.figures import Wanted, build
from dancfr.report.history import History, Settings
from dancfr.report.plots import Line, Panel, Plot, draw_lines
from dancfr.runs.run import Run
from envs.cheat import Cheat
from envs.game import GameBase
from envs.tree import compile_tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.cheat_cfr.solver import count_infosets


def compare_costs(abstraction: bool, settings: Settings, scale: Scale) -> Comparison:
    """Compares time and number of infosets of 100 iterations (Tables 1 and 2).

    The number of infosets counts all that are reachable under the rules; the note has those that the runs visited.
    """
    rows: list[Row] = []
    names = {preset: name for name, preset in AGENTS.items()}
    for runs in settings.values():
        config = Run.open(runs[0].path).config_as(CheatCfrConfig)
        game = make_game_as(Cheat, config.game, **config.game_options)
        name, place = names[runs[0].preset], HEALTHS.index(game.health)
        cell = f"{name}{'†' if abstraction else ''} Cheat-{game.health}"
        seconds = summarise([float(run.metric("time/traversal_s")[1].sum()) for run in runs])
        nodes = np.mean([float(run.metric("cfr/nodes")[1].sum()) for run in runs])
        note = f"mean over {count_runs(seconds.n)}; {nodes:,.0f} nodes, without those that neither player reaches"
        rows.append(row(f"{cell}, seconds", SECONDS[abstraction][name][place], seconds.mean, seconds.sd, note))
        exact = count_infosets(game, config.key_form)
        met = np.mean([float(run.last("cfr/infosets")) for run in runs])
        note = f"by enumeration; {met:,.0f} with weight in 100 iterations"
        if abstraction and config.key_form.history:
            note += f"; another abstraction: the last {config.turns} turns, since the paper does not define a round"
        rows.append(row(f"{cell}, infosets", INFOSETS[abstraction][name][place], float(exact), None, note))
    return Comparison(rows, [], unit="Seconds of 100 iterations on one core, and infosets of both players.")


def compare_exploitability(settings: Settings, scale: Scale) -> Comparison:
    """Computes NashConv after 100 iterations, against best responses with perfect recall; it is not in the paper."""
    rows: list[Row] = []
    for health in SOLVED:
        game = make_game("mini-cheat", health=health)
        form = sequence_form(compile_tree(game))
        uniform = evaluate_policy(form, form.tree.uniform())
        rows.append(row(f"Cheat-{health} uniform", None, uniform.nash_conv, None, f"{form.tree.num_nodes:,} nodes"))
        for name in (name for name in settings if f"-{health}" in name):
            for policy, played in (("average", "exact"), ("last", "last")):
                agents: list[Any] = [make_agent(f"{run.path}?average={played}", game) for run in settings[name]]
                found = summarise([evaluate_policy(form, agent.tree_policy(form.tree)).nash_conv for agent in agents])
                note = f"mean over {count_runs(found.n)}"
                cell = f"Cheat-{health} {name.replace(f'-{health}', '').replace('-table', '')} {policy}"
                rows.append(row(cell, None, found.mean, found.sd, note))
    return Comparison(rows, [], unit="NashConv, exact; a win is worth 1 and a defeat -1.")


def compare_win_rates(challenge_last: bool, settings: Settings, scale: Scale) -> Comparison:
    """Compares Fig. 1: win rates against the bots over 100 iterations, of the average and the last strategy."""
    rows: list[Row] = []
    for name, runs in settings.items():
        for opponent in ALL_BOTS if challenge_last else OPPONENTS:
            for policy in ("average", "last"):
                final = summarise([100 * _win_rates(run, opponent, policy)[1][-1] for run in runs])
                paper = STATED.get(opponent) if name == "Memoryless-3" else None
                note = f"mean over {count_runs(final.n)} of {runs[0].final()[0]['games']:,} games"
                if paper is not None:
                    note += '; the paper says "almost" 90 and 75, strongest of the four'
                elif policy == "average" and opponent in STATED:
                    note += "; the paper: most above the baseline" if opponent == "random" else "; the paper: over 60"
                rows.append(row(f"{name} {policy} vs {opponent}", paper, final.mean, final.sd, note))
    rows += _baselines(challenge_last)
    wanted: list[Wanted] = [
        (f"Fig. 1 against {opponent}", "evaluation rows", partial(_curves, settings, opponent, "fig1", False))
        for opponent in OPPONENTS
    ]
    figures, left_out = build(wanted)
    return Comparison(rows, figures, left_out, unit=_PERCENT)


def compare_generalisation(challenge_last: bool, settings: Settings, scale: Scale) -> Comparison:
    """Compares Fig. 2: agents trained on Cheat-3 in games with other health points."""
    rows: list[Row] = []
    lines: dict[str, list[Line]] = {opponent: [] for opponent in OPPONENTS}
    games = {health: make_game("mini-cheat", health=health, challenge_last=challenge_last) for health in PLAYED}
    for i, (name, runs) in enumerate(settings.items()):
        for opponent in OPPONENTS:
            curves = [
                [_rate(run, game, opponent, scale.games, seed) for game in games.values()]
                for seed, run in enumerate(runs)
            ]
            lines[opponent].append(
                Line(
                    name,
                    over_iterations([(np.arange(1.0, 1 + len(PLAYED)), np.array(c, np.float64)) for c in curves]),
                    i,
                )
            )
            for place, health in enumerate(PLAYED):
                found = summarise([100 * curve[place] for curve in curves])
                note = f"mean over {count_runs(found.n)} of {scale.games:,} games"
                rows.append(row(f"{name} vs {opponent} in Cheat-{health}", None, found.mean, found.sd, note))
    panels = [
        Panel(
            f"against {opponent}",
            f"Cheat-n for n = {', '.join(map(str, PLAYED))}",
            "games won",
            lines[opponent],
            percent=True,
        )
        for opponent in OPPONENTS
    ]
    note = (
        "The paper draws this figure without numbers. It says that agents that know health points play well only in "
        "the game they were trained on, and that the memoryless agent generalises best."
    )
    figure = draw_lines("fig2-generalisation", "Agents of Cheat-3 in other games", note, panels, "games won", note)
    return Comparison(rows, [figure], unit=_PERCENT)


def compare_curriculum(settings: Settings, scale: Scale) -> Comparison:
    """Compares Fig. 3: training on Cheat-4 from scratch, and from the result of Cheat-3, in two readings."""
    rows: list[Row] = []
    names = list(settings)
    shifted = {name: [_from_stage(run) if "from" in name else run for run in runs] for name, runs in settings.items()}
    for start in range(0, len(names), len(STARTS)):
        trained = names[start : start + len(STARTS)]
        for opponent in OPPONENTS:
            for at, said in ((5, "after 5 iterations"), (STAGE, f"after {STAGE} iterations")):
                rates = {n: [100 * _at(run, opponent, at) for run in shifted[n]] for n in trained}
                for name, found in ((n, summarise(r)) for n, r in rates.items()):
                    claim = "useful except for HP-Aware" if "from" in name else "the lower curve except for HP-Aware"
                    note = f"mean over {count_runs(found.n)}; the paper, without numbers: {claim}"
                    rows.append(row(f"{name} vs {opponent} {said}", None, found.mean, found.sd, note))
    wanted: list[Wanted] = [
        (f"Fig. 3 against {opponent}", "evaluation rows", partial(_curves, shifted, opponent, "fig3", True))
        for opponent in OPPONENTS
    ]
    figures, left_out = build(wanted)
    return Comparison(rows, figures, left_out, unit=_PERCENT)


_PERCENT = "Win rates are percent of games."


def _curves(settings: Settings, opponent: str, figure: str, by_agent: bool) -> Plot | None:
    """Draws win rates over iterations: a panel per agent with its `STARTS` if `by_agent`; otherwise a panel with all
    agents without abstraction and a panel with abstraction."""
    names, panels, labels = list(settings), [], list(STARTS if by_agent else AGENTS)
    for start in range(0, len(names), len(labels)):
        part = names[start : start + len(labels)]
        lines = [
            Line(
                f"{labels[i]}, {policy}",
                over_iterations([run.win_rates(opponent, policy) for run in settings[name]]),
                i,
                dash,
            )
            for i, name in enumerate(part)
            for dash, policy in enumerate(("average", "last"))
        ]
        reference = (BASELINE / 100, "heuristic against random") if opponent == "random" else None
        abstraction = f"{'with' if '†' in part[0] else 'without'} abstraction"
        title = part[0].split("-4")[0] if by_agent else abstraction
        panels.append(Panel(title, "iterations", "games won", lines, percent=True, reference=reference))
    note = f"Games won against {opponent}; bands: {panels[0].lines[0].band.means}."
    return draw_lines(f"{figure}-against-{opponent}", f"Win rates against {opponent}", note, panels, "games won", note)


def _win_rates(run: History, opponent: str, policy: str = "average") -> Curve:
    """Returns the win rates of a run over iterations.

    Raises:
        RunError: the run was not evaluated against the opponent.
    """
    curve = run.win_rates(opponent, policy)
    if not len(curve[0]):
        raise RunError(f"{run.path} has no evaluation against {opponent}: leave out settings of evaluation")
    return curve


def _at(run: History, opponent: str, iteration: int) -> float:
    """Returns the win rate of the average strategy at the evaluated iteration closest to `iteration`."""
    x, rates = _win_rates(run, opponent)
    return float(rates[np.abs(x - iteration).argmin()])


def _from_stage(run: History) -> History:
    """Returns the second stage of a run of two stages, with iterations counted from its start."""
    kept: list[dict[str, Any]] = [
        each | {"iteration": each["iteration"] - STAGE} for each in run.evaluations if each["iteration"] >= STAGE
    ]
    return replace(run, evaluations=tuple(kept))


def _rate(run: History, game: GameBase, opponent: str, games: int, seed: int) -> float:
    agents = make_agent(str(run.path), game), make_agent(opponent, game)
    return play(game, agents, games, np.random.default_rng(seed)).win_rate


def _baselines(challenge_last: bool) -> list[Row]:
    """Returns rows with the win rates of both heuristic bots against the random bot."""
    game, games, rows = make_game("mini-cheat", challenge_last=challenge_last), 20_000, []
    for bot, said in BASELINE_NOTES.items():
        agents = make_agent(bot, game), make_agent("random", game)
        found = play(game, agents, games, np.random.default_rng(1))
        note = f"{games:,} games; the paper: about 80; {said}"
        rows.append(row(f"{bot} vs random", BASELINE, 100 * found.win_rate, None, note))
    return rows


EXPERIMENTS = {
    "cheat-table1": Experiment(
        "Paper 001, Table 1: time and infosets of four agents on Cheat-3 to Cheat-5.",
        "cheat",
        TABLES[False],
        partial(compare_costs, False),
    ),
    "cheat-table2": Experiment(
        "Paper 001, Table 2: time and infosets of four agents with Infoset Abstraction.",
        "cheat",
        TABLES[True],
        partial(compare_costs, True),
    ),
    "cheat-exploitability": Experiment(
        "Beyond paper 001: exact exploitability of the four agents on Cheat-3 and Cheat-4.",
        "cheat",
        EXACT,
        compare_exploitability,
    ),
    "cheat-fig1": Experiment(
        "Paper 001, Fig. 1: win rates on Cheat-3 over the iterations, with and without Infoset Abstraction.",
        "cheat",
        FIG1,
        partial(compare_win_rates, False),
    ),
    "cheat-fig2": Experiment(
        "Paper 001, Fig. 2: agents of Cheat-3 in games from Cheat-2 to Cheat-100.",
        "cheat",
        FIG2,
        partial(compare_generalisation, False),
    ),
    "cheat-fig3": Experiment(
        "Paper 001, Fig. 3: Cheat-4 from scratch and from the result of Cheat-3, with and without copies of infosets.",
        "cheat",
        FIG3,
        compare_curriculum,
    ),
}
