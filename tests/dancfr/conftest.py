"""Commands in this process: what tests of the command line share."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dancfr.cli import main
from tests.dancfr.outcomes import Command, Outcome


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        code = ended.value.code
        assert isinstance(code, int)
        return Outcome(code, *capfd.readouterr())

    return run


@pytest.fixture
def solved(command: Command) -> Callable[..., dict[str, Any]]:
    """What `dancfr solve ... --json` prints."""

    def run(*arguments: str) -> dict[str, Any]:
        outcome = command("solve", *arguments, "--json")
        assert outcome.code == 0, outcome.err
        (line,) = outcome.out.splitlines()
        found: dict[str, Any] = json.loads(line)
        return found

    return run


@pytest.fixture(scope="module")
def strategy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A strategy of Kuhn poker."""
    path = tmp_path_factory.mktemp("strategies") / "kuhn.safetensors"
    with pytest.raises(SystemExit) as ended:
        main(["solve", "kuhn", "--iterations", "100", "--out", str(path)])
    assert ended.value.code == 0
    return path
