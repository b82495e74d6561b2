"""Help texts of the command line."""

import re
import subprocess
import sys

import pytest

from dancfr.games.registry import GAMES
from tests.dancfr.outcomes import Command

COMMANDS = (
    "train", "evaluate", "tournament", "league", "decisions", "report", "reproduce", "tune", "exploit", "solve", "pack",
    "push", "export", "status", "play", "replay", "submit", "jobs", "games", "presets", "agents", "bench", "version",
    "serve", "connect",
)  # fmt: skip


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")


def test_help_has_the_first_line_of_each_command(command: Command, narrow: None) -> None:
    outcome = command("--help")
    assert outcome.code == 0
    listed = outcome.out[outcome.out.index("Commands:") :].splitlines()[1:]
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert [line for line in listed if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_gives_what_is_to_be_typed_a_name(command: Command, narrow: None, name: str) -> None:
    outcome = command(name, "--help")
    assert outcome.code == 0
    assert not set("<>{}") & set(outcome.out)


@pytest.mark.parametrize("name", ["", *COMMANDS])
@pytest.mark.parametrize("columns", [80, 40])
def test_help_fits_the_terminal(command: Command, monkeypatch: pytest.MonkeyPatch, name: str, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(len, command(*filter(None, [name]), "--help").out.splitlines())) <= columns


def test_help_says_what_to_type(command: Command, narrow: None) -> None:
    words = {name: " ".join(command(name, "--help").out.split()) for name in COMMANDS}
    assert words["train"].startswith("Usage: dancfr train [OPTIONS] PRESET [KEY=VALUE]... Train")
    assert "KEY=VALUE... Settings" in words["train"]
    assert "`dancfr presets PRESET` lists all" in words["train"]
    assert words["report"].startswith("Usage: dancfr report [OPTIONS] RUN... Write")
    assert re.search(r"RUN\.\.\. Folders of .*\. \[required\]", words["report"])
    assert f"default: {GAMES['geister'].in_matches['ply_limit']} in geister, otherwise" in words["evaluate"]


@pytest.mark.parametrize("arguments", [("--help",), ("version",), ("--version",)])
def test_help_and_version_need_no_heavy_package(arguments: tuple[str, ...]) -> None:
    script = (
        "import sys; from dancfr.cli import main\n"
        f"try: main({list(arguments)!r})\n"
        "finally: print(sorted({'torch', 'ray', 'numba', 'wandb', 'scipy'} & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0
    assert result.stderr.strip() == "[]"
    assert "dancfr" in result.stdout
