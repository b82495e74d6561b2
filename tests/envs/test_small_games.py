"""The small games: the compiled rules against the rules in plain Python."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from envs.dark_hex import DarkHex
from envs.extensive import CHANCE, OVER, ExtensiveGame, FactoredGame
from envs.game import IllegalAction, States
from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.liars_dice import LiarsDice
from envs.oshi_zumo import OshiZumo
from envs.phantom_ttt import PhantomTicTacToe
from envs.placement.game import PlacementGame
from tests.envs.small_trees import after_chance, states_of, tree_of
from tests.envs.stated_games import LEDUC_2B2R, SMALL, Position, stated

BATCH = 8
GAMES = pytest.mark.parametrize("game", SMALL.values(), ids=SMALL.keys())


@st.composite
def games(draw: st.DrawFn) -> FactoredGame:
    def number(low: int, high: int) -> int:
        return draw(st.integers(low, high))

    kind = draw(st.sampled_from([Kuhn, Leduc, Goofspiel, OshiZumo, LiarsDice, PhantomTicTacToe, DarkHex]))
    if kind is Kuhn:
        return Kuhn(number(2, 6))
    if kind is Goofspiel:
        return Goofspiel(number(2, 6), draw(st.sampled_from(["descending", "ascending", "random"])))
    if kind is OshiZumo:
        least = number(1, 3)
        return OshiZumo(number(least + 2, 14), number(1, 4), least)
    if kind is LiarsDice:
        dice = number(1, 3)
        return LiarsDice(dice, number(2, 6 if dice < 3 else 4))
    if kind is PhantomTicTacToe:
        return PhantomTicTacToe(draw(st.booleans()))
    if kind is DarkHex:
        return DarkHex(draw(st.booleans()), rows=number(2, 4), columns=number(2, 4))
    suits, many = number(1, 4), number(1, 3)
    sizes = "/".join(",".join(str(number(1, 9)) for _ in range(many)) for _ in range(2))
    deal = draw(st.sampled_from(["cards", "ranks"]))
    return Leduc(number(3 if suits == 1 else 2, 4), suits, sizes, number(0, 4), number(1, 3), deal)


@dataclass
class Knowledge:
    """Which packed infostate a player had with which knowledge: neither may ever come with two of the other."""

    packed: dict[Any, bytes]
    known: dict[bytes, Any]

    def check(self, packed: bytes, known: Any) -> None:
        assert self.packed.setdefault(known, packed) == packed, "the infostate shows what the player does not know"
        assert self.known.setdefault(packed, known) == known, "the infostate forgets what the player knows"


def compare(game: FactoredGame, states: States, positions: list[Position], knowledge: Knowledge) -> None:
    """Compares everything that the game shows of its states with plain Python."""
    rows = range(len(states))
    mover = np.array([p.mover for p in positions])
    assert np.array_equal(game.mover(states), mover)
    assert np.array_equal(game.finished(states), mover == OVER)
    legal = np.array([[p.mover >= 0 and a in p.choices for a in range(game.spec.num_actions)] for p in positions])
    assert np.array_equal(game.legal(states), legal)
    won = np.array([p.won for p in positions])
    over = np.where((won == 0) & isinstance(game, PhantomTicTacToe), 2, 1)  # a full board ends otherwise than a line
    assert np.array_equal(game.endings(states), np.where(mover == OVER, over, 0))
    assert np.array_equal(game.utilities(states), np.stack([won, -won], axis=1))
    assert np.array_equal(game.returns(states), game.utilities(states).astype(np.float32))
    assert np.abs(won).max() <= game.spec.max_return
    drawn, chance = np.flatnonzero(mover == CHANCE), game.chance(states)
    for b in drawn:
        expected = [positions[b].choices.get(outcome, 0.0) for outcome in range(chance.shape[1])]
        assert np.allclose(chance[b], expected, rtol=0, atol=1e-15)
        assert max(positions[b].choices) < chance.shape[1]
    for player in (0, 1):
        packed = game.observe(states, np.full(len(states), player, np.int8))
        assert packed.shape == (len(states), game.spec.packed_size)
        for b in rows:
            knowledge.check(packed[b].tobytes(), (player, positions[b].known[player]))
    for state in states:
        assert "\n" not in game.describe(state)
        assert game.describe(state)


@given(games(), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_games_go_as_stated(game: FactoredGame, seed: int) -> None:
    assert isinstance(game, ExtensiveGame)
    look, rng, knowledge = stated(game), np.random.default_rng(seed), Knowledge({}, {})
    states, histories = game.initial(BATCH), [()] * BATCH
    positions = [look(history) for history in histories]
    while any(p.mover != OVER for p in positions):
        compare(game, states, positions, knowledge)
        choices = np.array([rng.choice(list(p.choices)) if p.choices else 0 for p in positions])
        stepped, by_players = states.copy(), game.mover(states) != CHANCE
        part = stepped[by_players]
        game.step(part, choices[by_players], rng)
        game.apply(states, choices)
        same = by_players & (game.mover(states) != CHANCE)
        assert np.array_equal(states[same], part[same[by_players]])
        histories = [(*h, int(c)) if p.choices else h for h, c, p in zip(histories, choices, positions, strict=True)]
        positions = [look(history) for history in histories]
    compare(game, states, positions, knowledge)


def play(game: FactoredGame, batch: int, seed: int) -> Iterator[States]:
    """The states after each step of random play, chance drawn by the game."""
    rng = np.random.default_rng(seed)
    states = game.reset(batch, rng)
    yield states
    while not game.finished(states).all():
        game.step(states, (game.legal(states) * rng.random((batch, game.spec.num_actions))).argmax(1), rng)
        yield states


def conserved_in_kuhn(game: Kuhn, states: States) -> None:
    assert (states["cards"][:, 0] != states["cards"][:, 1]).all()
    assert (states["cards"] < game.cards).all()
    over = game.finished(states)
    assert np.isin(states["stake"][over], (1, 2)).all()
    assert np.array_equal(np.abs(game.utilities(states)[:, 0]), np.where(over, states["stake"], 0))


def conserved_in_leduc(game: Leduc, states: States) -> None:
    dealt = np.column_stack([states["cards"], states["board"]])
    copies = game.suits if game.deal == "ranks" else 1
    known = np.where(dealt == 255, 1000 + np.arange(3), dealt)  # what is not dealt counts for itself
    assert ((known[:, :, None] == known[:, None]).sum(2) <= copies).all()
    bets, over = states["bets"], game.finished(states)
    assert (bets >= game.ante).all()
    assert (bets <= game.spec.max_return).all()
    won, showdown = game.utilities(states)[:, 0], over & (states["folded"] < 0)
    assert (bets[showdown, 0] == bets[showdown, 1]).all()
    assert np.isin(np.abs(won[showdown]) / bets[showdown, 0], (0, 1)).all()
    folded = over & (states["folded"] >= 0)
    loser = states["folded"][folded]
    assert np.array_equal(np.abs(won[folded]), bets[folded, loser])
    assert (bets[folded, loser] < bets[folded, 1 - loser]).all()


def conserved_in_goofspiel(game: Goofspiel, states: States) -> None:
    legal = game.legal(states)
    for state, may in zip(states, legal, strict=True):
        bids = [set(own[own != 255].tolist()) for own in state["bids"]]
        assert [len(own) for own in bids] == [state["round"] + (state["mover"] == 1), state["round"]]
        if state["mover"] >= 0:
            assert set(np.flatnonzero(may).tolist()) == set(range(game.cards)) - bids[state["mover"]]
        prizes = state["prizes"][: state["round"]].astype(int)
        assert len(set(prizes.tolist())) == len(prizes)
        points = [int((prizes + 1)[state["results"][: len(prizes)] == who].sum()) for who in (0, 1, 2)]
        assert state["difference"] == points[1] - points[2]
        assert state["mover"] != OVER or sum(points) == game.cards * (game.cards + 1) // 2


def conserved_in_oshi_zumo(game: OshiZumo, states: States) -> None:
    for state in states:
        spent = state["bids"][:, : state["round"]].astype(int).sum(1)
        assert np.array_equal(spent + state["coins"], [game.coins] * 2)
        if state["mover"] == OVER:
            pushes = state["results"][: state["round"]]
            off = abs(int((pushes == 1).sum()) - int((pushes == 2).sum())) > game.size
            assert off or state["coins"].min() < game.min_bid


def conserved_in_liars_dice(game: LiarsDice, states: States) -> None:
    assert (states["hands"] < len(game.hands.dice)).all()
    for state in states:
        bids, over = game.bids_of(state), state["mover"] == OVER
        assert state["last"] == (bids[-1] if bids else 255)
        assert over or state["mover"] == len(bids) % 2
        assert (state["winner"] >= 0) == over
        assert bids or not over
        dice = [face for player in (0, 1) for face in game.dice_of(state, player)]
        assert len(dice) == 2 * game.dice
        assert set(dice) <= set(range(1, game.faces + 1))


def conserved_in_placement(game: PlacementGame, states: States) -> None:
    for state in states:
        first, second = (int(stones) for stones in state["stones"])
        assert first & second == 0
        assert 0 <= first.bit_count() - second.bit_count() <= 1 or game.abrupt
        for player, other in ((0, second), (1, first)):
            known, own = int(state["known"][player]), int(state["stones"][player])
            assert known & ~other == 0
            assert state["tried"][player] == (known | own).bit_count()
            tries = state["tries"][player][: state["tried"][player]] & 0x7F
            assert len(set(tries.tolist())) == len(tries)
        assert (state["winner"] >= 0) == (state["mover"] == OVER)


CONSERVED = {
    Kuhn: conserved_in_kuhn,
    Leduc: conserved_in_leduc,
    Goofspiel: conserved_in_goofspiel,
    OshiZumo: conserved_in_oshi_zumo,
    LiarsDice: conserved_in_liars_dice,
    PhantomTicTacToe: conserved_in_placement,
    DarkHex: conserved_in_placement,
}


@given(games(), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_cards_and_chips_are_conserved(game: FactoredGame, seed: int) -> None:
    plies, before = -1, None
    for states in play(game, BATCH, seed):
        plies += 1
        CONSERVED[type(game)](game, states)
        assert (game.mover(states) != CHANCE).all()
        assert np.array_equal(game.legal(states).any(1), ~game.finished(states))
        if before is not None:  # what has ended stays as it is
            assert np.array_equal(states[game.finished(before)], before[game.finished(before)])
        before = states.copy()
        for player in (0, 1):
            packed = game.observe(states, np.full(BATCH, player, np.int8))
            encoded = game.encode(packed, "flat")
            assert encoded.shape == (BATCH, *game.spec.shapes["flat"])
            assert encoded.dtype == np.float32
            assert np.isin(encoded, (0, 1)).all()
            assert (encoded[:, player] == 1).all()
            assert (encoded[:, 1 - player] == 0).all()
            slots = game.output_slots(packed, "action")
            assert slots.shape == (BATCH, game.spec.num_actions, 1)
            assert np.array_equal(slots[0, :, 0], np.arange(game.spec.slots["action"]))
    assert plies <= game.spec.max_plies


@pytest.mark.parametrize(
    "game",
    [*SMALL.values(), LEDUC_2B2R, Goofspiel(5), OshiZumo(8, 3)],
    ids=[*SMALL, "leduc_2b2r", "goofspiel5", "oshi_zumo8_k3"],
)
def test_infostates_are_the_infosets(game: FactoredGame) -> None:
    """Nodes share a packed infostate if and only if they share an infoset, and networks see all of it."""
    tree = tree_of(game)
    at = np.flatnonzero(tree.mover >= 0)
    packed = game.observe(states_of(game, tree)[at], tree.mover[at])
    assert np.array_equal(packed, tree.observed[tree.infoset[at]])
    assert len({row.tobytes() for row in tree.observed}) == len(tree.observed) == sum(tree.num_infosets)
    encoded = len({row.tobytes() for row in game.encode(tree.observed)})
    if isinstance(game, Leduc) and game.deal == "cards" and game.suits > 1:
        by_rank = replace(game, deal="ranks")  # suits mean nothing and are not shown
        assert encoded == sum(tree_of(by_rank).num_infosets)
    else:
        assert encoded == len(tree.observed)


@pytest.mark.parametrize("game", [*SMALL.values(), LEDUC_2B2R], ids=[*SMALL, "leduc_2b2r"])
def test_spec_says_what_the_tree_says(game: FactoredGame) -> None:
    tree = tree_of(game)
    assert game.spec.max_return == tree.max_utility
    plies = np.zeros(tree.num_nodes, int)
    for begin, end in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
        above = tree.parent[begin:end]
        plies[begin:end] = plies[above] + (tree.mover[above] >= 0)
    assert game.spec.max_plies == plies.max()


def assert_drawn(game: FactoredGame, found: States, node: int) -> None:
    """Chi-square: the states come as often as the tree says that chance leads there from `node`."""
    tree = tree_of(game)
    expected = after_chance(tree, node)
    number = {state.tobytes(): k for k, state in enumerate(states_of(game, tree)[list(expected)])}
    counts = np.bincount([number[state.tobytes()] for state in found], minlength=len(expected))
    assert counts.sum() == len(found)
    if len(expected) > 1:
        assert stats.chisquare(counts, np.array(list(expected.values())) * len(found)).pvalue > 1e-3


DRAWING = ("kuhn-4", "leduc", "leduc-two-sizes", "leduc-one-suit", "goofspiel-3-random", "liars-dice-2-dice")


@pytest.mark.parametrize("name", DRAWING)
def test_chance_is_drawn_as_the_tree_says(name: str) -> None:
    game, rng = SMALL[name], np.random.default_rng(4)
    assert_drawn(game, game.reset(5000, rng), 0)
    tree = tree_of(game)
    states = states_of(game, tree)
    later = [n for n in np.flatnonzero(tree.mover == CHANCE) if n and tree.mover[tree.parent[n]] >= 0]
    for node in rng.choice(later, min(3, len(later)), replace=False) if later else ():
        many = np.repeat(states[tree.parent[node]][None], 2000)
        game.step(many, np.full(2000, tree.action[node]), rng)
        assert_drawn(game, many, int(node))
    assert bool(later) == (name not in ("kuhn-4", "liars-dice-2-dice"))


@GAMES
def test_illegal_actions_change_nothing(game: FactoredGame) -> None:
    rng = np.random.default_rng(3)
    seen = 0
    for states in play(game, 12, seed=8):
        running = np.flatnonzero(~game.finished(states))
        for bad in (-1, game.spec.num_actions, 10**6, *np.flatnonzero(~game.legal(states)[running[-1:]].any(0))):
            if not len(running):
                continue
            b = int(running[-1])
            actions = np.where(game.finished(states), -7, game.legal(states).argmax(1))
            actions[b] = bad
            before = states.copy()
            with pytest.raises(IllegalAction, match=rf"^game {b} \([^\n]+\): action {bad} is not legal$") as caught:
                game.step(states, actions, rng)
            assert game.describe(states[b], int(states["mover"][b])) in str(caught.value)
            assert np.array_equal(states, before)
            seen += 1
    assert seen
    states = game.reset(3, rng)
    for actions in (np.zeros(1, int), np.zeros((3, 1), int), np.int64(0), np.zeros(3), np.zeros(3, bool), [None] * 3):
        before = states.copy()
        with pytest.raises(ValueError, match=r"^actions must be integers \[3\], got \w+\[[0-9, ]*\]$"):
            game.step(states, actions, rng)
        assert np.array_equal(states, before)


@pytest.mark.parametrize(
    "game",
    [
        Kuhn(100),
        Leduc(30, 4, "1000/1000", 12, 1000),
        Leduc(30, 4, "/".join([",".join(["1000"] * 20)] * 2), 12, 1000, "ranks"),
        Goofspiel(13, "random"),
        OshiZumo(50, 50, 1),
        OshiZumo(50, 1, 49),
        LiarsDice(1, 32),
        LiarsDice(16, 2),
        LiarsDice(4, 8),
    ],
    ids=repr,
)
def test_largest_options_fit(game: FactoredGame) -> None:
    """Nothing overflows with the largest options: invariants hold to the end."""
    for states in play(game, 64, seed=1):
        CONSERVED[type(game)](game, states)
    assert np.abs(game.utilities(states)).max() <= game.spec.max_return
    assert (game.returns(states).sum(1) == 0).all()


@pytest.mark.parametrize("last", [1, 21])
def test_the_most_chips_fit(last: int) -> None:
    game = Leduc(30, 4, "/".join([",".join(["1000"] * 20)] * 2), 12, 1000, "ranks")
    states = game.reset(40, np.random.default_rng(0))
    for _ in range(2):
        for action in (1, *[last] * (12 if last > 1 else 0), 1):
            game.step(states, np.full(40, action), np.random.default_rng(0))
    assert game.finished(states).all()
    most = game.spec.max_return if last > 1 else 1000
    assert set(np.abs(game.utilities(states)).ravel().tolist()) <= {0.0, float(most)}
    assert game.spec.max_return == 25_000
