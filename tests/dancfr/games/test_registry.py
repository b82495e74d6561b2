"""Tests of games by name, and of one-line errors for invalid names and options."""

import inspect
import pickle

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.errors import UsageError
from dancfr.evaluation.arena import play
from dancfr.games.registry import GAMES, describe_game, describe_games, make_game, read_options
from envs.aec import AecGame
from envs.game import Game, RaggedGame
from envs.openspiel import OpenSpielGame

LEDUC = "pettingzoo:pettingzoo.classic.leduc_holdem_v4"


@pytest.mark.parametrize("name", [*GAMES, LEDUC])
def test_every_game_can_be_made_played_and_sent(name: str) -> None:
    options = {"max_return": 7} if name == LEDUC else {}
    game = pickle.loads(pickle.dumps(make_game(name, **options)))
    assert isinstance(game, (Game, RaggedGame))
    assert game.spec.name == name
    pair = make_agent("random", game), make_agent("random", game)
    result = play(game, pair, 4, np.random.default_rng(0))
    assert result.games == 4
    assert 0 < result.mean_plies <= game.spec.max_plies


def test_options_are_read_by_the_type_of_their_default() -> None:
    read = read_options("geister", ["ply_limit=1e2", "forced_escape=no", " random_setup = true "])
    assert read == {"ply_limit": 100, "forced_escape": False, "random_setup": True}
    assert read_options("guandan", ["length=match", "a_attempts=0"]) == {"length": "match", "a_attempts": 0}
    assert read_options(LEDUC, ["max_return=7", "name=x"]) == {"max_return": 7, "name": "x"}
    assert read_options("geister", []) == {}


def test_options_reach_the_game() -> None:
    assert make_game("geister", ply_limit=300, forced_escape=False).spec.max_plies == 300
    assert make_game("mini-geister").spec.max_plies == 30
    assert make_game(LEDUC, max_plies=12).spec.max_plies == 12


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("geistr", {}, "no game named 'geistr'; did you mean geister?"),
        ("geister", {"ply_limt": 3}, "no option of geister named 'ply_limt'; did you mean ply_limit?"),
        ("geister", {"size": 5}, "no option of geister named 'size'"),
        ("geister", {"ply_limit": "x"}, "option ply_limit of geister expects an integer, got 'x'"),
        ("geister", {"ply_limit": True}, "option ply_limit of geister expects an integer, got True"),
        ("mini-geister", {"ply_limit": 0}, "mini-geister: ply_limit must be from 1"),
        ("pettingzoo:", {}, "pettingzoo:: write pettingzoo:MODULE, e.g. pettingzoo:pettingzoo.classic.leduc"),
        ("pettingzoo:nowhere.at_all", {}, "pettingzoo:nowhere.at_all: cannot import 'nowhere.at_all'"),
        ("pettingzoo:json", {}, "pettingzoo:json: json has no raw_env or env"),
        (LEDUC, {"players": 3}, f"{LEDUC}: "),
        (LEDUC, {"max_return": -1}, f"{LEDUC}: "),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(name: str, options: dict, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_game(name, **options)
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_the_list_of_games_is_complete() -> None:
    listed = {entry["name"]: entry for entry in describe_games()}
    assert set(listed) == set(GAMES)
    assert listed["geister"]["actions"] == 32
    assert listed["geister"]["options"]["ply_limit"] == 100
    assert listed["mini-geister"]["options"]["ply_limit"] == 30


def test_games_of_other_libraries_are_described_with_the_options_of_their_adapters() -> None:
    for name, adapter in ((LEDUC, AecGame), ("openspiel:kuhn_poker", OpenSpielGame)):
        if adapter is OpenSpielGame:
            pytest.importorskip("pyspiel")
        described = describe_game(name)
        assert described["players"] == 2
        defaults = {key: each.default for key, each in inspect.signature(adapter).parameters.items()}
        for option, value in described["options"].items():
            assert defaults[option] in (value, None), "None: the adapter finds out"
    with pytest.raises(UsageError, match="pettingzoo:MODULE or openspiel:GAME"):
        describe_game("nothing")
