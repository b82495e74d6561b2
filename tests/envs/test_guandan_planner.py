"""The moves of GuanDan's planner at tables whose best move is known."""

import pytest

from envs.guandan.bots.planner import PlannerBot
from tests.envs.guandan_tables import chosen, table

PASS = ("PASS", "PASS")
MANY = "S3 C4 D5 S6 D8 C9 CT DJ SQ DK CA"  # of an opponent who is far from going out
OTHERS = "D3 S4 C5 D6 S8 D9 DT SJ CQ CK DA"
MORE = "H3 H4 H5 H6 H8 H9 HT HJ HQ HK HA"


def does(hands: list[str], level: str = "2", beat: tuple | None = None, holder: int = 3) -> tuple[str, str]:
    ((kind, rank, _),) = chosen(PlannerBot(), table(hands, level, beat=beat, holder=holder))
    return kind, rank


def test_it_goes_out_when_it_can() -> None:
    assert does(["S9 D9", MANY, "S7 D7 C8", OTHERS]) == ("Pair", "9")
    assert does(["S9 D9", MANY, "S7 D7 C8", OTHERS], beat=("Pair", "8", ["S8", "C8"])) == ("Pair", "9")
    assert does(["S9 D9 C9 H9", MANY, "S7", OTHERS], beat=("Pair", "A", ["SA", "HA"]), holder=2) == ("Bomb", "9")


def test_it_keeps_a_bomb_for_later() -> None:
    hand = "S5 D5 S7 H7 C7 D7 SJ CJ SK HK C3 D4 S8 SQ CQ"
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "A", ["HA"])) == PASS


def test_it_bombs_to_run_out() -> None:
    hand = "S7 H7 C7 D7 C3"
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "A", ["HA"])) == ("Bomb", "7")


def test_it_bombs_an_opponent_who_is_about_to_go_out() -> None:
    hand = "S5 D5 S7 H7 C7 D7 SJ CJ SK HK C3 D4 S8 SQ CQ"
    assert does([hand, MANY, OTHERS, "HK"], beat=("Single", "A", ["HA"])) == ("Bomb", "7")


def test_it_leads_what_wins_before_its_last_play() -> None:
    assert does(["HR S3 D3", MANY, OTHERS, "S6 D6 S8 D8 CK C4 C3"]) == ("Single", "R")


def test_it_is_rid_of_weak_plays_first() -> None:
    assert does(["S4 D5 S9 D9 SQ DQ CA HR", MANY, OTHERS, MORE]) == ("Single", "4")


def test_it_does_not_lead_a_low_single_to_an_opponent_with_one_card() -> None:
    hands = ["S4 S6 D6 S9 D9 HK", MANY, OTHERS, "HA"]
    assert does(hands)[0] == "Pair"
    hands[1], hands[3] = hands[3], hands[1]
    assert does(hands)[0] == "Pair"


def test_it_plays_high_where_the_next_opponent_has_one_card() -> None:
    """The partner leads a low single; a 7 would let the next one out."""
    hand = "S7 HR S9 D9 S5 D5"
    assert does([hand, "HK", OTHERS, MANY], beat=("Single", "4", ["H4"]), holder=2) == ("Single", "R")
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "4", ["H4"])) == ("Single", "7")


def test_it_leads_a_small_single_to_a_partner_with_one_card() -> None:
    hand = "S3 S6 D6 S9 D9 C9 CK DK SJ DJ CQ HQ C5 D5"
    assert does([hand, MANY, "HK", OTHERS]) == ("Single", "3")


def test_it_leads_a_small_pair_to_a_partner_with_two() -> None:
    hand = "C3 S6 D6 S9 D9 C9 CK DK SJ DJ CQ HQ C5 D5"
    kind, rank = does([hand, MANY, "HK SK", OTHERS])
    assert (kind, rank) in {("Pair", "5"), ("Pair", "6")}


def test_it_does_not_beat_a_strong_play_of_the_partner() -> None:
    hand = "S7 HR S9 D9 S5 D5 SQ"
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "A", ["SA"]), holder=2) == PASS
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "A", ["SA"]), holder=3) == ("Single", "R")


def test_it_follows_with_a_single_of_its_own_rather_than_break_a_pair() -> None:
    hand = "S7 D7 S9 D9 CT SJ DJ"
    assert does([hand, MANY, OTHERS, MORE], beat=("Single", "6", ["H6"])) == ("Single", "T")


def test_it_does_not_take_a_tube_apart() -> None:
    hand = "S6 D6 S7 D7 S8 C8 ST HT C3"
    beat = ("Pair", "5", ["H5", "C5"])
    assert does([hand, MANY, OTHERS, MORE], beat=beat) == ("Pair", "T")


@pytest.mark.parametrize("level", ["2", "9", "A"])
def test_it_spares_its_straight_flush(level: str) -> None:
    """Of two equal cards it plays the one that is not in it."""
    hand = "S3 S4 S5 S6 S7 D7 DK CK"
    states = table([hand, MANY, OTHERS, "H6 D6 H8 D8 HK C4 C3"], level, beat=("Single", "6", ["H6"]))
    ((_, _, cards),) = chosen(PlannerBot(), states)
    assert cards == ["D7"]
