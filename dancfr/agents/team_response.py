"""`dancfr exploit` in games of teams: a response of one team, whose seats share a net, to a frozen agent in the other.

The response is a policy over candidates (`dancfr.methods.candidate_policy`) that plays every game of its training
against the frozen agent. Both teams play each deal of the measurement, so a frozen team wins 0 against itself and what
the response wins bounds what a best response of two seats that share a policy wins. As in two-player games, the bound
by the best of several agents allows for the choice, see `dancfr.methods.best_response.result.bounds`.
"""

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from dancfr.agents.by_name import make_agent
from dancfr.agents.continuing import refuse_fixed
from dancfr.errors import RunError, UsageError
from dancfr.evaluation.arena import MatchResult, play
from dancfr.evaluation.statistics import quantile_of_best
from dancfr.methods.best_response.config import FRESH, RESULT
from dancfr.methods.candidate_policy import METHOD
from dancfr.methods.candidate_policy.config import QUICK, CandidatePolicyConfig
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.settings import EvaluationSettings
from dancfr.runs.folder import write_json
from dancfr.runs.run import Run
from envs.capabilities import largest_return
from envs.game import GameBase, ListedGame
from learners.listed.settings import QNetworkSettings

if TYPE_CHECKING:
    from dancfr.agents.exploit import ExploitRequest

PRESET = "guandan-quick"
EVAL_GAMES = 2000
"""Games of the measurement, by default; each deal is played from both sides."""
FEWER = 10
"""A point of the curve takes this many times fewer games."""
POINTS = 5
"""Points of the curve before its end, at most."""
EVERY = 20
"""Iterations between stored nets."""
CONTINUED = {"learning_rate": 3e-4, "learning_rate_end": 3e-5, "entropy": 0.004, "entropy_end": 0.002}
"""Settings of a response that starts from a trained net, which those of a fresh one would spoil first."""
FIXED = frozenset(
    {
        *("seed", "start", "games", "iterations", "minutes", "samples"),
        *("game", "game_options", "curriculum", "opponents", "partners", "evaluation"),
    }
)
"""Settings that make the training a response, and those that have an option of the command."""
_CURVE, _FINAL = 1, 2  # second words of the seeds of the games


def has_teams(rules: GameBase) -> bool:
    """Returns whether the game is one of teams, whose actions are listed."""
    return bool(rules.spec.teams) and isinstance(rules, ListedGame)


def exploit_team(
    request: "ExploitRequest", game: str, rules: GameBase, options: Mapping[str, Any], minutes: float | None
) -> dict[str, Any]:
    """Trains a response and measures its return; returns the result of `dancfr exploit --json`.

    Args:
        request: The request; `request.minutes` bounds the training alone.
        game: Name of the game.
        rules: The game.
        options: Its options.
        minutes: Minutes of training; None: no limit.

    Raises:
        UsageError: a name is unknown, or the request asks for what only games without teams have.
        RunError: the training failed or was stopped.
    """
    config, start = _configured(request, game, rules, options, minutes)
    for name in (request.agent, *request.known):  # reports a wrong name before the training starts
        request.make_agent(name, rules)
    with tempfile.TemporaryDirectory() as folder:
        path = request.out or Path(folder) / "run"
        inline = replace(request.options, make_agent=request.make_agent, kept=request.out is not None)
        clocks = perf_counter(), process_time()
        result = train(TrainRequest(PRESET, request.overrides, path, "off", inline, base=config))
        run = Run.open(path)
        if result["stopped"] and not run.list_strategies(0):
            raise RunError("stopped before the response was measured: no net had been stored")
        shares = (process_time() - clocks[1]) / max(perf_counter() - clocks[0], 1e-9)
        found = _measured(request, rules, run, start, shares)
        about = {"agent": request.agent, "game": game, "game_options": dict(options), "exact": False}
        about |= {"seed": config.seed, "budget": {"minutes": minutes, "games": request.games}, "starts": [start]}
        about |= found | {"seconds": perf_counter() - clocks[0], "cpu_seconds": process_time() - clocks[1]}
        if request.out is not None:
            write_json(request.out / RESULT, about)
            about["files"] = [str(request.out / RESULT)]
    return about


def _configured(
    request: "ExploitRequest", game: str, rules: GameBase, options: Mapping[str, Any], minutes: float | None
) -> tuple[CandidatePolicyConfig, str]:
    """Returns the configuration of the training, and the name of its start."""
    if request.beside_exact or len(request.starts) > 1:
        raise UsageError(f"{game} has teams: leave out --beside-exact, and give one --start at most")
    if not request.options.inline or request.options.device != "cpu":
        raise UsageError(f"{game} has teams: their responses train in this process, without --workers and --device")
    refuse_fixed(request.overrides, FIXED, game)
    start = request.starts[0] if request.starts else FRESH
    own: dict[str, Any] = {}
    if start != FRESH:
        training = QUICK.training.model_copy(update=CONTINUED)
        own = {"start": start, "network": _network_of(start, rules), "training": training}
    iterations = QUICK.iterations if request.games is None else math.ceil(request.games / QUICK.games)
    games = QUICK.games if request.games is None else request.games // iterations  # not more than asked for
    config = QUICK.varied(
        game=game,
        game_options=dict(options),
        seed=request.seed or 0,
        minutes=minutes,
        iterations=iterations,
        games=games,
        opponents={request.agent: 1.0},
        evaluation=EvaluationSettings(every=EVERY, opponents=("random",), games=2),  # stores the nets
        **own,
    )
    return config, start


def _network_of(start: str, rules: GameBase) -> QNetworkSettings:
    """Returns the network of an agent that a response starts from.

    Raises:
        UsageError: it has no Q-net.
    """
    from learners.listed.agent import QAgent

    agent = make_agent(start, rules)
    if not isinstance(agent, QAgent):
        raise UsageError(f"--start {start} has no net over listed actions: name a run of dmc or candidate-policy")
    return agent.network


def _measured(request: "ExploitRequest", rules: GameBase, run: Run, start: str, cores: float) -> dict[str, Any]:
    """Measures the stored nets for the curve, and the last one for the result; `cores` are CPU seconds a second."""
    rows = {row["iteration"]: row for row in run.read_metrics("train")}
    stored = sorted({file.iteration for file in run.list_strategies(0)})
    last, seed = stored[-1], request.seed or 0
    games = EVAL_GAMES if request.eval_games is None else request.eval_games + request.eval_games % 2
    places = np.unique(np.linspace(0, len(stored) - 1, POINTS + 1).astype(int))[:-1]
    few = max(games // FEWER, 2)
    points = [
        (t, _match(request, rules, f"{run.path}@{t}", few, (seed, _CURVE, t))) for t in (stored[i] for i in places)
    ]
    final = _match(request, rules, f"{run.path}@{last}", games, (seed, _FINAL))
    known = {name: _match(request, rules, name, games, (seed, _FINAL)) for name in request.known}  # in the same deals
    by, best = max([("response", final), *known.items()], key=lambda each: each[1].mean_return)
    curve = [_point(rows[t], found, cores) for t, found in [*points, (last, final)]]
    least = best.interval.middle - quantile_of_best(1 + len(known)) * best.interval.error
    low, high = final.mean_return_ci95
    decisions = int(rows[last][METHOD.samples])
    return {
        "games": last * int(run.info["config"]["games"]),
        "decisions": decisions,
        "value": final.mean_return,
        "value_ci95": [low, high],
        "seats": {},
        "known": {
            name: {"value": each.mean_return, "value_ci95": list(each.mean_return_ci95), "seats": {}}
            for name, each in known.items()
        },
        "bound_by": by,
        "win_rate": final.win_rate,
        "win_rate_ci95": list(final.paired_ci95),
        "exploitability_lower_bound": max(best.mean_return, 0.0),
        "exploitability_at_least": max(least, 0.0),
        "nash_conv_lower_bound": max(2 * best.mean_return, 0.0),
        "max_return": largest_return(rules),
        "eval_games": games,
        "curve": [],
        "start_curves": [{"start": start, "curve": curve}],
    }


def _match(request: "ExploitRequest", rules: GameBase, name: str, games: int, seed: Sequence[int]) -> MatchResult:
    """Plays a response, or another agent, against the frozen one."""
    agents = request.make_agent(name, rules), request.make_agent(request.agent, rules)
    return play(rules, agents, games, np.random.default_rng(seed))


def _point(row: Mapping[str, Any], found: MatchResult, cores: float) -> list[float]:
    """Decisions, CPU seconds and mean return."""
    return [float(row[METHOD.samples]), cores * float(row["elapsed_s"]), found.mean_return]
