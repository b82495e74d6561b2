"""Tests of `dancfr games NAME --check`: our games pass, and the command prints its findings."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dancfr.errors import UsageError
from dancfr.games import registry
from dancfr.games.checks import check_game
from dancfr.games.registry import make_game
from envs.extensive import FactoredGame
from tests import games as small
from tests.dancfr.games.own_game import other
from tests.dancfr.outcomes import Command

ZOO, SPIEL = "pettingzoo:pettingzoo.classic.tictactoe_v3", "openspiel:kuhn_poker"

NODES = {"kuhn": 58, "leduc": 9457, "oshi_zumo": 15321, "oshi_zumo8_k1": 15321, "oshi_zumo8_k3": 19305, SPIEL: 58}
"""Sizes of the trees that are small enough for this test, as docs/explanation/trees-and-cfr.md has them."""


@pytest.mark.parametrize("name", [*registry.GAMES, ZOO, SPIEL])
def test_every_game_passes(name: str) -> None:
    if name == SPIEL:
        pytest.importorskip("pyspiel")
    result = check_game(name, {}, games=32, most_nodes=20_000)
    assert all(re.match(r'encode\(..., "\w+"\) makes ', line) for line in result["warnings"])  # see test_recall_checks
    if name == "guandan":
        assert (result["games"], list(result["checked"])) == (0, ["spec", "rules", "record"])
        return
    parts = ["spec", "decisions", "step", "infostates", "words", "returns", "endings", "repetition", "record", "tree"]
    if not isinstance(make_game(name), FactoredGame):
        parts.remove("words")
    if name in (ZOO, SPIEL):
        parts.remove("record")
    assert list(result["checked"]) == parts
    counts = [int(part.rsplit(" ", 1)[1]) for part in result["checked"]["endings"].split(", ")]
    assert sum(counts) == result["games"] == 32
    assert (result["tree"] or {}).get("nodes") == NODES.get(name)
    if result["tree"] is None:
        assert result["checked"]["tree"].startswith("not checked: ")


def test_games_of_more_players_pass_without_a_tree() -> None:
    result = check_game("cheat", {"players": 4, "ranks": 4}, games=16)
    assert result["checked"]["spec"].startswith("4 players, ")
    assert result["checked"]["tree"].startswith("not checked: cheat has too many deals to list, and therefore no tree")
    assert result["warnings"] == []


def test_options_reach_the_checked_game() -> None:
    assert check_game("kuhn", {"cards": 5}, games=16)["tree"] == {"nodes": 186, "infosets_by_player": [10, 10]}


def test_a_game_that_lists_no_chances_passes_without_a_tree(register: Callable[[Any], None]) -> None:
    game = small.random_game(3)
    object.__setattr__(game, "spec", replace(game.spec, name="own"))
    register(lambda: game)
    result = check_game("own", {}, games=64)
    assert result["tree"] is None
    assert result["checked"]["tree"].startswith("not checked: its rules draw chance events without listing")
    assert result["checked"]["step"].startswith("illegal actions are refused")
    assert result["checked"]["infostates"] == "observe, encode flat, output_slots action, dense, sum"


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        ("pig(horizon=4,winscore=4)", "280 nodes, 40 and 42 infosets; no leak in observe, perfect recall"),
        ("kuhn_poker(players=3)", "617 nodes, 16 and 16 and 16 infosets; no leak in observe, perfect recall"),
        ("python_kuhn_poker", "58 nodes, 6 and 6 infosets; no leak in observe, perfect recall"),
        ("dark_hex_ir(num_cols=2,num_rows=2)", "none: a player forgets an own action, and solvers need perfect recall"),
    ],
)
def test_a_game_of_openspiel_passes_with_or_without_a_tree(name: str, tree: str) -> None:
    pytest.importorskip("pyspiel")
    result = check_game(f"openspiel:{name}", {}, games=16)
    assert result["checked"]["tree"] == tree
    assert result["checked"]["repetition"].startswith("the same seed and actions give the same games")
    assert (result["tree"] is None) == tree.startswith("none")


def test_a_game_that_exits_is_no_success(register: Callable[[Any], None], command: Command) -> None:
    register(other("legal", lambda found, states: sys.exit(0)))
    outcome = command("evaluate", "random", "--game", "own", "--against", "random", "--games", "20", "--json")
    assert (outcome.code, outcome.out) == (1, "")
    assert re.match(r"dancfr: code of a game or an agent called sys\.exit\(0\) \(.*, line \d+\)$", outcome.err)


class Unfinished(FactoredGame):
    """Lacks all methods."""


def test_an_abstract_class_is_refused_in_one_line(register: Callable[[Any], None]) -> None:
    register(Unfinished)
    expected = (
        r"^own: the game cannot be made: TypeError: Can't instantiate abstract class Unfinished [^\n]*chance[^\n]*$"
    )
    with pytest.raises(UsageError, match=expected):
        make_game("own")


def test_the_command_prints_lines_or_one_object(command: Command) -> None:
    text = command("games", "kuhn", "--check", "--option", "cards=5")
    assert text.code == 0
    lines = text.out.splitlines()
    assert lines[0] == "kuhn: 256 random games, no error found"
    assert lines[-1] == "tree        186 nodes, 10 and 10 infosets; no leak in observe, perfect recall"
    assert [line.split()[0] for line in lines[1:]] == [
        *("spec", "decisions", "step", "infostates", "words", "returns", "endings", "repetition", "record", "tree")
    ]
    told = json.loads(command("games", "kuhn", "--check", "--option", "cards=5", "--json").out)
    assert told["tree"] == {"nodes": 186, "infosets_by_player": [10, 10]}
    assert command("games", "guandan", "--check").out.startswith("guandan: no games played, no error found\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--check"], "dancfr: --check needs the NAME of a game, see `dancfr games`\n"),
        (["kuhn", "--option", "cards=5"], "dancfr: --option is the option of a game to --check: give --check too\n"),
        (["kuhn", "--check", "--option", "card=5"], "dancfr: no option of kuhn named 'card'; did you mean cards?\n"),
        (
            ["kuhm", "--check"],
            "dancfr: no game named 'kuhm'; did you mean kuhn? (or pettingzoo:MODULE or openspiel:GAME)\n",
        ),
        (["kuhn", "--check", "--option", "cards=1"], "dancfr: kuhn: cards must be from 2 to 100, got 1\n"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments: list[str], expected: str, command: Command) -> None:
    outcome = command("games", *arguments)
    assert (outcome.code, outcome.err, outcome.out) == (2, expected, "")
