"""The messages to the page of Geister: whole boards for those who may see them, and nothing hidden for the others."""

import json
from collections.abc import Iterator

import numpy as np
import pytest

from dancfr.serve.browser.displays import display_of
from dancfr.serve.position import Position
from envs.game import States
from envs.geister import Geister, rules
from envs.geister.display import GeisterDisplay
from tests.envs.geister_positions import position

GAMES = {
    "geister": Geister(ply_limit=40),
    "setup": Geister(ply_limit=40, random_setup=False),
    "history": Geister(ply_limit=40, history=True),
    "free": Geister(ply_limit=40, forced_escape=False),
    "mini": Geister(size=4, ply_limit=30, random_setup=False),
}


def moves_of(game: Geister, seed: int) -> Iterator[tuple[States, int, States]]:
    """The moves of a random game: the states before, the action, and the states after."""
    rng, played = np.random.default_rng(seed), Position(game, seed)
    while not played.over:
        before, action = played.states, int(rng.choice(played.actions))
        played.play(action)
        yield before, action, played.states


@pytest.mark.parametrize("name", GAMES)
def test_no_hidden_colour_changes_what_a_player_gets(name: str) -> None:
    game = GAMES[name]
    display = display_of(game)
    checked = 0
    for seed in range(6 if game.size == 4 else 1):
        for before, action, after in moves_of(game, seed):
            if before["placed"][0] < 2 or game.finished(after)[0]:
                continue
            for viewer in (0, 1):
                watching = np.array([viewer], np.int8)
                scene = display.scene(after[0], viewer)
                event = display.event(before[0], action, after[0], viewer)
                for layout in np.flatnonzero(game.possible(after, watching)[0]):
                    others = before.copy(), after.copy()
                    for states in others:
                        game.arrange(states, watching, np.array([layout]))
                    assert display.scene(others[1][0], viewer) == scene
                    assert display.event(others[0][0], action, others[1][0], viewer) == event
                    checked += 1
    assert checked > 60


@pytest.mark.parametrize("name", ["setup", "mini"])
def test_the_other_player_learns_only_that_colours_were_chosen(name: str) -> None:
    game = GAMES[name]
    display = GeisterDisplay(game)
    count = len(rules.layouts(game.size))
    for mover in (0, 1):
        told = set()
        for layout in range(count):
            played = Position(game, 0)
            if mover == 1:
                played.play(0)
            before = played.states
            played.play(layout)
            views = [display.scene(played.states[0], 1 - mover)]
            views.append(display.event(before[0], layout, played.states[0], 1 - mover))
            told.add(json.dumps(views))
            own = display.event(before[0], layout, played.states[0], mover)
            assert own["red"] == display.choices(before)[layout]["red"]
            assert sum(1 << ghost for ghost in own["red"]) == rules.layouts(game.size)[layout]
        assert len(told) == 1
        assert '"hidden": true' in told.pop()


@pytest.mark.parametrize("name", GAMES)
def test_choices_are_those_of_the_rules_and_lead_where_they_say(name: str) -> None:
    game = GAMES[name]
    display = GeisterDisplay(game)
    for before, action, after in moves_of(game, 3):
        choices = display.choices(before)
        actions = np.flatnonzero(game.legal(before)[0])
        assert len(choices) == len(actions)
        assert len({choice["label"] for choice in choices}) == len(choices)
        choice = choices[list(actions).index(action)]
        if choice["kind"] == "setup":
            continue
        mover, ghosts = int(before["to_move"][0]), display.scene(after[0], None)["ghosts"]
        moved = next(each for each in ghosts if (each["owner"], each["ghost"]) == (mover, choice["ghost"]))
        assert moved["cell"] == choice["to"]
        assert moved["escaped"] == (choice["to"] is None)
        assert choice["takes"] == (before["taken"].sum() < after["taken"].sum())
        event = display.event(before[0], action, after[0], 1 - mover)
        assert ("taken" in event) == choice["takes"]
        assert event["from"] == choice["from"]


def test_both_players_get_the_same_cells() -> None:
    game = GAMES["geister"]
    display = GeisterDisplay(game)
    for _, _, after in moves_of(game, 5):
        first, second, everything = (display.scene(after[0], viewer)["ghosts"] for viewer in (0, 1, None))
        assert [each["cell"] for each in first] == [each["cell"] for each in second]
        assert all(each["colour"] in ("red", "blue") for each in everything)
        for own, view in enumerate((first, second)):
            for each, whole in zip(view, everything, strict=True):
                known = each["owner"] == own or each["cell"] is None or game.finished(after)[0]
                assert each["colour"] == (whole["colour"] if known else None)


def test_squares_have_the_names_of_a_board() -> None:
    game = Geister()
    states = position(game, {"A": 6, "Br": 7}, {"C": 35, "Dr": 14})  # C is at the exit of player 1, seen as a6
    display = GeisterDisplay(game)
    assert [choice["label"] for choice in display.choices(states)] == [
        "A a5xa6",
        "A a5-a4",
        "B b5-b6",
        "B b5-c5",
        "B b5-b4",
    ]
    after = states.copy()
    game.step(after, np.array([0]))
    event = display.event(states[0], 0, after[0], 0)
    assert event["label"] == "A a5xa6, takes blue C"
    assert event["taken"] == {"ghost": 2, "colour": "blue"}


def test_an_escape_leaves_the_board() -> None:
    game = Geister()
    states = position(game, {"A": 0, "Br": 7}, {"C": 20, "Dr": 14})
    (choice,) = GeisterDisplay(game).choices(states)
    assert (choice["label"], choice["to"], choice["from"]) == ("A a6 leaves the board", None, [0, 0])
