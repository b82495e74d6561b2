"""A third party's package, with a game and a method of its own, goes all the way through the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dancfr.methods import OWN, all_methods
from tests.packaging.own_package import install

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package is installed in."""
    return install(tmp_path_factory)


def python(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in a process that sees the package."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{installed}"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def dancfr(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process that sees the package."""
    return python(installed, folder, "-m", "dancfr", *arguments)


def result(done: subprocess.CompletedProcess[str]) -> dict:
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    found: dict = json.loads(line)
    return found


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ("name=None", "name is not a text"),
        ("config=dict", "config is not a subclass of RunConfig"),
        ("train=None", "train is not a function"),
        ("curves=None", "its curves are not Curves"),
        ("presets=None", "presets are not a tuple of Preset"),
        ("presets=('dream',)", "presets are not a tuple of Preset"),
        (
            "presets=tuple(replace(p, name='own', config=RunConfig()) for p in DMC.presets[:1])",
            "preset own has settings",
        ),
        ("presets=DMC.presets[:1] * 2", "exists already"),
    ],
)
def test_a_method_with_a_wrong_part_is_named(
    changes: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about = tmp_path / "faulty-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[dancfr.methods]\nfaulty = faulty_method:METHOD\n")
    (tmp_path / "faulty_method.py").write_text(
        "from dataclasses import replace\n"
        "from dancfr.methods.dmc import METHOD as DMC\n"
        "from dancfr.methods.settings import RunConfig\n"
        f"METHOD = replace(DMC, **({{'name': 'faulty'}} | dict({changes})))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "faulty_method", raising=False)
    assert list(all_methods.__wrapped__()) == [method.name for method in OWN]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "left out: the entry point dancfr.methods faulty = faulty_method:METHOD of faulty registers "
    )
    assert line.endswith(": fix or uninstall faulty")
    assert told in line


def test_a_game_and_a_method_of_ones_own_go_all_the_way(installed: Path, tmp_path: Path) -> None:
    """The value of the game for the guesser is (bonus - 1) / (bonus + 3) = 1/3, and heads are hidden once in three."""

    def run(*arguments: str) -> dict:
        return result(dancfr(installed, tmp_path, *arguments, "--json"))

    assert "pennies" in {game["name"] for game in run("games")["games"]}
    assert "pennies-hedge" in {preset["name"] for preset in run("presets")["presets"]}
    assert {agent["name"] for agent in run("agents", "pennies")["agents"]} == {"random", "stubborn"}
    checked = run("games", "pennies", "--check")["checked"]
    assert checked["spec"] == "2 players, 2 actions, infostates of 1 byte"
    assert checked["record"] == "options by name, 1 bot, page pennies.js, display of 3 positions, beliefs, adapter"
    train = ("train", "pennies-hedge", "--inline", "--wandb", "off")
    run(*train, "iterations=40", "--run-dir", "whole")
    run(*train, "iterations=20", "--run-dir", "run")
    trained = run(*train, "iterations=40", "--run-dir", "run", "--resume")
    assert trained["iterations"] == 40
    files = [sorted((tmp_path / name / "strategies").iterdir()) for name in ("whole", "run")]
    assert [file.name for file in files[0]] == [file.name for file in files[1]]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(*files, strict=True))
    status = run("status", "run")
    assert (status["method"], status["state"], status["iteration"]) == ("hedge", "finished", 40)
    assert status["rate"]["unit"] == "games"
    match = run("evaluate", "run", "--game", "pennies", "--against", "stubborn", "--games", "2000", "--seed", "1")
    assert 0.35 < match["win_rate"] < 0.75
    exact = run("evaluate", "run@40", "--game", "pennies", "--against", "random", "--games", "100")
    assert exact["games"] == 100
    page = (tmp_path / run("report", "run")["report"]).read_text()
    assert "Share of heads" in page


def test_a_game_of_a_package_is_an_environment_of_gymnasium_and_pettingzoo(installed: Path, tmp_path: Path) -> None:
    program = """
import dancfr, gymnasium, pettingzoo, sys
print("pennies" in sys.modules)
env = gymnasium.make("dancfr/Pennies-v0", opponent="stubborn", seat=0, bonus=3)
print(env.reset(seed=1)[1]["action_mask"].tolist())
made = pettingzoo.make("aec", "dancfr/pennies-v0", bonus=4)
made.reset(seed=1)
print(made.unwrapped.game.bonus, made.agent_selection)
"""
    done = python(installed, tmp_path, "-c", program)
    assert done.stdout.splitlines() == ["False", "[1, 1]", "4 player_0"], done.stderr


def test_game_of_ones_own_limits_matches_and_adapts_agents(installed: Path, tmp_path: Path) -> None:
    """An agent that was trained with another bonus is shown it; matches have the record's limit, not the agent's."""
    train = ("train", "pennies-hedge", "--inline", "--wandb", "off", "iterations=2", "--json", "--run-dir")
    match = ("--game", "pennies", "--against", "random", "--games", "50", "--json")
    result(dancfr(installed, tmp_path, *train, "run", "game_options.bonus=5"))
    assert result(dancfr(installed, tmp_path, "evaluate", "run", *match, "--option", "bonus=3"))["games"] == 50
    result(dancfr(installed, tmp_path, *train, "short", "game_options.ply_limit=1"))
    refused = dancfr(installed, tmp_path, "evaluate", "short", *match)
    assert (refused.returncode, refused.stderr) == (2, "dancfr: short knows no game with ply_limit=2\n")


def test_an_entry_point_that_cannot_be_used_is_named(installed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[dancfr.games]\nbroken = json:dumps\n")
    told = "broken = json:dumps of broken is a function, not a GameRecord: fix or uninstall broken"
    done = dancfr(tmp_path, tmp_path, "games")
    assert done.returncode == 0, "the other games do not need it"
    assert done.stderr.splitlines() == [f"left out: the entry point dancfr.games {told}"]
    assert "kuhn" in done.stdout
    asked = dancfr(tmp_path, tmp_path, "solve", "broken")
    assert asked.returncode == 2
    assert asked.stderr.splitlines()[-1] == f"dancfr: the entry point dancfr.games {told}"


def test_a_game_that_cannot_be_imported_stops_no_other_game(tmp_path: Path) -> None:
    about = tmp_path / "syntax-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: syntax\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[dancfr.games]\nmine = my_own:ENTRY\n[dancfr.methods]\nmine = my_own:M\n")
    (tmp_path / "my_own.py").write_text("ENTRY = (\n")
    done = dancfr(tmp_path, tmp_path, "solve", "kuhn", "--iterations", "10", "--json")
    assert result(done)["iterations"] == 10
    told = done.stderr.splitlines()
    assert any(
        line.startswith("left out: ") and "my_own:ENTRY of syntax cannot be loaded: Syntax" in line for line in told
    )


FAULTY_GAME = """
from dataclasses import replace

from pennies.game import Pennies
from envs.record import GameRecord

class Faulty(Pennies):
    @property
    def spec(self):
        return replace(super().spec, name="faulty")

    def returns(self, states):
        raise KeyError("no score")

ENTRY = GameRecord("faulty", Faulty, {}, "a game with a fault")
"""

FAULTY_ENVIRONMENT = """
from pettingzoo.classic import tictactoe_v3

class Faulty(tictactoe_v3.raw_env):
    def step(self, action):
        super().step(action)
        if action == 4:
            raise KeyError("no board")

def raw_env():
    return Faulty()
"""


@pytest.mark.parametrize(
    ("game", "module", "entry", "code", "told"),
    [
        ("faulty", "faulty_game", "faulty_game:ENTRY", FAULTY_GAME, "KeyError: 'no score' (raised at {file}, line 13)"),
        (
            "pettingzoo:faulty_env",
            "faulty_env",
            None,
            FAULTY_ENVIRONMENT,
            "KeyError: 'no board' (raised at {file}, line 8)",
        ),
    ],
)
def test_a_fault_in_a_game_of_ones_own_is_one_line_that_says_where(
    game: str, module: str, entry: str | None, code: str, told: str, installed: Path, tmp_path: Path
) -> None:
    about = tmp_path / "faulty-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[dancfr.games]\nfaulty = {entry}\n" if entry else "")
    file = tmp_path / f"{module}.py"
    file.write_text(code)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(installed), str(tmp_path)])}
    command = [sys.executable, "-m", "dancfr", "evaluate", "random", "--game", game, "--against", "random"]
    done = subprocess.run(
        [*command, "--games", "50"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert (
        done.stderr.splitlines()[-1] == f"dancfr: {told.format(file=file)}; `dancfr games NAME --check` checks a game"
    )
    assert "Traceback" not in done.stderr
