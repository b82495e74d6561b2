"""Chance-sampled CFR on Mini-Cheat beside the same algorithm in plain Python."""

from time import process_time
from typing import Any

import numpy as np

from dancfr.bench.plain_cheat import PlainSolver
from dancfr.bench.timing import noise, rate, result, seconds_each
from dancfr.registry import make_game
from envs.cheat import Cheat
from envs.cheat.cards import unpack
from learners.cfr.cheat.keys import AGENTS, GENERAL, KeyForm
from learners.cfr.cheat.solver import CheatSolver

COMPARED = 30
"""Iterations of both."""
REPORTED = 100
"""As in paper 001, tables 1 and 2."""


def measure(seconds: float) -> dict[str, Any]:
    """Iterations/s, a deal each, of the general agent on Cheat-3 from the first iteration on; the limit is plain
    Python's rate on the same deals. The detail has CPU seconds of 100 iterations of each agent on Cheat-3 to Cheat-5.
    """
    game: Cheat = make_game("mini-cheat", health=3)
    calls = {"compiled": lambda: CheatSolver(game, KeyForm(GENERAL), 1).run(COMPARED), "plain": lambda: _plain(game)}
    times = seconds_each(calls, seconds * 0.6)
    ours, plain = rate(COMPARED, times["compiled"]), rate(COMPARED, times["plain"])
    detail = {
        "limit": "the same algorithm in plain Python",
        "noise": {name: noise(each) for name, each in times.items()},
        "100 iterations": {f"Cheat-{n}": {agent: _report(agent, n) for agent in AGENTS} for n in (3, 4, 5)},
    }
    return result("cheat-cfr", ours, "iterations/s", plain, ours / plain, detail)


def _report(agent: str, health: int) -> dict[str, Any]:
    """What 100 iterations take."""
    solver = CheatSolver(make_game("mini-cheat", health=health), KeyForm(agent), 1)
    started = process_time()
    solver.run(REPORTED)
    return {
        "seconds": round(process_time() - started, 4),
        "infosets": solver.table.used,
        "nodes": solver.nodes,
        "megabytes": round(solver.table.bytes / 1e6, 1),
    }


def _plain(game: Cheat) -> None:
    """Plain Python's iterations on the deals that the compiled solver draws."""
    solver = PlainSolver(game.ranks, game.max_discard, GENERAL)
    for iteration in range(COMPARED):
        deal = game.reset(1, np.random.default_rng(np.random.SeedSequence((1, iteration))))[0]
        hands = unpack(deal["hand"], game.ranks).tolist()
        solver.iterate((tuple(hands[0]), tuple(hands[1])), int(deal["discarder"]), game.health)
