"""The examples of the documents: Python runs to its end, and commands are understood; a game of one's own, made as they
say, is solved, played and trained."""

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import typer

from dancfr.cli import app
from dancfr.games.registry import _known_and_left_out
from dancfr.methods import find_preset
from dancfr.runs.config import apply_overrides
from tests.dancfr.outcomes import Command, refused

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = sorted((ROOT / "envs").glob("*/README.md"))
"""The pages of games, whose programs `games.test_pages` runs."""
CODE = re.compile(r"^```python\n(.*?)^```\n(?:\n((?: {4}[^\n]*\n)+))?", re.MULTILINE | re.DOTALL)
STAKES = """
from dataclasses import replace


class Stakes(OneCard):
    def __init__(self, stake=1):
        super().__init__()
        self.spec = replace(self.spec, name="stakes", max_return=2.0 * stake)
        self.stake = stake

    def utilities(self, states):
        return self.stake * super().utilities(states)


STAKES = GameRecord("stakes", Stakes, {"stake": 1}, "the same with an option, and no dataclass")
"""
TRAIN = ("train", "leduc-dream-quick", "iterations=2", "traversals=32", "--inline", "--wandb", "off")
OWN_GAME = "class OneCard(FactoredGame):"
EXCERPT = "for t, row in self.iterations():"
"""The beginning of the only code that is part of a method."""


def examples() -> list[tuple[str, str, str]]:
    """Document, code and expected output of every program in the documents."""
    found = [(path.name, *match.groups("")) for path in DOCUMENTS for match in CODE.finditer(path.read_text())]
    return [each for each in found if not any(part in each[1] for part in (EXCERPT, OWN_GAME, "ENTRY ="))]


def own_game() -> str:
    (code,) = [code for path in DOCUMENTS for code, _ in CODE.findall(path.read_text()) if OWN_GAME in code]
    return str(code)


def test_excerpt_of_a_method_is_its_code() -> None:
    (excerpt,) = [code for path in DOCUMENTS for code, _ in CODE.findall(path.read_text()) if EXCERPT in code]
    driver = ROOT / "dancfr" / "methods" / "dream" / "driver.py"
    assert indent(excerpt, " " * 8) in driver.read_text()


@pytest.mark.parametrize(("document", "code", "expected"), examples(), ids=lambda text: text[:20].split("\n")[0])
def test_python_of_a_document_runs_to_its_end(
    document: str, code: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(own_game() + code, document, "exec"), {"__name__": document})
    shown = [line.split() for line in expected.splitlines()]
    found = [line.split() for line in printed.getvalue().splitlines()]
    assert found
    if shown:
        assert [len(line) for line in found] == [len(line) for line in shown]
        for mine, theirs in zip(chain(*found), chain(*shown), strict=True):
            with contextlib.suppress(ValueError):
                assert float(mine) == pytest.approx(float(theirs), rel=0.2)


def commands() -> Iterator[tuple[str, list[str]]]:
    """The lines of the documents that start with `dancfr`, without their remarks."""
    for path in [*DOCUMENTS, *PAGES]:
        for line in re.findall(r"^ *(?:\$ )?(dancfr [a-z](?:\\\n|.)*)$", path.read_text(), re.MULTILINE):
            words = shlex.split(line.replace("\\\n", " "), comments=True)
            if words[1] != "the":  # the first line of a drawing
                yield path.name, words[1:]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the package of own-game.md is installed, with a second game that has an option."""
    text = (ROOT / "docs" / "tutorials" / "own-game.md").read_text()
    project = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0]
    (entry,) = [code for code, _ in CODE.findall(text) if "ENTRY =" in code]
    (caller,) = re.findall(r"^class Caller:\n(?:(?: {4}.*)?\n)+", text, re.MULTILINE)
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    more = 'one-card = "my_package.game:ENTRY"\n'
    (source / "pyproject.toml").write_text(project.replace(more, f'{more}stakes = "my_package.game:STAKES"\n'))
    (source / "my_package").mkdir()
    (source / "my_package" / "__init__.py").touch()
    (source / "my_package" / "game.py").write_text(own_game() + caller + entry + STAKES)
    install = ["pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(target)]
    subprocess.run([sys.executable, "-m", *install, str(source)], check=True, timeout=120)
    return target


@pytest.fixture
def own(package: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs a command where the package is installed, and returns the object that it prints with --json."""
    monkeypatch.syspath_prepend(str(package))
    _known_and_left_out.cache_clear()

    def run(*arguments: str) -> dict[str, Any]:
        outcome = command(*arguments, "--json")
        assert outcome.code == 0, outcome.err
        found: dict[str, Any] = json.loads(outcome.out)
        return found

    yield run
    _known_and_left_out.cache_clear()


def test_a_game_of_ones_own_plays_its_own_solution(own: Any) -> None:
    """Its class has no `__eq__`, so that two games of the same rules are not equal."""
    found = own("games", "one-card", "--check")
    assert (found["tree"]["nodes"], found["checked"]["record"]) == (11, "1 bot")
    solved = own("solve", "one-card", "--iterations", "100", "--out", "o.safetensors")
    exact = own("evaluate", "o.safetensors", "--exploitability", "--games", "20")
    assert exact["value"] == pytest.approx(solved["value"])
    assert own("evaluate", "random", "--against", "o.safetensors", "--game", "one-card", "--games", "20")["games"] == 20
    assert own("solve", "one-card", "--warm-start", "o.safetensors", "--iterations", "10")["iterations"] == 11
    own("pack", "o.safetensors", "packed")
    assert own("evaluate", "packed/strategy.safetensors", "--against", "random", "--games", "20")["games"] == 20


def test_options_of_ones_own_are_compared(own: Any, command: Command) -> None:
    own("solve", "stakes", "--option", "stake=2", "--iterations", "10", "--out", "two.safetensors")
    assert own("evaluate", "two.safetensors", "--games", "20")["games"] == 20
    own(*TRAIN, "game=stakes", "game_options.stake=2", "--run-dir", "two")
    for agent, says in (
        ("two.safetensors", "two.safetensors was made for other rules of stakes: stake=2, but this game has stake=1"),
        ("two", "two was made for other rules of stakes: stake=2, but this game has stake=1"),
    ):
        for other in (("--option", "stake=1"), ("--option", "stake=3")):
            line = refused(command("evaluate", agent, "--game", "stakes", *other, "--games", "20"))
            assert says.replace("stake=1", other[1]) in line


def test_a_game_of_ones_own_is_trained(own: Any) -> None:
    run = own(*TRAIN, "game=one-card")["run_dir"]
    assert own("evaluate", run, "--game", "one-card", "--exploitability", "--games", "20")["exploitability"] > 0


def test_commands_of_the_documents_are_understood(own: Any) -> None:
    """Options and their values by the parser, settings by the preset."""
    group = typer.main.get_command(app)
    listed = list(commands())
    assert len(listed) > 120
    for document, words in listed:
        where = f"{document}: dancfr {' '.join(words)}"
        try:
            with typer.main.get_command(app).make_context("dancfr", list(words)) as context:
                name, command, rest = group.resolve_command(context, words)  # type: ignore[attr-defined]
                parsed = command.make_context(name, rest, parent=context).params
            if name in ("train", "submit"):
                settings = [word.replace("NAME", "one-card") for word in parsed["overrides"] or ()]
                apply_overrides(find_preset(parsed["preset"]).config, settings).check()
        except Exception as error:
            raise AssertionError(f"{where}: {error}") from error


SHORT = {"solve": ("--iterations", "2"), "evaluate": ("--games", "4"), "games": (), "presets": (), "agents": ()}
"""Commands that run to their end in a moment, with the options that make them short."""
NEEDS = re.compile(r"runs/|RUN|NAME|packed|guandan|x@|length=match")
"""Parts of commands that need a training, or an hour."""


def test_commands_that_need_no_training_run_to_their_end(own: Any, command: Command) -> None:
    lines = [words for _, words in commands() if words[0] in SHORT and not NEEDS.search(" ".join(words))]
    assert len(lines) > 12
    for words in lines:
        outcome = command(*words, *SHORT[words[0]])
        assert outcome.code == 0, f"dancfr {' '.join(words)}: {outcome.err}"
        assert outcome.out, words
