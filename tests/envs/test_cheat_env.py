"""Observations, texts and pictures of Cheat; see also `test_pettingzoo`."""

from typing import Any

import numpy as np
import pytest

from envs.cheat import Cheat, render
from envs.cheat.cards import pack, unpack
from envs.cheat.turns import log_width, logged, make_rules
from envs.game import States

MINI: dict[str, Any] = {"ranks": 3, "copies": 2, "dealt": 2, "max_discard": 2}


def test_flat_observation_of_a_known_position() -> None:
    """3 x 2 cards: player 0 has two of the current rank and lays one; player 1, who has the third and the fourth card
    of the next ranks, looks."""
    game = Cheat(**MINI, health=2)
    states = placed(game, [[2, 0, 0], [0, 1, 1]])
    game.step(states, np.array([3]))
    game.step(states, np.array([2]))
    flat = game.encode(game.observe(states, np.array([1], np.int8)))[0].tolist()
    sixth = pytest.approx(1 / 6)
    assert flat[:2] == [0, 1], "answering"
    assert flat[2:5] == [0, 1, 0], "one card is claimed"
    assert flat[5:7] == [0, 1], "by the other player"
    assert flat[7:9] == [pytest.approx(2 / 6), sixth], "cards in hand"
    assert flat[9:11] == [1, 1], "health"
    assert flat[11:13] == [0, 0], "not the last health point"
    assert flat[13:15] == [0, sixth], "cards put into the pile"
    assert flat[15:21] == [0, 0, 1, 0, 1, 0], "the player's hand"
    assert flat[21:] == [0] * (6 + 3 + 3 + 12) + [1, 0, 0], "nothing else is known"
    game.step(states, np.array([1]))
    flat = game.encode(game.observe(states, np.array([0], np.int8)))[0].tolist()
    assert flat[7:11] == [sixth, 0.5, 1, 0.5], "player 1 has taken the pile and lost a point"
    assert flat[11:13] == [0, 1]
    assert flat[21:27] == [0, 0, 0, 0, 1, 0], "player 1 has the card, whose rank returns in 2 turns"
    assert flat[33:36] == [1, 0, 1], "one card was claimed, and challenged"


def test_flat_observation_while_cards_are_picked() -> None:
    game = Cheat(**MINI, health=2)
    states = placed(game, [[2, 0, 0], [0, 1, 1]])
    assert game.encode(game.observe(states, np.array([0], np.int8)))[0, 15:21].tolist() == [1, 1, 0, 0, 0, 0]
    states = placed(game, [[0, 1, 1], [2, 0, 0]])
    game.step(states, np.array([3 + 1]))
    own, other = game.encode(game.observe(np.repeat(states, 2), np.array([0, 1], np.int8))).tolist()
    assert own[:2] == other[:2] == [1, 0], "discarding"
    assert own[7:9] == [pytest.approx(1 / 6), pytest.approx(2 / 6)], "cards in hand, without the picked one"
    assert other[7:9] == [pytest.approx(2 / 6)] * 2, "a picked card is still in the hand that others see"
    assert own[15:21] == [0, 0, 0, 0, 1, 0]
    assert (own[30:33], other[30:33]) == ([0, 0.5, 0], [0, 0, 0]), "picked, of two cards of that rank"
    assert (own[45:], other[45:]) == ([0, 1, 0], [1, 0, 0]), "only the player knows the lowest rank to pick"


@pytest.mark.parametrize("most", [1, 2, 3, 4, 14])
def test_the_log_keeps_as_many_of_the_last_turns_as_fit(most: int) -> None:
    """Also where every turn is written as 0, one card that is not challenged."""
    width, rule_set = int(log_width(most)), make_rules(13, most)
    for claimed, challenged in ((1, False), (1, True), (most, False), (most, True)):
        entry, log = 2 * (claimed - 1) + challenged, np.uint64(1)
        for turn in range(1, 80):
            log = np.uint64(logged(log, claimed, challenged, rule_set))
            kept = min(turn, 62 // width)
            assert int(log) == (1 << kept * width) + sum(entry << k * width for k in range(kept))


def test_health_beyond_a_byte_is_shown_as_full() -> None:
    game = Cheat(**MINI, health=1000)
    states = game.reset(1, np.random.default_rng(0))
    for left, shown in ((1000, 1), (255, 1), (51, 0.2), (1, 1 / 255)):
        states["health"] = left
        assert game.encode(game.observe(states, np.zeros(1, np.int8)))[0, 9:11] == pytest.approx(shown)


@pytest.mark.parametrize("players", [[2], [-1], [0, 0], [0.0]])
def test_players_that_do_not_exist_are_refused(players: list[int]) -> None:
    game = Cheat(**MINI)
    with pytest.raises(ValueError, match=r"^players must be integers \[1\] from 0 to 1, one for each game, got "):
        game.observe(game.reset(1, np.random.default_rng(0)), np.array(players))


def placed(game: Cheat, hands: list[list[int]]) -> States:
    """One game with these hands, counts by rank, that player 0 begins."""
    states = game.reset(1, np.random.default_rng(0))
    states["hand"] = pack(np.array(hands))
    states["discarder"] = states["mover"] = 0
    return states


def test_texts() -> None:
    game = Cheat(**MINI, health=2)
    states = placed(game, [[1, 1, 0], [0, 1, 1]])
    game.step(states, np.array([3 + 0]))
    assert render.ansi(game, states[0]).splitlines() == [
        "ply 1, rank A: player_0 discards",
        "> player_0  health 2  hand 1 (2)  put 0  picked 1 (A)",
        "  player_1  health 2  hand 2 (23)  put 0",
    ]
    assert render.ansi(game, states[0], 1).splitlines()[1:] == [
        "> player_0  health 2  hand 2  put 0",
        "  player_1  health 2  hand 2 (23)  put 0",
    ]
    game.step(states, np.array([2]))
    assert render.ansi(game, states[0], 1).splitlines() == [
        "ply 2, rank A: player_0 claims 1, player_1 answers",
        "  player_0  health 2  hand 1  put 1",
        "> player_1  health 2  hand 2 (23)  put 0",
    ]
    game.step(states, np.array([1]))
    assert render.ansi(game, states[0], 0).splitlines() == [
        "ply 3, rank 2: player_1 discards",
        "  shown A, player_1 takes the pile",
        "  player_0  health 2  hand 1 (2)  put 0",
        "> player_1  health 1  hand 3  put 0",
    ]
    game.step(states, np.array([3 + 1]))  # a lie
    game.step(states, np.array([2]))
    game.step(states, np.array([1]))
    assert render.ansi(game, states[0], 0).splitlines() == [
        "ply 6, rank 2: player_0 wins (health gone)",
        "  shown 3, player_1 takes the pile",
        "  player_0  health 2  hand 1 (2)  put 0",
        "  player_1  health 0  hand 3  put 0",
    ]


def test_a_challenge_at_the_ply_limit_shows_the_cards_that_were_laid() -> None:
    game = Cheat(**MINI, health=2, ply_limit=3)
    states = placed(game, [[1, 1, 0], [0, 1, 1]])
    for action in (3 + 0, 2, 1):
        game.step(states, np.array([action]))
    assert render.ansi(game, states[0], 0).splitlines()[:2] == [
        "ply 3, rank 2: no player wins (ply limit)",
        "  shown A, player_1 takes the pile",
    ]


@pytest.mark.parametrize(
    "options", [{}, {"players": 3}, {"players": 6, "health": 20}, {"copies": 7, "discards": "sets", "max_discard": 2}]
)
def test_pictures_hide_what_the_viewer_may_not_know(options: dict[str, Any]) -> None:
    """Hidden cards that change places change the spectator's picture, and only his."""
    game, rng, changed = Cheat(**options), np.random.default_rng(4), 0
    states = game.reset(6, rng)
    for _ in range(70):
        states = states[~game.finished(states)]
        if not len(states):
            break
        view = int(rng.integers(game.players))
        other = swapped(game, states[:1], view, rng)
        changed += not np.array_equal(states[:1], other)
        for draw in (render.ansi, render.rgb_array):
            assert np.array_equal(draw(game, states[0], view), draw(game, other[0], view))
            alike = np.array_equal(draw(game, states[0]), draw(game, other[0]))
            assert alike == np.array_equal(states[:1], other)
        picture = render.rgb_array(game, states[0], view)
        assert picture.dtype == np.uint8
        assert picture.shape == (2 * render.HEAD + game.players * render.ROW, render.WIDTH, 3)
        game.step(states, (game.legal(states) * rng.random((len(states), game.spec.num_actions))).argmax(1))
    assert changed >= 5


def swapped(game: Cheat, states: States, view: int, rng: np.random.Generator) -> States:
    """The game with the cards of all others dealt again among all heaps of theirs, each as large as it was."""
    other = states.copy()
    picked = int(states["discarder"][0]) if states["phase"][0] == 0 else -1
    heaps = [("hand", p) for p in range(game.players) if p != view]
    heaps += [("put", p) for p in range(game.players) if p != view]
    heaps += [("discard", None)] if picked not in (-1, view) else []
    parts = [other[name] if p is None else other[name][:, p] for name, p in heaps]
    counts = [unpack(part, game.ranks)[0] for part in parts]
    cards = rng.permutation(np.repeat(np.tile(np.arange(game.ranks), len(counts)), np.concatenate(counts)))
    for part, count in zip(parts, counts, strict=True):
        dealt, cards = cards[: count.sum()], cards[count.sum() :]
        part[:] = pack(np.bincount(dealt, minlength=game.ranks)[None])
    return other


def test_many_cards_fit_the_picture() -> None:
    for options in ({"copies": 7}, {"copies": 7, "max_discard": 46}):
        game = Cheat(**options)
        states = game.reset(1, np.random.default_rng(0))
        for _ in range(50):
            states["health"] = 3
            render.rgb_array(game, states[0])
            render.rgb_array(game, states[0], view=int(states["mover"][0]))
            if game.finished(states)[0]:
                break
            game.step(states, np.array([np.flatnonzero(game.legal(states)[0])[-1]]))
        assert states["ply"][0] > 40 or game.finished(states)[0]
