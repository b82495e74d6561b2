"""The bots of Cheat: their decisions in positions made by hand, the knowledge that they use, and how often they win."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.evaluation.arena import play as play_match
from dancfr.evaluation.statistics import wilson
from envs.cheat import Cheat, rules
from envs.cheat.cards import pack, unpack
from envs.cheat.players import BOTS, HeuristicAgent, _probability
from envs.game import States
from envs.kuhn import Kuhn
from tests.envs.matches import play, results

MINI = Cheat(ranks=3, copies=2, dealt=2, max_discard=2, discards="sets", name="mini-cheat")
TRIO = Cheat(ranks=4, copies=2, players=3, dealt=2, max_discard=2)
FULL = Cheat()
GAMES = {
    "mini": MINI,
    "trio": TRIO,
    "pair of twos": Cheat(ranks=2, copies=1, max_discard=1),
    "two players": Cheat(health=1),
    "four players, cards": Cheat(players=4),
    "four players, sets": Cheat(players=4, max_discard=3, discards="sets"),
    "six players": Cheat(ranks=13, copies=7, players=6, health=2, max_discard=7),
}


def words(*counts: list[int]) -> NDArray[np.uint64]:
    """Counts by rank from the current one as words, padded with players who have nothing."""
    ranks = max(map(len, counts))
    return pack(np.array([each + [0] * (ranks - len(each)) for each in counts]))


def claim(
    game: Cheat,
    number: int,
    own: list[int],
    own_put: list[int] | None = None,
    left: int = 1,
    before: int = 0,
    seen: dict[int, list[int]] | None = None,
) -> States:
    """Player 0 is to answer the last player's claim of `number` cards.

    Args:
        own, own_put: Counts by rank of player 0's hand, and of what it has put into the pile.
        left, before: How many cards the discarder has left, and has put into the pile before this discard.
        seen: By player, what player 0 knows of his cards.
    """
    states = rules.new_games(1, game.players, 3)
    s, last, none = states[0], game.players - 1, [0] * game.ranks
    s["hand"][:] = 2  # the others have two cards each
    s["hand"][0], s["put"][0] = words(own, own_put or none)
    s["hand"][last], s["put"][last], s["discard"] = left, before + number, number
    for player, known in (seen or {}).items():
        (s["seen"][0, player],) = words(known)
    s["phase"], s["mover"], s["discarder"], s["claimed"] = rules.ANSWERING, 0, last, number
    return states


def choice(name: str, game: Cheat, states: States) -> int:
    bot = BOTS[name]()
    bot.begin(game, 1, np.random.default_rng(0))
    (action,) = bot.act(states, np.arange(1), np.random.default_rng(0))
    assert game.legal(states)[0, action]
    return int(action)


@pytest.mark.parametrize("name", ["heuristic", "heuristic-tracking"])
@pytest.mark.parametrize(
    ("hand", "rank"),
    [
        ([2, 2, 2], 0),
        ([1, 0, 1], 0),
        ([0, 1, 1], 2),  # the rank just passed
        ([0, 2, 0], 1),
        ([0, 1, 1, 1, 1], 4),
        ([0, 1, 1, 1, 0], 1),
        ([0, 0, 1, 1, 0], 3),
        ([0, 0, 1, 0, 0], 2),
        ([0, 0, 1, 1, 1, 0], 4),
        ([0, 0, 0, 1, 0, 0], 3),
    ],
)
def test_one_card_is_laid_of_the_claimed_rank_or_of_the_nearest(name: str, hand: list[int], rank: int) -> None:
    for discards in ("sets", "cards"):
        game = Cheat(ranks=len(hand), copies=2, max_discard=2, discards=discards)
        states = rules.new_games(1, 2, 3)
        states["hand"][0] = words(hand, [1])
        states["mover"] = 0
        action = choice(name, game, states)
        assert game.describe_action(action) == f"{'add' if discards == 'cards' else 'discard'} +{rank}"
        game.step(states, np.array([action]))
        if states["phase"][0] == rules.DISCARDING:  # more might be picked
            assert game.describe_action(choice(name, game, states)) == "lay"
            game.step(states, np.array([rules.STOP]))
        assert states["claimed"][0] == 1
        assert unpack(states["discard"], len(hand))[0].tolist() == [int(r == rank) for r in range(len(hand))]


@pytest.mark.parametrize(
    ("position", "challenged"),
    [
        ({"number": 1, "own": [0, 1, 1]}, False),
        ({"number": 1, "own": [1, 1, 0]}, False),
        ({"number": 1, "own": [2, 0, 0]}, True),
        ({"number": 2, "own": [0, 2, 0]}, False),
        ({"number": 2, "own": [1, 1, 0]}, True),
        ({"number": 1, "own": [1, 0, 0], "own_put": [1, 0, 0]}, True),
        ({"number": 1, "own": [1, 0, 0], "own_put": [0, 1, 0]}, False),
        ({"number": 1, "own": [0, 1, 1], "left": 0}, True),
        ({"number": 1, "own": [0, 1, 1], "seen": {1: [0, 1, 1]}}, False),  # it has no memory
    ],
)
def test_heuristic_challenges_by_its_own_cards_and_the_last_card(position: dict[str, Any], challenged: bool) -> None:
    assert choice("heuristic", MINI, claim(MINI, **position)) == int(challenged)


DOZEN = Cheat(ranks=6, copies=2, players=2)
"""All cards are dealt: each is in one hand or the other."""


@pytest.mark.parametrize(
    ("game", "position", "challenged"),
    [
        (MINI, {"number": 1, "own": [0, 1, 1]}, False),  # he has one with 5/6
        (MINI, {"number": 2, "own": [0, 1, 1]}, True),  # he has both with 1/6
        (MINI, {"number": 1, "own": [1, 1, 0]}, True),  # with 1/2: even
        (MINI, {"number": 1, "own": [1, 1, 0], "seen": {1: [1, 0, 0]}}, False),  # it is known that he has
        (MINI, {"number": 1, "own": [0, 1, 1], "seen": {1: [0, 1, 1]}}, True),  # it is known that he has not
        (MINI, {"number": 1, "own": [2, 0, 0]}, True),
        (MINI, {"number": 1, "own": [0, 1, 1], "left": 0}, True),
        (MINI, {"number": 1, "own": [0, 1, 1], "left": 0, "seen": {1: [1, 0, 0]}}, False),  # it must be true
        (MINI, {"number": 1, "own": [0, 1, 1], "left": 0, "before": 1, "seen": {1: [1, 0, 0]}}, True),
        (MINI, {"number": 2, "own": [0, 1, 1], "left": 0, "seen": {1: [2, 0, 0]}}, False),
        (DOZEN, {"number": 2, "own": [0, 2, 2, 2, 0, 0], "left": 4}, False),  # all others are his
        (DOZEN, {"number": 2, "own": [1, 1, 2, 2, 0, 0], "left": 4}, True),
        (DOZEN, {"number": 2, "own": [0, 2, 2, 2, 2, 2], "left": 0}, False),
        (TRIO, {"number": 1, "own": [0, 1, 1, 0]}, False),  # with 9/15
        (TRIO, {"number": 1, "own": [1, 1, 0, 0]}, True),  # with 1/3: even, where two share what the third loses
        (TRIO, {"number": 1, "own": [1, 1, 0, 0], "seen": {2: [0, 1]}}, True),  # with 1/5
        (TRIO, {"number": 1, "own": [1, 1, 0, 0], "seen": {1: [0, 1]}}, False),  # with 2/5
        (TRIO, {"number": 1, "own": [1, 1, 0, 0], "left": 0}, True),
        (TRIO, {"number": 1, "own": [1, 1, 0, 0], "seen": {1: [1]}}, True),  # the third player has the other one
        (TRIO, {"number": 1, "own": [1, 1, 0, 0], "seen": {2: [1]}}, False),
        (TRIO, {"number": 2, "own": [0, 1, 1, 0], "left": 0, "seen": {2: [1]}}, True),  # with 1/5
    ],
)
def test_tracking_challenges_by_what_was_shown(game: Cheat, position: dict[str, Any], challenged: bool) -> None:
    states = claim(game, **position)
    assert choice("heuristic-tracking", game, states) == int(challenged)


def met(game: Cheat, bots: tuple[str, str], batch: int, seed: int, plies: int = 60) -> States:
    """States before the decisions of some games of random play with bots among it."""
    rng, found = np.random.default_rng(seed), []
    agents = [BOTS[name]() for name in bots]
    states = game.reset(batch, rng)
    for agent in agents:
        agent.begin(game, batch, rng)
    for _ in range(plies):
        states = states[~game.finished(states)]
        if not len(states):
            break
        found.append(states.copy())
        actions = [agent.act(states, np.arange(len(states)), rng) for agent in agents]
        game.step(states, np.where(rng.random(len(states)) < 0.5, *actions), rng)
    return np.concatenate(found)


@pytest.mark.parametrize("game", [MINI, TRIO, Cheat(ranks=3, copies=2, players=3)])
def test_probabilities_are_those_of_all_ways_to_place_the_unknown_cards(game: Cheat) -> None:
    """Card by card, each card with a name of its own."""
    states = met(game, ("random", "heuristic-tracking"), 80, 1, 25)
    states = states[states["phase"] == rules.ANSWERING]
    movers = game.to_move(states)
    packed = game.observe(states, movers)
    assert len(states) > 200
    for state, row, viewer in zip(states, packed, movers, strict=True):
        mine = state["hand"][viewer] + state["put"][viewer]
        known = unpack(state["seen"][viewer], game.ranks).astype(int)
        free = game.copies - unpack(mine, game.ranks).astype(int) - known.sum(axis=0)
        his = known[state["discarder"]]
        owned = state["hand"][state["discarder"]] + state["put"][state["discarder"]]
        cards = np.repeat(np.arange(game.ranks), free)
        hands = [
            his[0] + c.count(0) for c in combinations(cards.tolist(), int(unpack(owned, game.ranks).sum() - his.sum()))
        ]
        for wanted in (1, 2):
            expected = np.mean([has >= wanted for has in hands])
            found = _probability(row, game.ranks, game.copies, game.players, wanted)
            assert found == pytest.approx(expected, abs=1e-12)


def scrambled(states: States, viewers: NDArray[np.int8], game: Cheat, rng: np.random.Generator) -> States:
    """The same games with other cards, and other knowledge, of all players but the viewers."""
    other = states.copy()
    rows = np.arange(len(states))
    hidden = np.ones((len(states), game.players), np.bool_)
    hidden[rows, viewers] = False

    def shuffled(cards: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return pack(rng.permuted(unpack(cards, game.ranks), axis=-1))

    for name in ("hand", "put"):
        other[name] = np.where(hidden, shuffled(states[name]), states[name])
    other["discard"] = np.where(states["discarder"] != viewers, shuffled(states["discard"]), states["discard"])
    other["seen"] = np.where(hidden[..., None], shuffled(states["seen"]), states["seen"])
    other["memory"] = np.where(hidden, rng.integers(2**63, size=hidden.shape, dtype=np.uint64), states["memory"])
    return other


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_bots_look_at_nothing_that_an_observation_does_not_show(game: Cheat) -> None:
    states = met(game, ("random", "heuristic"), 60, 2)
    movers = game.to_move(states)
    other = scrambled(states, movers, game, np.random.default_rng(3))
    assert np.array_equal(game.observe(states, movers), game.observe(other, movers))
    assert (states["hand"] != other["hand"]).any(axis=1).mean() > 0.1
    for make in BOTS.values():
        choices = []
        for shown in (states, other):
            bot = make()
            bot.begin(game, len(shown), np.random.default_rng(1))
            choices.append(bot.act(shown, np.arange(len(shown)), np.random.default_rng(4)))
        assert np.array_equal(choices[0], choices[1])
        assert game.legal(states)[np.arange(len(states)), choices[0]].all()


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
@pytest.mark.parametrize(("one", "other"), [(one, other) for one in BOTS for other in BOTS if one != other])
def test_bots_keep_to_the_rules_and_games_end(game: Cheat, one: str, other: str) -> None:
    result = play_match(game, (BOTS[one](), BOTS[other]()), 24, np.random.default_rng(5))  # which refuses illegal ones
    assert result.games == 24
    assert {name.split(" by ")[1] for name in result.categories} <= {"hand empty", "health gone"}
    assert result.mean_plies < game.spec.max_plies


@pytest.mark.parametrize("players", [2, 4])
def test_heuristics_play_the_same_game_in_both_ways_to_discard(players: int) -> None:
    ends = []
    for discards in ("sets", "cards"):
        game = Cheat(5, 4, players, discards=discards)
        rng = np.random.default_rng(6)
        states, bot = game.reset(40, rng), HeuristicAgent(tracking=True)
        bot.begin(game, 40, rng)
        while not game.finished(states).all():
            running = np.flatnonzero(~game.finished(states))
            part = states[running]
            game.step(part, bot.act(part, running, rng), rng)
            states[running] = part
        ends.append(states)
    for name in ("hand", "put", "health", "rank", "winner", "loser", "ending", "log"):
        assert np.array_equal(ends[0][name], ends[1][name])


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        ("heuristic", "random", 0.79, 0.82),  # paper 001, 5.3.2: about 80 %
        ("heuristic-tracking", "random", 0.85, 0.89),
        ("heuristic-tracking", "heuristic", 0.68, 0.71),
    ],
)
def test_win_rates_on_mini_cheat(one: str, other: str, low: float, high: float) -> None:
    games = 20_000
    states, seat = play(MINI, (BOTS[one](), BOTS[other]()), games, np.random.default_rng(7))
    won, drawn, _ = results(MINI, states, seat)
    interval = wilson(round(won * games), games)
    assert drawn == 0
    assert low <= won <= high, interval
    assert interval[1] - interval[0] < 0.014


def test_heuristics_beat_random_on_the_full_deck() -> None:
    for name in ("heuristic", "heuristic-tracking"):
        states, seat = play(FULL, (BOTS[name](), BOTS["random"]()), 300, np.random.default_rng(8))
        assert results(FULL, states, seat)[0] > 0.97


def test_bots_say_what_is_wrong() -> None:
    rng = np.random.default_rng(0)
    for name, make in BOTS.items():
        assert make().name == name
        with pytest.raises(RuntimeError, match="call begin"):
            make().act(MINI.reset(1, rng), np.arange(1), rng)
    with pytest.raises(ValueError, match="heuristic-tracking plays cheat and mini-cheat only, not kuhn"):
        BOTS["heuristic-tracking"]().begin(Kuhn(), 1, rng)


@pytest.mark.parametrize("name", ["random", "heuristic", "heuristic-tracking"])
def test_a_last_discard_is_challenged_where_it_must_be(name: str) -> None:
    """Without the option, `heuristic-tracking` passes if it knows that all cards are true, and `random` in half."""
    passed = {}
    for forced in (False, True):
        game = Cheat(3, 2, dealt=2, max_discard=2, discards="sets", challenge_last=forced)
        rng = np.random.default_rng(5)
        states, bot, passes, answers = game.reset(500, rng), BOTS[name](), 0, 0
        bot.begin(game, 500, rng)
        while len(states):
            actions = bot.act(states, np.arange(len(states)), rng)
            last = (states["phase"] == 1) & (states["hand"][np.arange(len(states)), states["discarder"]] == 0)
            passes, answers = passes + int((actions[last] == 0).sum()), answers + int(last.sum())
            game.step(states, actions)
            states = states[~game.finished(states)]
        assert answers > 100
        passed[forced] = passes
    assert passed[True] == 0
    assert (passed[False] > 0) is (name != "heuristic")
