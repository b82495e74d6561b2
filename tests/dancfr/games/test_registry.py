"""Tests of games by name, and of one-line errors for invalid names and options."""

import inspect
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pettingzoo
import pytest
from pettingzoo import AECEnv

from dancfr.agents.by_name import make_agent
from dancfr.agents.pretrained import path_of, pretrained_names
from dancfr.errors import UsageError
from dancfr.evaluation.arena import play
from dancfr.games.registry import GAMES, describe_game, describe_games, make_game, read_options
from dancfr.methods import all_presets, find_preset
from envs import kuhn
from envs.aec import AecGame
from envs.game import Game, ListedGame
from envs.openspiel import OpenSpielGame

ROOT = Path(__file__).parents[3]
LEDUC = "pettingzoo:pettingzoo.classic.leduc_holdem_v4"
LEDUC_ID = "pettingzoo:classic/leduc_holdem-v4"


@pytest.mark.parametrize("name", [*GAMES, LEDUC, LEDUC_ID])
def test_every_game_can_be_made_played_and_sent(name: str) -> None:
    options = {"max_return": 7} if name in (LEDUC, LEDUC_ID) else {}
    game = pickle.loads(pickle.dumps(make_game(name, **options)))
    assert isinstance(game, (Game, ListedGame))
    assert game.spec.name == name
    pair = make_agent("random", game), make_agent("random", game)
    result = play(game, pair, 4, np.random.default_rng(0))
    assert result.games == 4
    assert 0 < result.mean_plies <= game.spec.max_plies


def test_an_id_of_pettingzoo_is_its_module() -> None:
    """Also with options that it was registered with, by a function of another name, or of simultaneous moves alone."""
    both = [make_game(name, max_return=7) for name in (LEDUC, LEDUC_ID)]
    assert [game.spec.shapes for game in both] == [{"flat": (36,)}] * 2
    assert type(both[0].env()) is type(both[1].env())
    path, entry = "tests.dancfr.games.test_registry", "four_cards"
    pettingzoo.register("aec", "tests/four-v1", f"{path}:{entry}", kwargs={"cards": 4})
    pettingzoo.register("parallel", "tests/rps-v1", "pettingzoo.classic.rps.rps:parallel_env")
    pettingzoo.register("aec", "tests/function-v1", four_cards)
    assert pickle.loads(pickle.dumps(make_game("pettingzoo:tests/four"))).spec.shapes == {"flat": (12,)}
    assert make_game("pettingzoo:tests/four", cards=5).spec.shapes == {"flat": (13,)}
    assert make_game("pettingzoo:tests/rps").spec.num_actions == 3
    with pytest.raises(UsageError, match=r"registered with a function: register it as 'module:function'"):
        make_game("pettingzoo:tests/function-v1")


def four_cards(cards: int) -> AECEnv:
    """Kuhn poker, to be registered."""
    return kuhn.raw_env(cards=cards)


def test_options_are_read_by_the_type_of_their_default() -> None:
    read = read_options("geister", ["ply_limit=1e2", "forced_escape=no", " random_setup = true "])
    assert read == {"ply_limit": 100, "forced_escape": False, "random_setup": True}
    assert read_options("guandan", ["length=match", "a_attempts=0"]) == {"length": "match", "a_attempts": 0}
    assert read_options(LEDUC, ["max_return=7", "name=x"]) == {"max_return": 7, "name": "x"}
    assert read_options("geister", []) == {}


def test_names_with_hyphens_for_underscores_lead_to_the_right_ones() -> None:
    for names, find in ((GAMES, make_game), (all_presets(), find_preset), (pretrained_names(), path_of)):
        for name in names:
            for other in {name.replace("-", "_"), name.replace("_", "-")} - {name}:
                with pytest.raises(UsageError, match=f"did you mean {re.escape(name)}\\?") as refused:
                    find(other)
                assert (str(refused.value)[-1] == "?") or names is not GAMES


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
        ("pettingzoo:", {}, "pettingzoo: requires a name after the colon, such as pettingzoo:pettingzoo.classic.leduc"),
        (
            "pettingzoo:nowhere.at_all",
            {},
            "pettingzoo:nowhere.at_all: cannot import 'nowhere.at_all' (No module named 'nowhere'); install it, or add",
        ),
        ("pettingzoo:a..b", {}, "pettingzoo:a..b: write pettingzoo:MODULE, e.g. pettingzoo:pettingzoo.classic.leduc"),
        ("pettingzoo:json", {}, "pettingzoo:json: json has no raw_env, env, parallel_env"),
        (
            "pettingzoo:classic/leduc-v4",
            {},
            "pettingzoo:classic/leduc-v4: PettingZoo has no such environment (Name",
        ),
        (
            "pettingzoo:atari/pong_v3",
            {},
            "pettingzoo:atari/pong_v3: cannot import 'pettingzoo.atari.pong.pong' (No",
        ),
        (LEDUC, {"players": 3}, f"{LEDUC}: "),
        (LEDUC, {"max_return": -1}, f"{LEDUC}: "),
        (
            "pettingzoo:classic/rps-v2",
            {"num_actions": 4},
            "pettingzoo:classic/rps-v2: the environment cannot be made: AssertionError: The number of actions must be",
        ),
        ("pettingzoo:dancfr/kuhn-v0", {"cards": 1}, "kuhn: cards must be from 2 to 100, got 1"),
        (LEDUC, {"max_plies": 2.5}, f"option max_plies of {LEDUC} expects an integer, got 2.5"),
        (LEDUC, {"scale": "half"}, f"option scale of {LEDUC} expects a number, got 'half'"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(name: str, options: dict, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_game(name, **options)
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "cause"), [("raise RuntimeError('no display')", "RuntimeError: no display"), ("def", "SyntaxError: ")]
)
def test_a_module_that_fails_at_its_import_is_named_with_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, cause: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_env.py").write_text(text)
    with pytest.raises(UsageError, match=f"^pettingzoo:broken_env: importing 'broken_env' failed: {cause}"):
        make_game("pettingzoo:broken_env")


PENNIES = """
from pettingzoo import ParallelEnv
from gymnasium import spaces

class parallel_env(ParallelEnv):
    metadata = {"name": "pennies"}
    possible_agents = ["even", "odd"]

    def observation_space(self, agent):
        return spaces.Discrete(2)

    def action_space(self, agent):
        return spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.agents = self.possible_agents[:]
        return dict.fromkeys(self.agents, 0), {agent: {} for agent in self.agents}

    def step(self, actions):
        won = 1.0 if actions["even"] == actions["odd"] else -1.0
        self.agents = []
        told = {agent: {} for agent in actions}
        return dict.fromkeys(actions, 1), {"even": won, "odd": -won}, dict.fromkeys(actions, True), told, told
"""


def test_a_module_in_the_current_folder_is_found_by_the_path_that_the_error_names(tmp_path: Path) -> None:
    """The program as it is installed, whose path lacks the current folder."""
    (tmp_path / "my_pennies.py").write_text(PENNIES)
    program = f"import sys; sys.path[0] = {str(ROOT)!r}; from dancfr.cli import main; main()"
    command = [sys.executable, "-c", program, "games", "pettingzoo:my_pennies", "--check"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    found = [
        subprocess.run(command, cwd=tmp_path, env=environment | path, capture_output=True, text=True, timeout=120)
        for path in ({}, {"PYTHONPATH": str(tmp_path)})
    ]
    assert [done.returncode for done in found] == [2, 0], found
    assert found[0].stderr.endswith(
        "cannot import 'my_pennies' (No module named 'my_pennies'); my_pennies is in this folder, which is not "
        'searched: run PYTHONPATH="$PWD" dancfr ...\n'
    )
    assert "endings     terminated 256" in found[1].stdout
    assert not found[1].stderr


def test_the_list_of_games_is_complete() -> None:
    listed = {entry["name"]: entry for entry in describe_games()}
    assert set(listed) == set(GAMES)
    assert listed["geister"]["actions"] == 32
    assert listed["geister"]["options"]["ply_limit"] == 100
    assert listed["mini-geister"]["options"]["ply_limit"] == 30
    for name, entry in listed.items():
        assert list(entry["meanings"]) == list(entry["options"])
        assert all(entry["meanings"].values()), name
        assert Path(entry["rules"]).read_text().startswith("# "), name


def test_games_of_other_libraries_are_described_with_the_options_of_their_adapters() -> None:
    for name, adapter in ((LEDUC, AecGame), ("openspiel:kuhn_poker", OpenSpielGame)):
        if adapter is OpenSpielGame:
            pytest.importorskip("pyspiel")
        described = describe_game(name)
        assert described["players"] == 2
        defaults = {key: each.default for key, each in inspect.signature(adapter).parameters.items()}
        for option, value in described["options"].items():
            assert defaults[option] in (value, None), "None: the adapter finds out"
            assert described["meanings"][option]
        assert described["rules"] is None
    with pytest.raises(UsageError, match="pettingzoo:MODULE or openspiel:GAME"):
        describe_game("nothing")
