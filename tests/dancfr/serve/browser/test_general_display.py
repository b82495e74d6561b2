"""The content of the general page: everything of the viewer's infostate, and nothing else."""

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from dancfr.games.registry import make_game
from dancfr.serve.browser.displays import display_of
from dancfr.serve.position import Position

GAMES = (
    "kuhn",
    "leduc",
    "leduc_2b2r",
    "goofspiel",
    "goofspiel5",
    "oshi_zumo",
    "oshi_zumo8_k3",
    "liars_dice",
    "phantom_ttt",
    "dark_hex3_abrupt",
)
NAMED = {"goofspiel": {"prizes": "random"}}


def histories(name: str, games: int, seed: int) -> list[tuple[tuple[Any, ...], str, str]]:
    """For each player and ply of random games: the player's observations and actions, the scene, and the last event."""
    game = make_game(name, **NAMED.get(name, {}))
    display, rng, found = display_of(game), np.random.default_rng(seed), []
    for number in range(games):
        position = Position(game, seed + number)
        known: list[list[Any]] = [[], []]
        event = [None, None]
        while True:
            for player in (0, 1):
                observed = game.observe(position.states, np.array([player], np.int8))[0].tobytes()
                known[player].append((observed, position.mover, position.over))
                if not position.over:
                    scene = display.scene(position.states[0], player)
                    found.append((tuple(known[player]), json.dumps(scene), json.dumps(event[player])))
            if position.over:
                break
            mover, before = position.mover, position.states
            action = position.actions[rng.integers(len(position.actions))]
            position.play(action)
            known[mover].append(int(action))
            event = [display.event(before[0], action, position.states[0], player) for player in (0, 1)]
    return found


@pytest.mark.parametrize("name", GAMES)
def test_a_page_depends_on_the_infostate_alone(name: str) -> None:
    """Two games that look the same to a player give the same page, whatever is hidden from that player."""
    pages = defaultdict(set)
    count = 0
    for infostate, scene, event in histories(name, 800, 11):
        pages[infostate].add((scene, event))
        count += 1
    assert count > 1.5 * len(pages)  # so that most infostates were met with different hidden parts
    assert all(len(each) == 1 for each in pages.values())


@pytest.mark.parametrize("name", GAMES)
def test_different_infostates_look_different(name: str) -> None:
    """The page keeps nothing back: a player's knowledge at a decision follows from the page and the events."""
    game = make_game(name, **NAMED.get(name, {}))
    display, rng, seen = display_of(game), np.random.default_rng(3), {}
    for number in range(300):
        position, log = Position(game, number), []
        while not position.over:
            mover = position.mover
            observed = game.observe(position.states, np.array([mover], np.int8))[0].tobytes()
            page = json.dumps([mover, display.scene(position.states[0], mover), [each[mover] for each in log]])
            assert seen.setdefault(page, observed) == observed
            before = position.states
            action = position.actions[rng.integers(len(position.actions))]
            position.play(action)
            log.append([display.event(before[0], action, position.states[0], player) for player in (0, 1)])
    assert len(seen) > 10


def test_choices_are_named_in_the_order_of_actions() -> None:
    game = make_game("leduc")
    position = Position(game, 1)
    assert [each["label"] for each in display_of(game).choices(position.states)] == ["call", "raise"]
    assert position.actions.tolist() == [1, 2]


def test_cards_of_leduc() -> None:
    game = make_game("leduc")
    position = Position(game, 1)
    own, other = (display_of(game).scene(position.states[0], player)["facts"] for player in (0, 1))
    assert (own[0]["player"], own[1]["cards"], other[0]["cards"]) == (0, [None], [None])
    everything = display_of(game).scene(position.states[0], None)["facts"]
    assert [everything[i]["cards"] for i in (0, 1)] == [own[0]["cards"], other[1]["cards"]]
    assert None not in everything[0]["cards"]


def test_ranks_of_leduc_have_one_name() -> None:
    game = make_game("leduc", ranks=5)
    state = game.initial(1)[0]
    state["cards"] = (0, 9)
    facts = display_of(game).scene(state, None)["facts"]
    assert [facts[i]["cards"] for i in (0, 1)] == [["1♠"], ["5♥"]]
    assert game.describe(state).startswith("cards 1a 5b,")
    assert [game.describe_hand(state, player) for player in (0, 1)] == ["1", "5"]
    assert game.secret_values == ("1", "2", "3", "4", "5")


def test_hidden_bids_are_not_told() -> None:
    """The opponent learns that a bid was made, and not which, not even if it was forced."""
    game = make_game("goofspiel", cards=2)
    display, position = display_of(game), Position(game, 1)
    for _ in range(4):
        before, mover = position.states, position.mover
        action = position.actions[0]
        position.play(action)
        events = [display.event(before[0], action, position.states[0], player) for player in (0, 1, None)]
        assert events[1 - mover] == {"label": "", "hidden": True}
        assert events[mover] == events[2] == {"label": f"bid {action + 1}"}


def test_other_games_show_the_numbers_of_the_infostate() -> None:
    """A PettingZoo environment: own numbers only, the moves of others hidden."""
    game = make_game("pettingzoo:envs.leduc.env")
    display, position = display_of(game), Position(game, 1)
    scene = display.scene(position.states[0], 1)
    assert list(scene["numbers"]) == ["1"]
    packed = game.observe(position.states, np.array([1], np.int8))
    full = game.encode(packed, "flat")[0]
    assert dict(scene["numbers"]["1"]) == {int(i): float(full[i]) for i in np.flatnonzero(full)}
    assert [each["label"] for each in display.choices(position.states)] == ["action 1", "action 2"]
    before = position.states
    position.play(1)
    assert display.event(before[0], 1, position.states[0], 1)["hidden"]
    assert set(display.scene(position.states[0], None)["numbers"]) == {"0", "1"}
