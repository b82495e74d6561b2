"""The rules of GuanDan against an enumeration of all readings, and invariants of every position."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.game import IllegalAction, ListedGame
from envs.guandan import GuanDan, legal_actions
from envs.guandan.rules import state as tables_
from envs.guandan.rules.cards import (
    BOMB,
    CARDS,
    DECK_HIGH,
    DECK_LOW,
    FOUR_KINGS,
    KINDS,
    PASS,
    RANKS,
    NoSuchCard,
    action_dtype,
    counts_of,
    notation,
    pack,
    parse_action,
    size_of,
    unpack,
)
from envs.guandan.rules.comparison import beats, reads_as
from envs.guandan.rules.generation import LONGEST, plays
from envs.guandan.rules.tables import finish_levels
from envs.ragged import choose_rows
from tests.envs.guandan_matches import plain

MATCH = GuanDan(length="match", situation="first")


def random_choice(game: GuanDan, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    legal = game.legal(states)
    return legal.rows[choose_rows(legal.offsets, rng.random(len(states)))]


def all_readings(hand: list[str], level: int) -> set[tuple[str, str, tuple[str, ...]]]:
    """Every subset of a hand in every reading that `reads_as` accepts."""
    found = set()
    for count in range(1, min(len(hand), 10) + 1):
        for cards in set(itertools.combinations(sorted(hand), count)):
            low, high = (np.uint64(word) for word in pack(cards))
            for kind in range(1, FOUR_KINGS + 1):
                for rank in range(1 if kind == FOUR_KINGS else 15):
                    if reads_as(low, high, kind, rank, level):
                        action = np.zeros(1, action_dtype)[0]
                        action["low"], action["high"], action["kind"], action["rank"] = low, high, kind, rank
                        found.add(plain(notation(action)))
    return found


HANDS = (
    ["H2", "H2", "S3", "S4", "S5", "D6", "H3"],  # wild cards beside a run of one suit
    ["H2", "S2", "S7", "H7", "C8", "C8", "D8", "SB"],
    ["HR", "HR", "SB", "SB", "H9", "S9", "C9", "H2"],
    ["HA", "S2", "D3", "C4", "H5", "H4", "H2"],  # the low ace
    ["HT", "HJ", "HQ", "HK", "HA", "H2", "S9"],
    ["S6", "H6", "C6", "D6", "S6", "H6", "H2", "H2"],
    ["S6", "H6", "C7", "D7", "H8", "H2", "H2", "S8"],
    ["S2", "C2", "D2", "H2", "H2", "S3", "D3"],  # wild cards beside three of their own rank
    ["S6", "S6", "H6", "H6", "C6", "C6", "D6", "D6", "H2", "H2"],
)


@pytest.mark.parametrize("level", [0, 3, 12])
@pytest.mark.parametrize("hand", HANDS, ids=" ".join)
def test_a_leader_may_play_every_reading_of_every_part_of_the_hand(hand, level):
    ours = [plain(action) for action in legal_actions(hand, None, RANKS[level])]
    assert len(ours) == len(set(ours))
    assert set(ours) == all_readings(hand, level)


def test_the_worked_example_of_the_generator():
    """The hand in the docstring of `envs.guandan.rules.generation`."""
    hand = ["S3", "H3", "C4", "D5", "S6", "H2"]
    found = {kind: [cards for k, _, cards in legal_actions(hand) if k == kind] for kind in KINDS}
    assert {kind: len(cards) for kind, cards in found.items() if cards} == {
        "Single": 6,
        "Pair": 6,
        "Trips": 1,
        "Straight": 4,
    }
    assert found["Single"] == [["H3"], ["S3"], ["C4"], ["D5"], ["S6"], ["H2"]]
    assert [set(cards) for cards in found["Pair"]] == [
        {"H3", "S3"},
        {"H3", "H2"},
        {"S3", "H2"},
        {"C4", "H2"},
        {"D5", "H2"},
        {"S6", "H2"},
    ]
    straights = [(rank, cards) for kind, rank, cards in legal_actions(hand) if kind == "Straight"]
    assert [rank for rank, _ in straights] == ["2", "2", "3", "3"]
    assert [cards for rank, cards in straights if rank == "2"] == [cards for rank, cards in straights if rank == "3"]
    upon_fours = [plain(action) for action in legal_actions(hand, ("Pair", "4", ["S4", "D4"]))]
    assert upon_fours == [
        plain(("PASS", "PASS", "PASS")),
        plain(("Pair", "5", ["D5", "H2"])),
        plain(("Pair", "6", ["S6", "H2"])),
    ]


@settings(max_examples=12, deadline=None)
@given(st.lists(st.sampled_from([c for c in CARDS for _ in range(2)]), min_size=7, max_size=7), st.integers(0, 12))
def test_the_same_for_hands_in_the_neighbourhood_of_five_ranks(cards, level):
    near = [
        card if card in ("SB", "HR") else card[0] + RANKS[(RANKS.index(card[1]) % 5 + level) % 13] for card in cards
    ]
    hand = [card for card in set(near) for _ in range(min(2, near.count(card)))]
    assert {plain(a) for a in legal_actions(hand, None, RANKS[level])} == all_readings(hand, level)


def test_what_may_be_played_upon_an_action_is_what_beats_it():
    rng = np.random.default_rng(2)
    states = MATCH.reset(16, rng)
    checked = 0
    for _ in range(60):
        legal = MATCH.legal(states)
        for b in range(4):
            table = states[b]
            if table["beat_kind"] == PASS or table["phase"] != tables_.PLAY:
                continue
            hand = table["low"][table["to_move"]], table["high"][table["to_move"]]
            rows, level = np.empty(LONGEST, action_dtype), int(table["level"])
            leads = rows[: plays(*hand, level, PASS, 0, 0, rows, 0)]
            beat = int(table["beat_kind"]), int(table["beat_rank"]), int(table["beat_size"])
            wanted = {
                row.tobytes()
                for row in leads
                if beats(int(row["kind"]), int(row["rank"]), int(row["size"]), *beat, level)
            }
            here = legal.rows[legal.offsets[b] : legal.offsets[b + 1]]
            assert here[0]["kind"] == PASS
            assert {row.tobytes() for row in here[1:]} == wanted
            checked += 1
        MATCH.step(states, random_choice(MATCH, states, rng))
    assert checked > 60


def test_choices_have_each_multiset_once_with_its_strongest_reading():
    rng = np.random.default_rng(5)
    states = MATCH.reset(32, rng)
    several = 0
    for _ in range(40):
        legal, choices = MATCH.legal(states), MATCH.choices(states)
        for b in range(len(states)):
            every = legal.rows[legal.offsets[b] : legal.offsets[b + 1]]
            kept = choices.rows[choices.offsets[b] : choices.offsets[b + 1]]
            sets = [(row["low"], row["high"]) for row in kept]
            assert len(sets) == len(set(sets))
            strongest = {(row["low"], row["high"]): (row["kind"], row["rank"]) for row in every}  # the last one stays
            assert strongest == {(row["low"], row["high"]): (row["kind"], row["rank"]) for row in kept}
            several += len(every) > len(kept)
        MATCH.step(states, random_choice(MATCH, states, rng))
    assert several > 20


def test_cards_are_never_made_or_lost_and_teams_take_turns():
    rng = np.random.default_rng(3)
    states = MATCH.reset(48, rng)
    for _ in range(400):
        for seat in range(4):
            for b in np.flatnonzero(states["phase"] == tables_.PLAY)[:3]:
                assert size_of(states["low"][b, seat], states["high"][b, seat]) == states["left"][b, seat]
        low = (states["low"] + states["played_low"]).sum(axis=1, dtype=np.uint64)
        high = (states["high"] + states["played_high"]).sum(axis=1, dtype=np.uint64)
        assert (low == DECK_LOW).all()
        assert (high == DECK_HIGH).all()
        mover = MATCH.to_move(states)
        assert (states["left"][np.arange(len(states)), mover] > 0).all()
        before = states.copy()
        MATCH.step(states, random_choice(MATCH, states, rng))
        same_round = (before["number"] == states["number"]) & (before["phase"] == tables_.PLAY)
        passed = states["passes"] > before["passes"]
        assert (states["to_move"] != before["to_move"])[same_round & passed & (states["holder"] >= 0)].all()
        states = states[~MATCH.finished(states)]


def test_a_table_is_its_seed():
    seeds = np.arange(5, dtype=np.uint64)
    for situation in ("first", "drawn"):
        game = GuanDan(situation=situation)
        assert (game.start(seeds).tobytes()) == (game.start(seeds).tobytes())
        assert len({row.tobytes() for row in game.start(seeds)["low"]}) == 5


def test_seeds_of_any_integer_type_give_the_same_tables():
    wanted = GuanDan().start(np.arange(6, dtype=np.uint64)[::2])
    for seeds in (np.array([0, 2, 4]), np.array([0, 2, 4], np.uint8), [0, 2, 4]):
        assert np.array_equal(GuanDan().start(seeds), wanted)
    assert len(GuanDan().start([])) == 0


@pytest.mark.parametrize("seeds", [[0.0], [True], [-1], ["1"], [[1, 2]], 3, [2**64], None])
def test_what_is_no_array_of_seeds_is_refused(seeds):
    with pytest.raises(ValueError, match=r"^seeds must be integers from 0, \[B\], got \S+\[[0-9, ]*\]$"):
        GuanDan().start(seeds)


def test_deals_are_uniform():
    """4,000 deals: each seat's number of red jokers, and where one card lies, within 5 standard errors."""
    states = GuanDan(situation="first").start(np.arange(4000, dtype=np.uint64))
    red = (states["high"] >> np.uint64(42)) & np.uint64(3)
    assert np.abs(red.mean(axis=0) - 0.5).max() < 5 * np.sqrt(0.3738 / 4000)
    spade_seven = (states["low"] >> np.uint64(2 * (5 * 4 + 1))) & np.uint64(3)
    assert np.abs(spade_seven.mean(axis=0) - 0.5).max() < 5 * np.sqrt(0.3738 / 4000)
    leads = np.bincount(states["to_move"], minlength=4)
    assert np.abs(leads - 1000).max() < 5 * np.sqrt(4000 * 3 / 16)


def test_cards_stay_in_their_part_of_the_sorted_deck_as_often_as_elsewhere():
    """4,000 deals: the cards that come to the seat of their place before the shuffle, within 5 standard errors."""
    states = GuanDan(situation="first").start(np.arange(4000, dtype=np.uint64))
    held = counts_of(states["low"], states["high"]).astype(np.int64)
    inside = [card for card in range(54) if 2 * card // 27 == (2 * card + 1) // 27]
    stayed = sum(held[:, 2 * card // 27, card] for card in inside)
    assert abs(stayed.mean() - len(inside) * 2 / 4) < 5 * stayed.std() / np.sqrt(4000)


def finished_round(order, levels, owner, attempts=(0, 0), a_attempts=3):
    table = np.zeros(1, tables_.state_dtype)
    table["order"], table["levels"], table["owner"], table["attempts"] = order, levels, owner, attempts
    table["winner"] = -1
    finish_levels(table[0], a_attempts)
    return table[0]


@pytest.mark.parametrize(
    ("order", "points", "levels"),
    [
        ((0, 2, 1, 3), 3, [3, 0]),
        ((2, 1, 0, 3), 2, [2, 0]),
        ((0, 1, 3, 2), 1, [1, 0]),
        ((3, 1, 0, 2), -3, [0, 3]),
        ((1, 0, 2, 3), -1, [0, 1]),
    ],
)
def test_the_winners_rise_by_the_place_of_the_partner(order, points, levels):
    table = finished_round(order, (0, 0), -1)
    assert (table["points"], table["levels"].tolist(), table["owner"]) == (points, levels, order[0] % 2)
    assert table["level"] == max(levels)
    assert table["winner"] == -1


def test_the_level_of_the_ace_is_not_passed_over():
    assert finished_round((0, 2, 1, 3), (11, 4), 0)["levels"].tolist() == [12, 4]


def test_a_match_is_won_at_the_own_ace_with_the_partner_not_last():
    assert finished_round((0, 1, 2, 3), (12, 4), 0)["winner"] == 0
    assert finished_round((0, 2, 1, 3), (12, 12), 1)["winner"] == -1, "the level played was not their own"
    last = finished_round((0, 1, 3, 2), (12, 4), 0)
    assert (last["winner"], last["points"], last["attempts"].tolist()) == (-1, 0, [1, 0])


def test_three_failures_at_the_own_ace_lead_back_to_two():
    lost = finished_round((1, 0, 2, 3), (12, 4), 0, attempts=(2, 0))
    assert (lost["levels"].tolist(), lost["attempts"].tolist(), lost["level"]) == ([0, 5], [0, 0], 5)
    unclosed = finished_round((0, 1, 3, 2), (12, 4), 0, attempts=(2, 0))
    assert (unclosed["levels"].tolist(), unclosed["level"]) == ([0, 4], 0)
    assert finished_round((1, 0, 2, 3), (12, 4), 0, attempts=(2, 0), a_attempts=0)["levels"].tolist() == [12, 5]


def test_more_failures_than_allowed_lead_back_to_two():
    lost = finished_round((1, 0, 2, 3), (12, 4), 0, attempts=(4, 0))
    assert (lost["levels"].tolist(), lost["attempts"].tolist()) == ([0, 5], [0, 0])


def test_drawn_situations_keep_the_limit_of_failures_at_the_ace():
    seeds = np.arange(3000, dtype=np.uint64)
    limited, unlimited = (GuanDan(a_attempts=most).start(seeds) for most in (3, 0))
    assert unlimited["attempts"].max() >= 3
    assert limited["attempts"].max() == 2
    assert 0.8 < (limited == unlimited).mean() < 1, "matches without a fall to level 2 are the same"


def test_what_is_not_legal_is_refused_and_changes_nothing():
    states = MATCH.start(np.arange(3, dtype=np.uint64))
    before = states.copy()
    good = random_choice(MATCH, states, np.random.default_rng(0))
    hand = unpack(states["low"][1, states["to_move"][1]], states["high"][1, states["to_move"][1]])
    missing = next(card for card in CARDS if card not in hand)
    for wrong in (
        ("Single", missing[1], [missing]),
        ("PASS", "PASS", "PASS"),
        ("Pair", "3", [hand[0], hand[-1]]),
        ("tribute", "tribute", [hand[0]]),
    ):
        actions = good.copy()
        actions[1] = parse_action(wrong)[0]
        with pytest.raises(IllegalAction, match="table 1"):
            MATCH.step(states, actions)
        assert (states == before).all()
    for field, value in (("high", 1 << 44), ("rank", 27), ("rank", 60_000), ("kind", 255), ("size", 9)):
        actions = good.copy()
        actions[field][1] = value
        with pytest.raises(IllegalAction, match="table 1"):
            MATCH.step(states, actions)
        assert (states == before).all()
    for wrong in (good[:2], [1], None):
        with pytest.raises(IllegalAction, match="3 action"):
            MATCH.step(states, wrong)


def test_what_is_no_deal_is_refused_and_changes_nothing():
    states = MATCH.start(np.arange(2, dtype=np.uint64))
    before = states.copy()
    hands = [[unpack(table["low"][seat], table["high"][seat]) for seat in range(4)] for table in states]
    for leads in ([4, 0], [-1, 0], [0], [1.5, 0], 0, [None, None]):
        with pytest.raises(ValueError, match="seats from 0 to 3"):
            MATCH.deal(states, hands, leads)
    for wrong in (hands[:1], None, {}, [hands[0][:3], hands[1]], [hands[0], [*hands[0][::-1][:3], ["S3"]]]):
        with pytest.raises(NoSuchCard, match="deal"):
            MATCH.deal(states, wrong)
    assert (states == before).all()
    MATCH.deal(states, hands, [3, 1])
    assert states["to_move"].tolist() == [3, 1]


@pytest.mark.parametrize("players", [[4, 0], [-1, 0], [0], 0, [0.0, 1.0]])
def test_players_that_are_no_seats_are_refused(players):
    states, seeds = MATCH.start(np.arange(2, dtype=np.uint64)), np.zeros(2, np.uint64)
    wrong = np.asarray(players)
    for ask in (MATCH.observe, MATCH.observe_hidden):
        with pytest.raises(ValueError, match=r"^players must be integers \[2\] from 0 to 3"):
            ask(states, wrong)
    for redeal in (MATCH.redeal, MATCH.redeal_likely):
        with pytest.raises(ValueError, match=r"^players must be integers \[2\] from 0 to 3"):
            redeal(states, wrong, seeds)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((["S3", "X9"],), "'X9'"),
        ((["S3", "S3", "S3"],), "S3 occurs more than twice"),
        (("S3",), "must be a list"),
        (([],), "1 to 28 cards"),
        ((["S3"], None, "10"), "level must be one of"),
        ((["S3"], ("Pair", "3", ["S3", "S4"])), "must be a combination"),
        ((["S3"], ("Pair", "3")), "kind, rank and cards"),
        ((["S3"], ("Dragon", "3", ["S3"])), "kind of an action must be one of .* 'Dragon'"),
        ((["S3"], ("Single", "13", ["S3"])), "rank of an action must be one of .* '13'"),
    ],
)
def test_what_cannot_be_read_is_named(arguments, says):
    with pytest.raises(NoSuchCard, match=says):
        legal_actions(*arguments)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"length": "rounds"}, ValueError, "length must be round or match"),
        ({"a_attempts": -1}, ValueError, "0 to 255"),
        ({"situation": 3}, TypeError, "situation must be a string"),
    ],
)
def test_options_are_checked(options, error, says):
    with pytest.raises(error, match=says):
        GuanDan(**options)


def test_it_is_a_ragged_game():
    assert isinstance(GuanDan(), ListedGame)
    assert BOMB == 9
