"""The bots of GuanDan: the knowledge that they use, that they keep to the rules, and how often they win."""

import pickle
from collections.abc import Iterator

import numpy as np
import pytest

from envs.game import States
from envs.geister import Geister
from envs.guandan import GuanDan
from envs.guandan.bots.players import BOTS
from envs.guandan.rules.cards import DECK_HIGH, DECK_LOW
from tests.envs.guandan_tables import SEATS, chosen, table, team_rounds

ROUND = GuanDan()


def seeds(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


def share_won(states: States, team: np.ndarray, game: GuanDan = ROUND) -> float:
    return float((game.winners(states) == team).mean())


def cards_of(low: int, high: int) -> list[int]:
    whole = int(low) | int(high) << 64
    return [index for index in range(54) for _ in range(whole >> 2 * index & 3)]


def words_of(cards: list[int]) -> tuple[int, int]:
    whole = sum(1 << 2 * index for index in cards)
    return whole & (2**64 - 1), whole >> 64


def with_others_shuffled(states: States, rng: np.random.Generator) -> States:
    """The same tables with the cards that the mover does not see dealt again to the other hands."""
    shuffled = states.copy()
    for state in shuffled:
        others = [seat for seat in range(SEATS) if seat != state["to_move"]]
        pool = [card for seat in others for card in cards_of(state["low"][seat], state["high"][seat])]
        dealt = [pool[i] for i in rng.permutation(len(pool))]
        for seat in others:
            hand, dealt = dealt[: state["left"][seat]], dealt[state["left"][seat] :]
            state["low"][seat], state["high"][seat] = words_of(hand)
        state["seed"] = rng.integers(0, 2**64, dtype=np.uint64)  # the deal of the next round is in it
    return shuffled


def some_states() -> Iterator[States]:
    """States before decisions in rounds of all bots: about 600 plays, and all tributes of these rounds."""
    rng = np.random.default_rng(4)
    for pair in (("planner", "greedy"), ("random", "planner"), ("greedy", "random")):
        seen: list[States] = []
        team_rounds(ROUND, (BOTS[pair[0]](), BOTS[pair[1]]()), seeds(10, 3), seen)
        states = np.concatenate(seen)
        tributes = states[states["phase"] != 0]
        assert len(tributes) > 10
        yield tributes
        yield states[rng.permutation(len(states))[:200]]


@pytest.mark.parametrize("bot", ["greedy", "planner"])
def test_a_bot_looks_at_nothing_that_its_seat_does_not_know(bot: str) -> None:
    rng = np.random.default_rng(5)
    moved = 0
    for states in some_states():
        other = with_others_shuffled(states, rng)
        assert (other["low"].sum(1) + other["played_low"].sum(1) == DECK_LOW).all()
        assert (other["high"].sum(1) + other["played_high"].sum(1) == DECK_HIGH).all()
        moved += (other["low"] != states["low"]).any(1).sum()
        agent = BOTS[bot]()
        agent.begin(ROUND, len(states), rng)
        games = np.arange(len(states))
        assert (agent.act(states, games, rng) == agent.act(other, games, rng)).all()
    assert moved > 500


def test_random_looks_at_nothing_that_its_seat_does_not_know() -> None:
    """It draws from the legal actions, which depend on the hand and on the move to beat alone."""
    for states in some_states():
        other = with_others_shuffled(states, np.random.default_rng(5))
        agent = BOTS["random"]()
        agent.begin(ROUND, len(states), np.random.default_rng())
        games = np.arange(len(states))
        first, second = (agent.act(s, games, np.random.default_rng(6)) for s in (states, other))
        assert (first == second).all()


@pytest.mark.parametrize("pair", [("planner", "random"), ("greedy", "random"), ("planner", "planner")])
def test_bots_play_rounds_and_matches_by_the_rules(pair: tuple[str, str]) -> None:
    agents = BOTS[pair[0]](), BOTS[pair[1]]()
    states, _ = team_rounds(ROUND, agents, seeds(500, 7))  # step refuses what is illegal
    assert ROUND.finished(states).all()
    match = GuanDan(length="match", situation="first", double_tribute="by_seat")
    states, _ = team_rounds(match, agents, seeds(10, 8))
    assert match.finished(states).all()


@pytest.mark.parametrize("bot", BOTS)
def test_the_same_seed_gives_the_same_rounds(bot: str) -> None:
    rounds = 6 if bot in ("counter", "reader") else 50  # these play several seconds a round
    runs = [team_rounds(ROUND, (BOTS[bot](), BOTS["random"]()), seeds(rounds, 9))[0] for _ in range(2)]
    assert runs[0].tobytes() == runs[1].tobytes()


def test_a_bot_does_not_depend_on_the_other_tables() -> None:
    seen: list[States] = []
    team_rounds(ROUND, (BOTS["planner"](), BOTS["greedy"]()), seeds(5, 10), seen)
    states = np.concatenate(seen)[::3]
    for bot in ("greedy", "planner"):
        together, order = chosen(BOTS[bot](), states), np.random.default_rng(0).permutation(len(states))
        assert chosen(BOTS[bot](), states[order]) == [together[i] for i in order]


@pytest.mark.parametrize("bot", BOTS)
def test_bots_are_cheap_to_send(bot: str) -> None:
    agent = pickle.loads(pickle.dumps(BOTS[bot]()))
    assert agent.name == bot
    assert len(pickle.dumps(agent)) < 1_000
    with pytest.raises(RuntimeError, match="call begin"):
        agent.act(ROUND.start(seeds(1, 0)), np.arange(1), np.random.default_rng(0))


@pytest.mark.parametrize("bot", ["greedy", "planner"])
def test_bots_of_guandan_refuse_other_games(bot: str) -> None:
    with pytest.raises(ValueError, match="plays guandan only, not geister"):
        BOTS[bot]().begin(Geister(), 1, np.random.default_rng(0))


@pytest.mark.parametrize(("better", "worse", "least"), [("greedy", "random", 0.88), ("planner", "greedy", 0.85)])
def test_how_often_bots_win_rounds(better: str, worse: str, least: float) -> None:
    """Over many rounds they win 96 % and 94 %; of 600 that leaves more than five standard deviations."""
    states, team = team_rounds(ROUND, (BOTS[better](), BOTS[worse]()), seeds(300, 11))
    assert share_won(states, team) > least


def test_planner_wins_matches() -> None:
    match = GuanDan(length="match", situation="first")
    states, team = team_rounds(match, (BOTS["planner"](), BOTS["greedy"]()), seeds(10, 12))
    assert share_won(states, team, match) > 0.8


GREEDY = {
    "the weakest card that suffices": (
        ("S3 H7 D9 DK", "4", ("Single", "6", ["D6"])),
        ("Single", "7", ["H7"]),
    ),
    "a wild card only if it must": (
        ("S9 H4 DK DA", "4", ("Pair", "6", ["D6", "C6"])),
        ("Pair", "9", ["S9", "H4"]),
    ),
    "no wild card if there is another way": (
        ("S9 H4 DK CK DA", "4", ("Pair", "6", ["D6", "C6"])),
        ("Pair", "K", ["CK", "DK"]),
    ),
    "a bomb if nothing else beats": (
        ("S3 S9 H9 C9 D9 D3", "2", ("Pair", "A", ["DA", "CA"])),
        ("Bomb", "9", ["S9", "H9", "C9", "D9"]),
    ),
    "no bomb if anything else does": (
        ("S9 H9 C9 D9 SB HR", "2", ("Single", "A", ["DA"])),
        ("Single", "B", ["SB"]),
    ),
    "a pass if nothing does": (("S3 S9 D3", "2", ("Pair", "A", ["DA", "CA"])), ("PASS", "PASS", "PASS")),
    "leads all cards of its weakest rank": (("S4 D4 C4 S5 H9", "2", None), ("Trips", "4", ["S4", "C4", "D4"])),
    "leads no bomb if it has other ranks": (("S4 D4 C4 H4 S5 H9", "2", None), ("Single", "5", ["S5"])),
    "leads a bomb if it has nothing else": (("S4 D4 C4 H4", "2", None), ("Bomb", "4", ["S4", "H4", "C4", "D4"])),
    "leads all cards of its level": (("S4 D4 SB HR", "4", None), ("Pair", "4", ["S4", "D4"])),
    "its level is strong": (("S4 D4 S5 HR", "4", None), ("Single", "5", ["S5"])),
}


@pytest.mark.parametrize("case", GREEDY)
def test_what_greedy_does(case: str) -> None:
    (hand, level, beat), expected = GREEDY[case]
    for holder in (1, 2, 3):  # a partner's play too
        states = table([hand, "S2 C2 S7", "C7 SJ CJ", "ST CT SQ"], level, beat=beat, holder=holder)
        (action,) = chosen(BOTS["greedy"](), states)
        assert action[:2] == expected[:2]
        assert sorted(action[2]) == sorted(expected[2])
