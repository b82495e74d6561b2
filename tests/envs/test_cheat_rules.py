"""Cheat: the compiled rules beside the rules in plain Python, and invariants of every game."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.cheat import Cheat
from envs.cheat.cards import absolute, unpack
from envs.cheat.observation import DIGESTS, read_hand
from envs.cheat.rules import log_width
from envs.extensive import CHANCE, OVER
from envs.game import Game, IllegalAction, States
from tests.envs.stated_cheat import StatedCheat, discards_of

Mini = partial(Cheat, ranks=3, copies=2, dealt=2, max_discard=2)
GAMES = {
    "mini": Mini(discards="sets"),
    "mini-picked": Mini(),
    "mini-one-life": Mini(health=1, discards="sets"),
    "mini-challenged": Mini(discards="sets", challenge_last=True),
    "mini-endless": Mini(health=0, ply_limit=90),
    "full": Cheat(),
    "full-sets": Cheat(health=1, discards="sets", ply_limit=40),
    "full-one-a-turn": Cheat(max_discard=1, health=4, ply_limit=301, observation_health=2),
    "three": Cheat(ranks=5, copies=3, players=3),
    "three-endless-sets": Cheat(ranks=4, copies=2, players=3, health=0, ply_limit=77, discards="sets", max_discard=3),
    "three-challenged": Cheat(ranks=3, copies=2, players=3, challenge_last=True),
    "four-dealt": Cheat(ranks=4, copies=3, players=4, dealt=2, discards="sets", health=2),
    "five": Cheat(players=5, health=2),
    "six": Cheat(players=6, health=1),
    "six-single": Cheat(ranks=6, copies=1, players=6, health=2, max_discard=6),
    "two-ranks": Cheat(ranks=2, copies=7, max_discard=14, players=2),
    "most-cards": Cheat(ranks=13, copies=7, players=2, max_discard=91, health=0, ply_limit=600),
}
EACH = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES.keys())


@st.composite
def games(draw: st.DrawFn) -> Cheat:
    def number(low: int, high: int) -> int:
        return draw(st.integers(low, high))

    players, copies = number(2, 6), number(1, 7)
    ranks = number(max(2, -(-players // copies)), 13)
    most = number(1, min(6, ranks * copies))
    small = len(discards_of(Cheat(ranks, copies, max_discard=most))) < 400 if most < 4 else False
    health = number(0, 4)
    return Cheat(
        ranks,
        copies,
        players,
        dealt=number(0, ranks * copies // players),
        health=health,
        max_discard=most,
        discards=draw(st.sampled_from(["sets", "cards"])) if small else "cards",
        ply_limit=number(0 if health else 1, 200),
        challenge_last=draw(st.booleans()),
    )


class Knowledge:
    """Pairs of infostate and knowledge: an infostate may never come with two, nor two infostates with one."""

    def __init__(self) -> None:
        self.shown: dict[Any, Any] = {}
        self.known: dict[Any, Any] = {}

    def check(self, known: Any, packed: bytes, text: str) -> None:
        assert self.shown.setdefault(known, (packed, text)) == (packed, text), "a player is shown what is hidden"
        assert self.known.setdefault(packed, known) == known, "an infostate forgets what its player knows"


def stated(game: Cheat, states: States) -> list[StatedCheat]:
    """The games after the deal in plain Python."""
    found = []
    for state in states:
        hands = [[r for r, n in enumerate(absolute(hand, 0, game.ranks)) for _ in range(n)] for hand in state["hand"]]
        found.append(StatedCheat(game, hands, int(state["discarder"])))
    return found


def compare(game: Cheat, states: States, tables: list[StatedCheat], knowledge: Knowledge) -> None:
    """Compares everything that the game shows of its states with plain Python."""
    mover = np.array([OVER if t.mover is None else t.mover for t in tables])
    assert np.array_equal(game.to_move(states), mover)
    assert np.array_equal(game.finished(states), mover == OVER)
    assert [game.spec.endings[ending] for ending in game.endings(states)] == [t.ending for t in tables]
    assert np.allclose(game.utilities(states), [t.returns() for t in tables], rtol=0, atol=1e-12)
    assert np.array_equal(game.returns(states), game.utilities(states).astype(np.float32))
    assert [set(np.flatnonzero(row).tolist()) for row in game.legal(states)] == [t.legal() for t in tables]
    for state, table in zip(states, tables, strict=True):
        compare_cards(game, state, table)
        assert state["ply"] == table.plies
        assert state["health"].tolist() == table.health
        assert "\n" not in game.describe(state)
    for player in range(game.players):
        packed = game.observe(states, np.full(len(states), player, np.int8))
        encoded = game.encode(packed)
        assert encoded.shape == (len(states), *game.spec.shapes["flat"])
        assert encoded.min() >= 0
        assert encoded.max() <= 1
        logs, room = packed[:, -DIGESTS : 8 - DIGESTS].copy().view("u8")[:, 0], 62 // int(log_width(game.max_discard))
        for b, table in enumerate(tables):
            assert unlog(int(logs[b]), game.max_discard) == table.turns[-room:], "a turn is missing"
            assert read_hand(packed, game.ranks)[b].tolist() == table.counts(table.hands[player])
            if table.mover is not None:
                text = game.describe(states[b], player)
                knowledge.check((player, tuple(table.known[player])), packed[b].tobytes(), text)


def compare_cards(game: Cheat, state: np.void, table: StatedCheat) -> None:
    """Checks hands and pile, and that known cards of others are the stated ones and among theirs."""
    assert absolute(1, int(state["rank"]), game.ranks)[table.rank] == 1
    picked = table.last if not table.answering else []
    for p in range(game.players):
        put = table.put_by(p)
        assert unpack(state["hand"][p], game.ranks).tolist() == table.counts(table.hands[p])
        assert unpack(state["put"][p], game.ranks).tolist() == table.counts(put)
        has = table.counts(table.hands[p] + put + (picked if p == table.discarder else []))
        for viewer in range(game.players):
            known = unpack(state["seen"][viewer, p], game.ranks)
            assert (known <= has).all(), "a player is said to have what he has not"
            assert known.tolist() == table.counts([*table.seen[viewer][p].elements()])
    assert unpack(state["discard"], game.ranks).tolist() == table.counts(table.last)
    assert state["claimed"] == (len(table.last) if table.answering else 0)


def unlog(log: int, most: int) -> list[tuple[int, bool]]:
    """The turns of a log, the oldest first."""
    width, turns = int(log_width(most)), []
    while log > 1:
        entry, log = log & ((1 << width) - 1), log >> width
        turns.append((1 + (entry >> 1), entry % 2 == 1))
    assert log == 1
    return turns[::-1]


def play(game: Cheat, batch: int, seed: int) -> Iterator[tuple[States, np.ndarray]]:
    """The states before each step of random play, with the actions; then those at the end, with none."""
    rng = np.random.default_rng(seed)
    states = game.reset(batch, rng)
    while not game.finished(states).all():
        actions = (game.legal(states) * rng.random((batch, game.spec.num_actions))).argmax(1)
        yield states, actions
        game.step(states, actions, rng)
    yield states, np.zeros(batch, int)


def go_as_stated(game: Cheat, batch: int, seed: int) -> None:
    """Random games, state by state."""
    assert isinstance(game, Game)
    knowledge, tables, plies = Knowledge(), [], 0
    for states, actions in play(game, batch, seed):
        tables = tables or stated(game, states)
        compare(game, states, tables, knowledge)
        for table, action in zip(tables, actions, strict=True):
            if table.mover is not None:
                table.play(int(action))
        plies += 1
    assert all(t.mover is None for t in tables)
    assert plies - 1 <= game.spec.max_plies


@EACH
def test_games_go_as_stated(game: Cheat) -> None:
    go_as_stated(game, 6, seed=1)


@given(games(), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_games_with_any_options_go_as_stated(game: Cheat, seed: int) -> None:
    go_as_stated(game, 3, seed)


@EACH
def test_cards_are_conserved_and_ended_games_stay(game: Cheat) -> None:
    before: States | None = None
    cards = (game.dealt or 0) * game.players or game.ranks * game.copies
    for states, _ in play(game, 40, seed=2):
        picked = np.where(states["phase"] == 0, states["discard"], np.uint64(0))[:, None]
        heaps = unpack(np.concatenate([states["hand"], states["put"], picked], axis=1), game.ranks).astype(int)
        assert (heaps.sum(axis=(1, 2)) == cards).all()
        assert (heaps.sum(axis=1) <= game.copies).all()
        assert (states["mover"] != CHANCE).all()
        assert np.array_equal(game.legal(states).any(1), ~game.finished(states))
        assert np.allclose(game.utilities(states).sum(1), 0)
        if before is not None:
            over = game.finished(before)
            assert np.array_equal(states[over], before[over])
        before = states.copy()


@pytest.mark.parametrize("name", ["mini", "mini-picked", "full", "full-sets", "three", "four-dealt", "five", "six"])
def test_infostates_do_not_depend_on_hidden_cards(name: str) -> None:
    """Until a player's cards are shown, the others may hold and lay whatever they like: the viewer sees the same."""
    game, rng, taken = GAMES[name], np.random.default_rng(5), 0
    for seed in range(60):
        viewer = int(rng.integers(game.players))
        one = game.reset(1, np.random.default_rng(seed))
        both = np.concatenate([one, one])
        deal_hidden_again(game, both[1:], viewer, rng)
        assert same_for(game, both, viewer)
        for _ in range(12):
            state = both[0]
            mover, mine = int(state["mover"]), int(state["discarder"]) == viewer
            if mover < 0 or both["mover"][1] != mover:
                break
            if state["phase"] == 1:
                challenge = mine and rng.random() < 0.5
                game.step(both, np.full(2, int(challenge)))
                taken += challenge
                if challenge and both["taken"][0] == viewer:
                    break  # he sees the pile, and so in which of the two he is
            elif mover == viewer:
                game.step(both, np.full(2, rng.choice(np.flatnonzero(game.legal(both)[0]))))
            else:
                lay_as_many(game, both, rng)
            assert same_for(game, both, viewer)
    assert taken > 5


def deal_hidden_again(game: Cheat, states: States, viewer: int, rng: np.random.Generator) -> None:
    """Deals all players but the viewer from the cards that he does not hold, in place."""
    left = np.repeat(np.arange(game.ranks), game.copies - unpack(states["hand"][0, viewer], game.ranks).astype(int))
    rng.shuffle(left)
    for p in range(game.players):
        size = int(unpack(states["hand"][0, p], game.ranks).sum())
        if p != viewer:
            dealt, left = left[:size], left[size:]
            states["hand"][0, p] = sum(1 << 4 * int(rank) for rank in dealt)


def lay_as_many(game: Cheat, both: States, rng: np.random.Generator) -> None:
    """Lets the mover discard as many cards in both games, each from his hand there."""
    mover = int(both["mover"][0])
    most = min(game.max_discard, int(unpack(both["hand"][0, mover], game.ranks).sum()))
    size = int(rng.integers(1, most + 1))
    for b in (0, 1):
        counts = unpack(both["hand"][b, mover], game.ranks)
        hand = np.repeat(np.arange(game.ranks), counts)
        lay(game, both[b : b + 1], sorted(rng.permutation(hand)[:size].tolist()))


def lay(game: Cheat, states: States, chosen: list[int]) -> None:
    """Discards cards, given as distances from the current rank in rising order, in one game."""
    if not game.picking:
        game.step(states, np.array([2 + discards_of(game).index(tuple(chosen))]))
        return
    for distance in chosen:
        game.step(states, np.array([3 + distance]))
    if states["phase"][0] == 0:
        game.step(states, np.array([2]))


def same_for(game: Cheat, both: States, viewer: int) -> bool:
    packed = game.observe(both, np.full(2, viewer, np.int8))
    texts = [game.describe(state, viewer) for state in both]
    return np.array_equal(packed[0], packed[1]) and texts[0] == texts[1]


@pytest.mark.parametrize("name", ["mini", "full-sets", "three-endless-sets", "four-dealt"])
def test_discards_as_sets_and_card_by_card_are_the_same_game(name: str) -> None:
    game = replace(GAMES[name], ply_limit=0, health=GAMES[name].health or 2)
    picked, wholes = replace(game, discards="cards"), discards_of(game)
    differing = {"memory", "last", "lowest", "ply"}
    for seed in range(20):
        states = game.reset(1, np.random.default_rng(seed))
        others = picked.reset(1, np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        while not game.finished(states)[0]:
            action = int(rng.choice(np.flatnonzero(game.legal(states)[0])))
            game.step(states, np.array([action]))
            if action < 2:
                picked.step(others, np.array([action]))
            else:
                lay(picked, others, list(wholes[action - 2]))
            for name in set(states.dtype.names or ()) - differing:
                assert np.array_equal(states[name], others[name]), name
        assert np.array_equal(game.returns(states), picked.returns(others))


def test_a_discard_that_must_end_ends_with_an_action_that_all_can_foresee() -> None:
    """Were picking to end of itself where no higher card is left, the others would learn that none is."""
    game = Cheat(ranks=3, copies=2, dealt=2, max_discard=2)
    states = game.reset(2, np.random.default_rng(0))
    states["discarder"], states["mover"] = 0, 0
    states["hand"][:, 0] = [0x110, 0x101]  # the highest card last, or a higher one left
    game.step(states, np.array([3 + 2, 3 + 0]))
    assert states["phase"].tolist() == [0, 0]
    assert [np.flatnonzero(row).tolist() for row in game.legal(states)] == [[2], [2, 5]]


def test_what_challenges_and_piles_tell() -> None:
    """Three players with seven cards of 4 x 2."""
    game = Cheat(ranks=4, copies=2, players=3, dealt=2, max_discard=2, health=3)
    states = game.reset(1, np.random.default_rng(0))
    states["hand"] = [0x0011, 0x1110, 0x1100]
    states["discarder"] = states["mover"] = 0

    def known(viewer: int, holder: int) -> list[int]:
        """Counts by rank from Ace."""
        return absolute(int(states["seen"][0, viewer, holder]), int(states["rank"][0]), 4)

    lay(game, states, [1])  # player 0 lies with a 2, and no player objects
    game.step(states, np.array([0]))
    game.step(states, np.array([0]))
    assert not states["seen"].any()
    lay(game, states, [0])  # player 1 lays a 2, which is true
    game.step(states, np.array([1]))  # player 2 does not believe it, and takes both
    assert (known(0, 2), known(1, 2)) == ([0, 2, 0, 0], [0, 1, 0, 0]), "player 0 knows what he put, and sees the other"
    assert (known(2, 0), known(2, 1), known(0, 1)) == ([0] * 4, [0] * 4, [0] * 4)
    lay(game, states, [3])  # player 2 lays one of the two 2s as a 3
    game.step(states, np.array([0]))
    assert known(0, 2) == [0, 2, 0, 0], "in his hand, or put by him"
    game.step(states, np.array([1]))  # player 1 does not believe it: player 2 takes it back
    assert (known(0, 2), known(1, 2)) == ([0, 2, 0, 0], [0, 1, 0, 0])
    lay(game, states, [1])  # player 0 lays his Ace as a 4
    game.step(states, np.array([1]))  # challenged by player 1
    assert (known(1, 0), known(2, 0)) == ([1, 0, 0, 0], [1, 0, 0, 0])
    lay(game, states, [2])  # player 1 his 3 as an Ace
    game.step(states, np.array([0]))
    game.step(states, np.array([0]))
    lay(game, states, [2])  # player 2 lays a 4 as a 2; the pile has a card of player 1, too
    game.step(states, np.array([0]))
    game.step(states, np.array([1]))  # player 1 shows it
    assert states["mover"][0] < 0, "player 2 has lost his last health point"
    assert known(1, 2) == [0, 1, 1, 1]
    assert known(0, 2) == [0, 2, 0, 1]
    assert known(0, 1) == known(2, 1) == [0] * 4


def test_unlimited_health_never_ends() -> None:
    game = Cheat(ranks=3, copies=2, dealt=2, health=0, ply_limit=300)
    assert not game.describe(game.reset(1, np.random.default_rng(0))[0]).count("health")
    last = [states.copy() for states, _ in play(game, 200, seed=3)][-1]
    assert (last["health"] == 0).all()
    endings = {game.spec.endings[e] for e in game.endings(last)}
    assert endings <= {"hand empty", "ply limit"}


@pytest.mark.parametrize("name", ["mini", "full", "four-dealt", "six-single"])
def test_deals_are_uniform_and_everybody_begins_as_often(name: str) -> None:
    game, batch = GAMES[name], 20_000
    states = game.reset(batch, np.random.default_rng(9))
    began = np.bincount(states["discarder"], minlength=game.players) / batch
    assert began == pytest.approx(np.full(game.players, 1 / game.players), abs=0.02)
    hands = unpack(states["hand"], game.ranks)
    for p in range(game.players):
        expected = hands[0, p].sum() / game.ranks
        assert hands[:, p].mean(0) == pytest.approx(np.full(game.ranks, expected), abs=0.04)
    if name == "mini":
        deals, chances = game.deals()
        found, counts = np.unique(states["hand"], axis=0, return_counts=True)
        assert len(found) == len(deals)
        by_deal = {tuple(d): c for d, c in zip(deals.tolist(), chances, strict=True)}
        expected_counts = np.array([by_deal[tuple(d)] for d in found.tolist()])
        assert counts / batch == pytest.approx(expected_counts, abs=0.012)


@EACH
def test_illegal_actions_change_nothing(game: Cheat) -> None:
    seen = 0
    for states, actions in play(game, 5, seed=8):
        running = np.flatnonzero(~game.finished(states))
        if not len(running) or seen > 100:
            break
        b = int(running[-1])
        refused = np.flatnonzero(~game.legal(states)[b])[:4]
        for bad in (-1, game.spec.num_actions, 10**6, 2**40, *refused):
            before, chosen = states.copy(), np.where(game.finished(states), -7, actions)
            chosen[b] = bad
            with pytest.raises(IllegalAction, match=rf"^game {b} \([^\n]+\): action {bad}[^\n]* is not legal$"):
                game.step(states, chosen)
            assert np.array_equal(states, before)
            seen += 1
    assert seen
    states = game.reset(3, np.random.default_rng(0))
    for actions in (np.zeros(1, int), np.zeros((3, 1), int), np.int64(0), np.zeros(3), np.zeros(3, bool), [None] * 3):
        with pytest.raises(ValueError, match=r"^[^\n]*\b3\b[^\n]* \w+\[[0-9, ]*\]$"):
            game.step(states, actions)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint8, np.uint64])
def test_actions_may_be_integers_of_any_kind(kind: type[np.integer]) -> None:
    for name in ("mini", "mini-picked"):
        game = GAMES[name]
        states = game.reset(4, np.random.default_rng(0))
        others = states.copy()
        actions = game.legal(states).argmax(1)
        game.step(states, actions)
        game.step(others, actions.astype(kind))
        assert np.array_equal(states, others)
        with pytest.raises(IllegalAction, match=r"action 77 is not legal$"):
            game.step(states, np.full(4, 77, kind))
