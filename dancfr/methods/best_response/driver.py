"""`dancfr exploit`: what a best response to a frozen agent wins, as a lower bound of its exploitability.

The agent is frozen; a responder learns to win against it, in each seat by a net of its own. Deep Monte-Carlo:
for t = 1, 2, ..., until the budget is spent:
    in each seat, games of the responder, epsilon-greedy by its net, against the agent;
    what came of its decisions goes to a circular buffer, to which its net is then fitted.
Now and then the nets play greedily: the curve. In the end those that did best play again, the best of them is chosen in
each seat, and fresh games say what it wins: a maximum over noisy evaluations would be too high.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.by_name import make_agent
from dancfr.agents.match_rules import match_rules
from dancfr.errors import warn
from dancfr.evaluation.statistics import bounded_mean
from dancfr.methods.best_response.actors import PLAYERS, Nets, ResponseCrew, one_line_errors
from dancfr.methods.best_response.agent import check_folder, store_response
from dancfr.methods.best_response.config import ExploitRequest, response_settings, two_player_game
from dancfr.methods.launch import check_options
from dancfr.methods.signals import Stop, catching
from learners.best_response.settings import ResponseSettings
from learners.networks.settings import Weights

SEATS = ("first", "second")
LOOK, FINALISTS, FINAL = 2, 3, 4
"""Purposes of games that measure, the second word of their seeds."""
STRETCH = 1.2
"""At each point of the curve there have been so many times as many iterations as at the one before."""
FINALS = 3
"""So many nets a seat play again before one is chosen."""
LESS = 5
"""A point of the curve takes so many times fewer games than the result."""


@dataclass(frozen=True)
class Candidate:
    """A net of one seat: training games before it, its mean return at its point of the curve, its weights."""

    games: int
    value: float
    net: Weights


@dataclass
class Training:
    """What a training leaves behind: the nets of each seat, one a point of the curve, and what it took."""

    candidates: tuple[list[Candidate], list[Candidate]] = field(default_factory=lambda: ([], []))
    curve: list[list[float]] = field(default_factory=list)  # games, seconds, mean of both seats' values
    games: int = 0
    iterations: int = 0
    seconds: float = 0.0


def exploit(request: ExploitRequest, report: Callable[[str], None] = warn) -> dict[str, Any]:
    """Trains a best response and measures what it wins; the keys of `dancfr exploit --json`.

    Raises:
        UsageError: an unknown name, a game in which that says nothing of exploitability, or impossible settings.
        RunError: the training failed.
    """
    rules, options = match_rules(request.game, (request.agent,), request.settings, request.ply_limit)
    game = two_player_game(rules)
    settings = response_settings(game.spec, request.overrides)
    place = check_options(request.options)
    agent = make_agent(request.agent, rules)
    check_folder(request.out)
    with (
        catching("training ends, measuring what there is") as stop,
        one_line_errors(),
        ResponseCrew(game, agent, settings, request.seed, place) as crew,
    ):
        training = train(crew, settings, request, stop, report)
        report("choosing among the best nets of the curve, then measuring by fresh games")
        chosen = [choose(crew, training.candidates, seat, request.eval_games // 4) for seat in PLAYERS]
        nets = [each.net for each in chosen]
        returns = crew.measure(nets, FINAL, 0, request.eval_games // 2)
    result: dict[str, Any] = {
        "agent": request.agent,
        "game": request.game,
        "game_options": options,
        "exact": False,
        "seed": request.seed,
        "games": training.games,
        "iterations": training.iterations,
        "seconds": training.seconds,
        **bounds(returns, game.spec.max_return),
        "max_return": game.spec.max_return,
        "eval_games": sum(map(len, returns)),
        "chosen_after_games": [each.games for each in chosen],
        "curve": training.curve,
        "seat_curves": {
            name: [[each.games, each.value] for each in training.candidates[seat]]
            for seat, name in zip(PLAYERS, SEATS, strict=True)
        },
    }
    return result | store_response(request.out, result, settings.network, nets)


def train(
    crew: ResponseCrew,
    settings: ResponseSettings,
    request: ExploitRequest,
    stop: Stop,
    report: Callable[[str], None],
) -> Training:
    """Plays and fits until the budget is spent or somebody stops it.

    Games of iteration t are played by the nets of fit t - 2 while fit t - 1 runs, as in Deep Monte-Carlo here: a budget
    of games gives the same nets with any number of workers.
    """
    done, started, look = Training(), perf_counter(), 2
    for t in count(1):
        left = math.inf if request.games is None else request.games - done.games
        games, blocks = crew.play(t, t > settings.warm_up, left)
        nets = crew.finish_fits()
        crew.store(blocks, t)
        crew.begin_fits(t)
        done.games, done.iterations, done.seconds = done.games + games, t, perf_counter() - started
        over = spent(request, done) or stop.requested
        if over or t >= look:
            look = math.ceil(max(t + 1, STRETCH * t))
            nets = crew.finish_fits() if over else nets
            values = look_at(crew, nets, t, request.eval_games // LESS // 2, done)
            done.seconds = perf_counter() - started
            done.curve.append([done.games, done.seconds, sum(values) / 2])
            report(
                f"{done.games:,} games, {done.seconds:.0f} s: {sum(values) / 2:+.3f} a game "
                f"({values[0]:+.3f} moving first, {values[1]:+.3f} second)"
            )
        if over:
            return done
    raise AssertionError("no end")  # pragma: no cover


def look_at(crew: ResponseCrew, nets: Nets, t: int, games: int, done: Training) -> list[float]:
    """Mean returns of the nets in each seat; they become candidates."""
    values = [float(returns.mean()) for returns in crew.measure(nets, LOOK, t, games)]
    for seat in PLAYERS:
        done.candidates[seat].append(Candidate(done.games, values[seat], nets[seat]))
    return values


def choose(crew: ResponseCrew, candidates: tuple[list[Candidate], list[Candidate]], seat: int, games: int) -> Candidate:
    """The net of a seat that does best in games which are neither those of the curve nor those of the result."""
    ranked = sorted(candidates[seat], key=lambda each: each.value, reverse=True)[:FINALS]
    if len(ranked) == 1:
        return ranked[0]
    means = [float(crew.measure([each.net] * 2, FINALISTS, 0, games, [seat])[0].mean()) for each in ranked]
    return ranked[int(np.argmax(means))]


def bounds(returns: Sequence[NDArray[np.float32]], most: float) -> dict[str, Any]:
    """What the returns of the responder in both seats say of the frozen agent.

    NashConv of an agent that plays both seats of a two-player zero-sum game is what best responses win in the one and
    in the other, added up; exploitability is half of it. Nothing wins more than a best response, so that both are at
    least what any response wins, and at least 0.

    Args:
        returns: Of the games in the first seat and of those in the second, `[n]` each.
        most: Largest absolute return of a game.
    """
    found = [bounded_mean(each, most) for each in returns]
    value = sum(each.mean for each in found) / 2
    middle = sum(each.middle for each in found) / 2
    half = 1.96 * math.hypot(*(each.error for each in found)) / 2
    low, high = max(min(middle - half, value), -most), min(max(middle + half, value), most)
    return {
        "value": value,
        "value_ci95": [low, high],
        "seats": {
            name: {"value": each.mean, "ci95": [each.low, each.high], "games": len(part)}
            for name, each, part in zip(SEATS, found, returns, strict=True)
        },
        "nash_conv_lower_bound": max(2 * value, 0.0),
        "exploitability_lower_bound": max(value, 0.0),
        "exploitability_at_least": max(low, 0.0),
    }


def spent(request: ExploitRequest, done: Training) -> bool:
    """Whether the budget is."""
    timed = request.seconds is not None and done.seconds >= request.seconds
    return timed or (request.games is not None and done.games >= request.games)
