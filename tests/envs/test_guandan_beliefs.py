"""Beliefs about hidden hands of GuanDan: knowledge, evidence, and exact distributions over deals."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.game import States
from envs.guandan import GuanDan
from envs.guandan.beliefs import placements
from envs.guandan.beliefs.evidence import observe
from envs.guandan.beliefs.knowledge import OTHERS, PLACES, RED, Knowledge, hands_by_place
from envs.guandan.beliefs.net import count_chances, expected_cards
from envs.guandan.rules.cards import parse_action
from envs.guandan.rules.shown import BYTES, LEADS, PASSED, PASSES
from envs.guandan.rules.state import PAY, PLAY
from envs.ragged import choose_rows
from tests.envs.guandan_tables import table

GAME = GuanDan()


def positions(tables: int, seed: int) -> Iterator[States]:
    """The positions of random rounds, tributes included."""
    rng = np.random.default_rng(seed)
    states = GAME.reset(tables, rng)
    while len(states):
        yield states
        legal = GAME.legal(states)
        GAME.step(states, legal.rows[choose_rows(legal.offsets, rng.random(len(states)))])
        states = states[~GAME.finished(states)]


def small(rng: np.random.Generator) -> tuple[Knowledge, NDArray[np.float64]]:
    """A few cards of four places, one or two known and one place barred to a hand, and random scores; `[1]`."""
    free = np.zeros((1, PLACES), np.uint8)
    places = rng.choice(PLACES, 4, replace=False)
    free[0, places] = rng.integers(1, 6, 4)
    known = np.zeros((1, OTHERS, PLACES), np.uint8)
    known[0, rng.integers(OTHERS), places[0]] = 1
    known[0, 2, places[1]] = 1
    most = np.broadcast_to(free[:, None] + known.sum(axis=1, keepdims=True, dtype=np.uint8), known.shape).copy()
    most[0, 2, places[1]] = known[0, 2, places[1]]
    total = int(free.sum())
    third = rng.integers(0, total - free[0, places[1]] + 1)
    first = rng.integers(0, total - third + 1)
    room = np.array([[first, total - third - first, third]], np.uint8)
    words = np.zeros((1, OTHERS), np.uint64)
    return Knowledge(free, room, known, most, words, words), rng.normal(size=(1, OTHERS, PLACES, placements.STEPS))


def weights(known: Knowledge, scores: NDArray[np.float64]) -> dict[tuple[tuple[int, ...], ...], float]:
    """The weight of each deal, by enumeration: for each place its free cards in each hand."""
    splits = [[(i, j, int(n) - i - j) for i in range(int(n) + 1) for j in range(int(n) - i + 1)] for n in known.free[0]]
    found = {}
    for deal in itertools.product(*splits):
        if (np.sum(deal, axis=0) != known.room[0]).any():
            continue
        weight = 1.0
        for place, counts in enumerate(deal):
            weight *= math.factorial(int(known.free[0, place]))
            for hand, count in enumerate(counts):
                held = int(known.known[0, hand, place])
                weight *= held + count <= known.most[0, hand, place]
                steps = [min(held + n, placements.STEPS) - 1 for n in range(1, count + 1)]
                weight *= math.exp(scores[0, hand, place, steps].sum()) / math.factorial(count)
        if weight:
            found[deal] = weight
    return found


def score(known: Knowledge, scores: NDArray[np.float64], held: NDArray[np.uint8]) -> tuple[float, NDArray[np.float64]]:
    logs, gradients = np.empty(1), np.empty_like(scores)
    placements.score_deals(known.free, known.room, known.known, known.most, scores, held, logs, gradients)
    return float(logs[0]), gradients


@pytest.mark.parametrize("seed", range(8))
def test_probabilities_and_expectations_agree_with_an_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known, scores = small(rng)
    by_deal = weights(known, scores)
    whole = sum(by_deal.values())
    expected = expected_cards(known, count_chances(known, scores))
    mean = known.known[0] + sum(weight / whole * np.array(deal).T for deal, weight in by_deal.items())
    np.testing.assert_allclose(expected[0], mean, atol=1e-12)
    for deal in list(by_deal)[:: max(1, len(by_deal) // 5)]:
        held = (known.known + np.array(deal, np.uint8).T).astype(np.uint8)
        ways = math.prod(math.factorial(sum(each)) / math.prod(map(math.factorial, each)) for each in deal)
        assert score(known, scores, held)[0] == pytest.approx(math.log(by_deal[deal] / whole / ways), abs=1e-9)


def test_gradients_agree_with_differences() -> None:
    rng = np.random.default_rng(3)
    known, scores = small(rng)
    deal = next(iter(weights(known, scores)))
    held = (known.known + np.array(deal, np.uint8).T).astype(np.uint8)
    gradients = score(known, scores, held)[1]
    assert np.abs(gradients).max() > 0.1
    for at in np.argwhere(np.ones_like(scores)).tolist():
        step = np.zeros_like(scores)
        step[tuple(at)] = 1e-5
        slope = (score(known, scores + step, held)[0] - score(known, scores - step, held)[0]) / 2e-5
        assert slope == pytest.approx(gradients[tuple(at)], abs=1e-7)


def test_draws_follow_the_weights() -> None:
    """20,000 draws: each deal's share, within 5 standard errors."""
    known, scores = small(np.random.default_rng(6))
    by_deal = weights(known, scores)
    whole = sum(by_deal.values())
    free, room = known.free[0].astype(np.int64), known.room[0].astype(np.int64)
    layers, factors = placements.new_layers(), placements.new_factors()
    placements.write_factors(known.free[0], known.known[0], known.most[0], scores[0], factors)
    placements.sum_forwards(free, room, factors, layers)
    counts, seed, drawn = np.zeros((OTHERS, PLACES), np.int64), np.uint64(7), {}
    for _ in range(20_000):
        seed = np.uint64(placements.draw_counts(free, room, factors, layers, seed, counts))
        deal = tuple(map(tuple, counts.T.tolist()))
        drawn[deal] = drawn.get(deal, 0) + 1
    assert set(drawn) <= set(by_deal)
    assert len(drawn) > 20
    for deal, weight in by_deal.items():
        share = weight / whole
        assert abs(drawn.get(deal, 0) / 20_000 - share) < 5 * math.sqrt(share * (1 - share) / 20_000) + 1e-4


def test_dealt_hands_agree_with_all_that_the_player_knows() -> None:
    """Hands, plays, sizes, tributes and evidence stay; a seed gives one deal."""
    rng = np.random.default_rng(2)
    dealt = moved = 0
    for states in positions(24, 1):
        movers = states["to_move"].astype(np.int64)
        by_seat, by_table, known = observe(states, movers)
        scores = 2 * rng.normal(size=(len(states), OTHERS, PLACES, placements.STEPS))
        seeds = rng.integers(0, 2**64, len(states), np.uint64)
        again, other = states.copy(), states.copy()
        placements.deal_into(again, movers, known, scores, seeds)
        placements.deal_into(other, movers, known, scores, seeds)
        assert (again == other).all()
        assert all((again[word].sum(axis=1) == states[word].sum(axis=1)).all() for word in ("low", "high"))
        assert (GAME.observe(again, movers) == GAME.observe(states, movers)).all()
        for ours, theirs in zip(observe(again, movers)[:2], (by_seat, by_table), strict=True):
            assert (ours == theirs).all()
        for hands in (hands_by_place(again, movers), hands_by_place(states, movers)):
            assert (hands >= known.known).all()
            assert (hands <= known.most).all()
            assert (
                hands.sum(axis=2) == states["left"][np.arange(len(states))[:, None], (movers[:, None] + [1, 2, 3]) % 4]
            ).all()
        dealt += len(states)
        moved += int((again["low"] != states["low"]).any(axis=1).sum())
    assert dealt > 1500
    assert moved > 0.7 * dealt


def test_cards_of_a_rank_are_dealt_at_random() -> None:
    """Three suits to three hands: each of the six deals within 5 standard errors of a sixth of 6,000."""
    states = np.repeat(table(["S9", "S3", "C3", "D3"]), 6000)
    movers, rng = np.zeros(len(states), np.int64), np.random.default_rng(14)
    known, zeros = observe(states, movers)[2], np.zeros((len(states), OTHERS, PLACES, placements.STEPS))
    placements.deal_into(states, movers, known, zeros, rng.integers(0, 2**64, len(states), np.uint64))
    numbers = np.unique(states["low"], axis=0, return_counts=True)[1]
    assert len(numbers) == 6
    assert np.abs(numbers - 1000).max() < 5 * math.sqrt(6000 * 5 / 36)


def test_consecutive_seeds_deal_independently() -> None:
    """Seeds 0 to 3,999: who holds the jack and who the 7, of six cards for three hands: each of the nine ways within 5
    standard errors of its share. They are drawn by the eighth and the twelfth number of a generator."""
    states = np.repeat(table(["SA", "SJ S7", "S3 C3", "D3 H3"]), 4000)
    movers, seeds = np.zeros(len(states), np.int64), np.arange(len(states), dtype=np.uint64)
    known, zeros = observe(states, movers)[2], np.zeros((len(states), OTHERS, PLACES, placements.STEPS))
    placements.deal_into(states, movers, known, zeros, seeds)
    jack, seven = (hands_by_place(states, movers)[:, :, place].argmax(axis=1) for place in (8, 4))
    for own, other in itertools.product(range(OTHERS), repeat=2):
        share = 1 / 15 if own == other else 2 / 15
        found = ((jack == own) & (seven == other)).mean()
        assert abs(found - share) < 5 * math.sqrt(share * (1 - share) / len(states))


def test_views_that_contradict_themselves_are_dealt_at_random() -> None:
    """A client that has missed plays believes that more cards are unseen than the others hold."""
    rng = np.random.default_rng(3)
    for states in [each.copy() for each in positions(32, 6)][20:60:10]:
        missed = states.copy()
        missed["played_low"], missed["played_high"] = 0, 0
        movers = states["to_move"].astype(np.int64)
        known = observe(missed, movers)[2]
        assert (known.room <= 28).all()
        assert (known.free <= 8).all()
        scores, seeds = rng.normal(size=(len(states), OTHERS, PLACES, placements.STEPS)), np.arange(len(states))
        dealt, wanted = missed.copy(), missed.copy()
        placements.deal_into(dealt, movers, known, scores, seeds.astype(np.uint64))
        GAME.redeal(wanted, movers, seeds.astype(np.uint64))
        surplus = known.free.sum(axis=1) != known.room.sum(axis=1)
        assert surplus.any()
        assert (dealt[surplus] == wanted[surplus]).all()


def test_tributes_are_known() -> None:
    """A taker holds its card until it is played, a payer holds nothing above its tribute."""
    held = barred = red = 0
    for states in positions(64, 4):
        movers = states["to_move"].astype(np.int64)
        known = observe(states, movers)[2]
        paying = (states["phase"] == PAY) & (states["settled"] == 0)
        assert not known.known[paying & (states["refused"] == 0)].any()
        held += int(known.known.sum())
        barred += int((known.most < known.free[:, None]).sum())
        red += int(known.known[states["refused"] > 0][:, :, RED].sum())
        if not ((states["phase"] == PLAY) & (states["tributes"] == 0)).all():
            assert known.known.sum(axis=(1, 2)).max() <= 4
    assert held > 1000
    assert barred > 1000
    assert red > 100


def test_a_payer_of_a_red_joker_has_no_other() -> None:
    """With both, it would have refused to pay."""
    barred = 0
    for states in itertools.islice(positions(64, 4), 2, 12):
        movers = states["to_move"].astype(np.int64)
        known = observe(states, movers)[2]
        for i in range(2):
            paid = (states["phase"] == PLAY) & (states["tributes"] > i) & (states["paid"][:, i] == 53)
            at = np.flatnonzero(paid & (states["payer"][:, i] != movers))
            other = (states["payer"][at, i] - movers[at] + 3) % 4
            assert (known.most[at, other, RED] == 0).all()
            barred += int((known.free[at, RED] > 0).sum())
    assert barred > 10


def play(states: States, *written: object) -> NDArray[np.uint8]:
    """The notes on each seat after these actions of seat 0 on."""
    for each in written:
        GAME.step(states, parse_action(["PASS"] * 3 if each is None else each))  # type: ignore[list-item]
    return states["shown"][0].copy()


def test_plays_and_passes_are_noted() -> None:
    hands = ["H3 S3 C3 D4 S4 S9 S9", "S5 C6 H7", "D8 C8 H8 S8 D9", "SK D6 D7"]
    shown = play(
        table(hands, mover=0),
        ["ThreeWithTwo", "3", ["H3", "S3", "C3", "D4", "S4"]],
        None,
        ["Bomb", "8", ["D8", "C8", "H8", "S8"]],
        None,
    )
    assert shown.shape == (4, BYTES)
    assert (shown[0, 1], shown[0, 2]) == (1 << 2, 1 << 1)  # the threes as a triple, the fours as a pair
    assert shown[0, LEADS + 3] == 1
    assert shown[2, 6] == 1 << 4
    assert shown[2, LEADS:].sum() == 0
    # seat 1 passed on a full house of threes of an opponent, seat 3 on the bomb of one
    assert shown[1, PASSED + 6] == 1 + 1
    assert shown[1, PASSES:LEADS].sum() == shown[1, PASSES + 6] == 1
    assert shown[3, PASSED + 10] == 0 + 1


def test_passes_on_the_partner_are_noted_apart() -> None:
    shown = play(table(["S5 S9", "S4 S4", "S6 D6", "S3 S3"], mover=0), ["Single", "5", ["S5"]], None, None, None)
    assert [shown[seat, PASSED] for seat in (1, 2, 3)] == [4, 0, 4]
    assert [shown[seat, PASSED + 1] for seat in (1, 2, 3)] == [0, 4, 0]


@pytest.mark.parametrize("led", ["49", "94"])
def test_the_lowest_move_passed_on_is_noted(led: str) -> None:
    hands = ["S4 S9 D6", "S3 C3", "D3 S5", "H3 C5"]
    first, second = (["Single", rank, ["S" + rank]] for rank in led)
    shown = play(table(hands, mover=0), first, None, None, None, second, None)
    assert (shown[1, PASSED], shown[1, PASSES]) == (2 + 1, 2)
    assert shown[0, LEADS] == 2


def test_a_new_round_begins_with_nothing_shown() -> None:
    game = GuanDan(length="match", situation="first")
    rng = np.random.default_rng(0)
    states = game.reset(1, rng)
    while states["number"][0] == 0:
        legal = game.legal(states)
        game.step(states, legal.rows[choose_rows(legal.offsets, rng.random(1))])
    assert not states["shown"].any()
