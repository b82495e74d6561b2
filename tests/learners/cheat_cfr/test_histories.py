"""Numbers of infosets under readings of the history: every reading against plain Python, and against the solver."""

from typing import Any

from dancfr.bench.plain_cheat import ANSWER, CLAIM, CONTAINS, PICK, PlainGame
from dancfr.games.registry import make_game
from dancfr.papers.paper001_readings import HISTORIES
from envs.cheat import Cheat
from envs.cheat.turns import ANSWERING
from learners.cheat_cfr import histories as parts
from learners.cheat_cfr.histories import History, count_histories
from learners.cheat_cfr.keys import GENERAL, HISTORY_AWARE, KeyForm
from learners.cheat_cfr.solver import count_infosets

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
