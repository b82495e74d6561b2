"""Tests of the readings of paper 001: counts of infosets, challenges a game, averages of Memoryless."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.bench.plain_cheat import ANSWER, CLAIM, CONTAINS, PICK, PlainGame
from dancfr.games.registry import make_game
from dancfr.papers.paper001_readings import (
    AVERAGES,
    EXPERIMENTS,
    HISTORIES,
    compare_histories,
    count_challenges,
    memoryless_averages,
)
from dancfr.papers.reproduce import reproduce
from envs.cheat import Cheat
from envs.cheat.turns import ANSWERING
from learners.cheat_cfr import histories as parts
from learners.cheat_cfr.histories import History, count_histories
from learners.cheat_cfr.keys import GENERAL, HISTORY_AWARE, MEMORYLESS, KeyForm
from learners.cheat_cfr.solver import CheatSolver, count_infosets
from learners.cheat_cfr.strategy import CheatAgent

SMALL = Cheat(3, 2, dealt=2, health=2, max_discard=1, discards="sets")
Turns = list[dict[str, Any]]


def entries(history: History, turns: Turns, mover: int) -> tuple[Any, ...]:
    """The history of a reading, by a second implementation."""
    listed = list(enumerate(turns))
    if history.part == parts.WITHOUT_FIRST:
        listed = listed[history.size :]
    if history.part == parts.PILES:
        challenged = [i for i, turn in listed if turn["challenged"]]
        begin = challenged[-history.size] + 1 if len(challenged) >= history.size else 0
        listed = listed[begin:]
    chosen = [turn for _, turn in listed if turn["challenged"] or not history.challenged]
    if history.part == parts.LAST:
        chosen = chosen[-history.size :]
    if history.own:
        chosen = [turn for turn in chosen if turn["discarder"] == mover]
    always = {parts.CLAIM: "claim", parts.CHALLENGED: "challenged"}
    shown = {parts.CHALLENGED_CLAIM: "claim", parts.LIE: "lie", parts.SHOWN: "shown", parts.PILE: "pile"}
    return tuple(
        tuple(turn[name] for bit, name in always.items() if history.content & bit)
        + tuple(turn["challenged"] and (1, turn[name]) for bit, name in shown.items() if history.content & bit)
        for turn in chosen
    )


def infosets(game: Cheat, histories: tuple[History, ...]) -> list[list[list[int]]]:
    """Counts as `count_histories` does, by a recursion over games in plain Python."""
    rules = game.rule_set._replace(full=int(game.rule_set.full))  # type: ignore[arg-type]
    found: list[list[list[set[Any]]]] = [[[set(), set()], [set(), set()]] for _ in histories]

    def visit(state: PlainGame, turns: Turns) -> None:
        me = state.mover
        answering = state.phase == ANSWERING
        place = (me, state.hand[me], 1 + state.claimed if answering else int(sum(state.put) > 0))
        health = (state.health[me], state.health[1 - me])
        for history, sets in zip(histories, found, strict=True):
            key = (*place, entries(history, turns, me))
            for cards, rank in enumerate((state.rank, None)):
                sets[cards][0].add((key, rank))
                sets[cards][1].add((key, rank, health))
        for action in (0, 1) if answering else [d for d in game.sets.tolist() if CONTAINS(state.hand[me], d)]:
            child, more = state.copy(), turns
            if answering:
                turn = {
                    "discarder": state.discarder,
                    "claim": state.claimed,
                    "challenged": action == 1,
                    "lie": state.discard > 15,
                    "shown": state.discard,
                    "pile": sum((put >> 4 * rank) & 15 for put in state.put for rank in range(game.ranks)),
                }
                more = [*turns, turn]
                ANSWER(child, action, rules)
            else:
                PICK(child, action)
                CLAIM(child)
            if child.winner < 0:
                visit(child, more)

    for first in (0, 1):
        for hands in game.deals()[0].tolist():
            visit(PlainGame(hands, first, game.health), [])
    return [[[len(each) for each in pair] for pair in sets] for sets in found]


def test_infosets_of_every_reading_are_those_of_plain_python() -> None:
    counts = count_histories(SMALL, HISTORIES)
    assert counts.tolist() == infosets(SMALL, HISTORIES)
    assert len({tuple(each) for each in counts.reshape(len(HISTORIES), 4).tolist()}) > 10


def test_infosets_of_the_solver_are_those_of_its_reading() -> None:
    game = make_game("mini-cheat", health=3)
    counts = {h.name: each for h, each in zip(HISTORIES, count_histories(game, HISTORIES), strict=True)}
    for name, options, cards in (
        ("every turn: claim, challenged", {}, 0),
        ("every turn: challenged, and then the claim", {"claims": "challenged"}, 0),
        ("last 3 turns: claim, challenged", {"cards": True, "turns": 3}, 1),
    ):
        keys = [KeyForm(agent, **options) for agent in (HISTORY_AWARE, GENERAL)]  # type: ignore[arg-type]
        assert counts[name][cards].tolist() == [count_infosets(game, each) for each in keys]  # type: ignore[arg-type]


def test_histories_are_compared_with_both_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.papers.paper001_readings.HEALTHS", (3,))
    monkeypatch.setattr("dancfr.papers.paper001_readings.HISTORIES", HISTORIES[:2])
    rows = compare_histories({}, EXPERIMENTS["cheat-histories"].scales["quick"]).rows
    found = {row["cell"]: (row["paper"], row["ours"], row["note"]) for row in rows}
    assert len(found) == 8
    assert found["General Cheat-3, every turn: claim, challenged"] == (11433, 12910, "+12.9 %")
    assert found["History-Aware† Cheat-3, every turn: challenged, and then the claim"][:2] == (3668, 11670)


def test_challenges_are_counted() -> None:
    once = make_game("mini-cheat", health=1)
    assert isinstance(once, Cheat)
    agents = [make_agent("random", once), make_agent("heuristic", once)]
    assert set(count_challenges(once, agents, 300, 1).tolist()) == {0, 1}, "with one health point one ends the game"
    forced = replace(once, challenge_last=True)
    assert (count_challenges(forced, agents, 300, 1) == 1).all(), "no player wins without a challenge"


def test_the_paper_has_more_challenges_than_the_rules_without_a_last_one(tmp_path: Path) -> None:
    rows = reproduce("cheat-challenges", "quick", tmp_path, inline=True)["rows"]
    found = {row["cell"]: row["ours"] for row in rows}
    assert 1.5 < found["as here: random v random"] < 1.9
    assert 3.1 < found["last discard challenged: heuristic v random"] < 3.6
    assert all(row["paper"] == 3.5 for row in rows)


def test_averages_contain_the_solvers_own() -> None:
    game = make_game("mini-cheat", challenge_last=True)
    assert isinstance(game, Cheat)
    agents = memoryless_averages(game, 4)
    assert tuple(agents) == AVERAGES
    solver = CheatSolver(game, KeyForm(MEMORYLESS), 4)
    solver.run(100)
    states = game.reset(400, np.random.default_rng(1))
    packed, legal = game.observe(states, game.to_move(states)), game.legal(states)
    tables = {name: agent.table(packed, legal) for name, agent in agents.items()}
    for name, policy in (("weighted by own reach", "average"), ("last strategy", "last")):
        own = CheatAgent(game, KeyForm(MEMORYLESS), solver.strategy(), policy)
        assert np.array_equal(tables[name], own.table(packed, legal))
    assert all(np.allclose(table.sum(axis=1), 1.0) for table in tables.values())
    assert len({table.tobytes() for table in tables.values()}) == len(AVERAGES)
