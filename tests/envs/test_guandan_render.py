"""Text and pictures of GuanDan."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envs.guandan import GuanDan, raw_env
from envs.guandan.display import render
from envs.guandan.display.faces import HEIGHT, WIDTH, face
from envs.guandan.display.scene import seen
from envs.guandan.rules.cards import BACK, CARDS, PASS, RANKS, TRIBUTE, parse_action, unpack

CORNER = (slice(3, 21), slice(3, 32))
"""The visible part of a card that lies under its neighbour."""


def corner(card: str, wild: bool) -> np.ndarray:
    """The part of a card's face that is always seen, `uint8[18, 29, 3]`."""
    return np.array(face(card, wild).convert("RGB"))[CORNER]


def random_game(game: GuanDan, seed: int, eager: float = 0.0) -> Iterator[tuple[Any, Any]]:
    """States of a game, copied, and the action that is played there; passes are avoided with probability `eager`."""
    rng = np.random.default_rng(seed)
    states = game.reset(1, rng)
    while not game.finished(states)[0]:
        legal = game.legal(states).rows
        if legal[0]["kind"] == PASS and len(legal) > 1 and rng.random() < eager:
            legal = legal[1:]
        action = legal[rng.integers(len(legal))][None]
        yield states[0].copy(), action[0]
        game.step(states, action)
    yield states[0].copy(), None


def hand(state: np.void, seat: int) -> list[str]:
    return unpack(state["low"][seat], state["high"][seat])


def seat_lines(text: str) -> dict[int, tuple[str, list[str]]]:
    """For each seat its first line and the words of the second."""
    blocks = text.split("\n\n")[1:]
    lines = [block.splitlines() for block in blocks]
    return {int(first.split()[first[0] == ">"][-1]): (first, "".join(rest).split()) for first, *rest in lines}


@pytest.mark.parametrize("length", ["round", "match"])
def test_text_shows_every_card_that_is_seen(length: Any) -> None:
    game = GuanDan(length)
    wild_seen = 0
    for state, _ in itertools.islice(random_game(game, seed=2), 400):
        running = state["to_move"] >= 0
        wild = f"H{RANKS[state['level']]}" if running else None
        for view in (None, 0, 1, 2, 3):
            shown = seat_lines(render.ansi(state, view))
            assert sorted(shown) == [0, 1, 2, 3]
            for seat, (first, words) in shown.items():
                assert (first[0] == ">") == (seat == state["to_move"])
                if running and view not in (None, seat):
                    assert words == ["(hidden)"] * int(state["left"][seat] > 0)
                    continue
                cards = [word.rstrip("*") for word in words]
                assert sorted(cards) == sorted(hand(state, seat))
                assert all(word.endswith("*") == (card == wild) for word, card in zip(words, cards, strict=True))
                wild_seen += sum(card == wild for card in cards)
                if state["left"][seat] > 0 and state["out"] < 4:
                    assert f"{state['left'][seat]} card" in first
    assert wild_seen > 0


def test_last_moves_are_those_of_the_round() -> None:
    """The state does not say who has passed and who has not moved yet; the picture must be right all the same."""
    game = GuanDan("match")
    for seed in range(8):
        last: list[list[str] | None] = [None] * 4
        number, mover, previous = 0, -1, None
        for state, action in itertools.islice(random_game(game, seed, eager=seed / 8), 600):
            if state["number"] != number or state["to_move"] < 0:
                last, number = [None] * 4, state["number"]
            elif previous is not None and previous["kind"] not in (TRIBUTE, BACK):
                last[mover] = unpack(previous["low"], previous["high"])
            if state["to_move"] >= 0:
                assert [seat.last for seat in seen(state, None).seats] == last
            previous, mover = action, state["to_move"]


def first_round(moves: list[list[Any]]) -> np.void:
    """A table at level 2 where each seat holds every fourth card, seat 2 leads, and these moves have been made."""
    game = GuanDan("match", situation="first")
    states = game.reset(1, np.random.default_rng(0))
    deck = [card for card in CARDS for _ in range(2)]
    game.deal(states, [[deck[seat::4] for seat in range(4)]], [2])
    for move in moves:
        game.step(states, parse_action(move))
    return states[0]


def test_text_of_a_position() -> None:
    state = first_round([["Single", "3", ["S3"]], ["PASS", "PASS", "PASS"]])
    lines = render.ansi(state).splitlines()
    assert lines[:3] == [
        "round 1 at level 2, wild card H2: player_0 moves, Single 3 of player_2 is to be beaten",
        "levels: 2 of player_0 and player_2, 2 of player_1 and player_3",
        "",
    ]
    assert lines[3] == "> player_0  27 cards"
    assert lines[6] == "  player_1  27 cards"
    assert lines[9] == "  player_2  26 cards  Single 3: S3"
    assert lines[12] == "  player_3  27 cards  passed"
    assert lines[4].split()[-1] == "SB"
    assert "H2*" in lines[4].split()
    assert lines[4].startswith("    H3 C3  H4 C4  H5 C5  ")  # ranks are set apart, and the level is above the aces
    assert render.ansi(state, view=1).splitlines()[4] == "    (hidden)"


def test_text_of_tributes_and_results() -> None:
    tables = GuanDan().reset(300, np.random.default_rng(0))
    news = {line.split(":")[0] for state in tables for line in seen(state, 0).news}
    assert news == {"last round", "no tribute"}
    turns, endings = set(), set()
    for seed in range(25):
        for state, _ in random_game(GuanDan("round"), seed):
            scene = seen(state, 0)
            turns.add(" ".join(scene.turn.split()[1:4]))
            news.update(line.split(":")[0] for line in scene.news)
            for i in range(int(state["tributes"]) if scene.mover is not None else 0):
                line = f"player_{state['payer'][i]} gave {CARDS[state['paid'][i]]} to player_{state['receiver'][i]}"
                assert (line in "\n".join(scene.news)) == (state["phase"] != 1)
        result = render.ansi(state, 0).splitlines()[0]
        endings.add(result.split("(")[1].split(")")[0])
        winners = [f"player_{seat}" for seat in (state["winner"], state["winner"] + 2)]
        assert result.startswith(f"round 1: {winners[0]} and {winners[1]} win (")
        points = abs(int(state["points"]))
        assert f": {points} point" in result or (points == 0 and "no points, level A is not closed" in result)
    assert news == {"last round", "no tribute", "tribute"}
    assert {"pays a tribute", "gives a card", "leads"} <= turns
    assert endings == {"double", "partner third", "partner last"}


def test_pictures_show_every_card_of_a_hand() -> None:
    game = GuanDan("match")
    shown = 0
    for state, _ in itertools.islice(random_game(game, seed=5), 0, 300, 11):
        wild = f"H{RANKS[state['level']]}"
        for view in (None, 3):
            picture = render.rgb_array(state, view)
            assert picture.dtype == np.uint8
            assert picture.shape == (*render.SIZE, 3)
            for seat in range(4):
                if view not in (None, seat):
                    continue
                cards = seen(state, view).seats[seat].hand
                assert sorted(cards) == sorted(hand(state, seat))
                side = (seat - (view or 0)) % 4
                for card, (top, left) in zip(cards, render.places(len(cards), side, False), strict=True):
                    area = picture[top : top + HEIGHT, left : left + WIDTH]
                    assert np.array_equal(area[CORNER], corner(card, card == wild))
                    shown += 1
    assert shown > 1000


def test_pictures_hide_what_the_viewer_may_not_know() -> None:
    for state, _ in itertools.islice(random_game(GuanDan(), seed=1), 0, None, 25):
        for view in range(4):
            other, (one, two) = state.copy(), [seat for seat in range(4) if seat != view][:2]
            if min(state["left"][one], state["left"][two]) == 0 or state["left"][one] != state["left"][two]:
                continue
            for part in ("low", "high"):
                other[part][[one, two]] = state[part][[two, one]]
            for draw in (render.ansi, render.rgb_array):
                assert np.array_equal(draw(state, view), draw(other, view))
                assert not np.array_equal(draw(state, None), draw(other, None))
    assert state["to_move"] < 0 or state["decisions"] > 25


@pytest.mark.parametrize("view", [None, 2])
def test_environment_draws_its_state(view: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    text, picture = raw_env(render_mode="ansi", view=view), raw_env(render_mode="rgb_array", view=view)
    human = raw_env(render_mode="human", view=view)
    for made in (text, picture, human):
        made.reset(seed=3)
        made.step(0)
    assert text.render() == render.ansi(text.states[0], view)
    assert np.array_equal(picture.render(), render.rgb_array(picture.states[0], view))
    assert capsys.readouterr().out.endswith(render.ansi(text.states[0], view) + "\n")


@pytest.mark.parametrize("view", [-1, 4, "0"])
def test_unknown_viewers_are_refused(view: Any) -> None:
    state = GuanDan().reset(1, np.random.default_rng(0))[0]
    for draw in (render.ansi, render.rgb_array):
        with pytest.raises(ValueError, match=r"^view must be None or a seat from 0 to 3, got "):
            draw(state, view)
