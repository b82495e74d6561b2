"""GuanDan at a table whose seats are rotated: every rule gives the rotated result."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.game import States
from envs.guandan import GuanDan
from envs.guandan.rules.cards import DECK_HIGH, DECK_LOW, unpack
from envs.guandan.rules.state import GIVE_BACK, NOBODY, PAY, PLAY, SEATS, state_dtype
from envs.guandan.rules.tables import finish_levels
from envs.ragged import choose_rows

BY_SEAT = ("low", "high", "played_low", "played_high", "last_low", "last_high", "left", "shown")
BY_TEAM = ("levels", "attempts")
SEAT_NUMBERS = ("holder", "to_move", "order", "former", "payer", "receiver")
TEAM_NUMBERS = ("owner", "winner")
OTHERS = (
    *("seed", "beat_low", "beat_high", "beat_kind", "beat_rank", "beat_size", "phase", "passes", "out", "level"),
    *("paid", "back", "tributes", "settled", "refused", "points", "number", "decisions"),
)
SHIFTS = pytest.mark.parametrize("shift", [1, 2, 3])


def rotated(states: States, shift: int) -> States:
    """The same tables with seat s in place of seat (s + shift) % 4."""
    assert {*BY_SEAT, *BY_TEAM, *SEAT_NUMBERS, *TEAM_NUMBERS, *OTHERS} == set(state_dtype.names or ())
    found = states.copy()
    for name in (*BY_SEAT, *BY_TEAM):
        found[name] = np.roll(states[name], shift, axis=1)
    for name in (*SEAT_NUMBERS, *TEAM_NUMBERS):
        count = 2 if name in TEAM_NUMBERS else SEATS
        found[name] = np.where(states[name] == NOBODY, NOBODY, (states[name] + shift) % count)
    found["points"] = states["points"] * (-1) ** shift
    return found


def hands_of(states: States) -> list[list[list[str]]]:
    return [[unpack(low, high) for low, high in zip(table["low"], table["high"], strict=True)] for table in states]


def same(ours: States, theirs: States) -> bool:
    """Whether tables agree in all but the seats of tributes that this round does not have."""
    ours, theirs = ours.copy(), theirs.copy()
    for states in (ours, theirs):
        for name in ("payer", "receiver", "paid", "back"):
            states[name] = np.where(np.arange(2) < states["tributes"][:, None], states[name], 0)
    return bool((ours == theirs).all())


def start(game: GuanDan, tables: int) -> States:
    """Tables at random rounds of matches, a third of them at level A for one team, and a third for both."""
    states = game.start(np.arange(tables, dtype=np.uint64))
    for third, teams in ((1, [0]), (2, [0, 1])):
        these = np.flatnonzero(np.arange(tables) % 3 == third)
        states["level"][these], states["owner"][these] = 12, 0
        for team in teams:
            states["levels"][these, team] = 12
    game.deal(states, hands_of(states), states["to_move"].tolist())
    return states


@SHIFTS
@pytest.mark.parametrize("length", ["round", "match"])
def test_play_rotates(length, shift):
    """Random play through tributes, rounds and ends of games; rounds that begin are dealt the rotated hands."""
    game, rng = GuanDan(length=length), np.random.default_rng(shift)
    states = start(game, 24)
    theirs = rotated(states, shift)
    seen: set[str] = set()
    for _ in range(700):
        assert same(rotated(states, shift), theirs)
        assert game.returns(theirs).tolist() == np.roll(game.returns(states), shift, axis=1).tolist()
        assert game.endings(theirs).tolist() == game.endings(states).tolist()
        seen |= {f"phase {phase}" for phase in states["phase"]} | {f"winner {team}" for team in states["winner"]}
        going = ~game.finished(states)
        states, theirs = states[going], theirs[going]
        if not len(states):
            break
        legal, others = game.legal(states), game.legal(theirs)
        assert legal.rows.tobytes() == others.rows.tobytes()
        players = rng.integers(0, SEATS, len(states))
        assert np.array_equal(game.observe(states, players), game.observe(theirs, (players + shift) % SEATS))
        chosen = legal.rows[choose_rows(legal.offsets, rng.random(len(states)))]
        number = states["number"].copy()
        game.step(states, chosen)
        game.step(theirs, chosen)
        dealt = np.flatnonzero((states["number"] > number) & ~game.finished(states))
        if len(dealt):
            seen |= {f"double {states['former'][b, 0] % 2 == states['former'][b, 1] % 2}" for b in dealt}
            here = theirs[dealt]
            game.deal(here, hands_of(rotated(states[dealt], shift)))
            theirs[dealt] = here
    rounds = {"double True", "double False"} if length == "match" else set()
    assert seen >= {f"phase {phase}" for phase in (PLAY, PAY, GIVE_BACK)} | rounds | {"winner 0", "winner 1"}


HIGHEST = {  # highest cards of the seat after the first and of the seat before it: who leads, in seats after the first
    ("HR", "SB"): 1,
    ("SB", "HR"): 3,
    ("SA", "HA"): 1,  # equal tributes: the payer whose card goes to the first
    ("HK", "HK"): 1,
    ("SB", "SB"): 1,
    ("HR", "HR"): 0,  # they refuse to pay
    ("HR HR", "SA"): 0,
    ("SA", "HR HR"): 0,
}


def deal_with(highest: tuple[str, str]) -> list[list[str]]:
    """Hands of 27 cards in which seats 1 and 3 hold these, and none that is higher and not wild."""
    low = [card for card in unpack(DECK_LOW, DECK_HIGH) if card[1] in "3456789T"]
    payers = [[*cards.split(), *low[27 * i :]][:27] for i, cards in enumerate(highest)]
    rest = unpack(DECK_LOW, DECK_HIGH)
    for card in [*payers[0], *payers[1]]:
        rest.remove(card)
    return [rest[:27], payers[0], rest[27:], payers[1]]


def doubles(game: GuanDan) -> NDArray[np.int8]:
    """Orders of rounds that a team won by coming first and second."""
    former = game.start(np.arange(500, dtype=np.uint64))["former"]
    return former[(former[:, 0] != NOBODY) & ((former[:, 0] - former[:, 1]) % 2 == 0)]


@pytest.mark.parametrize("first", range(SEATS))
@pytest.mark.parametrize("highest", HIGHEST, ids=str)
def test_double_tribute_rotates(highest, first):
    """From any first seat: who pays whom in which order, who gives back, and who leads."""
    game, orders = GuanDan(length="match"), doubles(GuanDan())
    states = GuanDan(situation="first").start(np.zeros(1, np.uint64))
    theirs = rotated(states, first)
    for tables, seat in ((states, 0), (theirs, first)):
        tables["former"] = orders[orders[:, 0] == seat][0]
        hands = np.roll(np.array(deal_with(highest)), seat, axis=0)
        game.deal(tables, [hands.tolist()])
    while True:
        assert same(rotated(states, first), theirs)
        if states["phase"][0] == PLAY:
            break
        row = game.legal(states).rows[-1:]
        game.step(states, row)
        game.step(theirs, row)
    lead = HIGHEST[highest]
    assert (states["to_move"][0], theirs["to_move"][0]) == (lead, (lead + first) % SEATS)
    assert states["refused"][0] == (2 if lead == 0 else 0)
    if lead:
        assert states["payer"][0][states["receiver"][0] == 0] == [lead], "the first gets the card of the leader"


@pytest.mark.parametrize("options", [{}, {"double_tribute": "by_seat"}])
def test_by_seat_alone_orders_the_losers_by_seat(options):
    found = doubles(GuanDan(**options))
    first, last = found[:, 0], found[:, 3]
    by_seat = last > found[:, 2]
    assert by_seat.all() if options else (last == (first + 1) % SEATS).all()
    assert set(first) == set(range(SEATS))
    assert options or not by_seat.all()


@SHIFTS
def test_levels_rotate(shift):
    """All orders, with teams at low levels and at A, by whose level was played and how often they failed at A."""
    for order, own, other, owner, failed in itertools.product(
        itertools.permutations(range(SEATS)), (3, 11, 12), (0, 12), (0, 1, NOBODY), (0, 1, 2)
    ):
        table = np.zeros(1, state_dtype)
        table["order"], table["levels"], table["owner"], table["winner"] = order, (own, other), owner, NOBODY
        table["attempts"] = (failed, 1)
        theirs = rotated(table, shift)
        for states in (table, theirs):
            finish_levels(states[0], 3)
        assert same(rotated(table, shift), theirs)


@SHIFTS
def test_deals_of_hidden_cards_rotate(shift):
    game = GuanDan()
    states = start(game, 24)
    theirs = rotated(states, shift)
    players: NDArray[np.int8] = np.arange(24, dtype=np.int8) % SEATS
    seeds = np.arange(24, dtype=np.uint64)
    game.redeal(states, players, seeds)
    game.redeal(theirs, (players + shift) % SEATS, seeds)
    assert same(rotated(states, shift), theirs)
