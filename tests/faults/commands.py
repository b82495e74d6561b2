"""Commands of dancfr in this process, and copies of runs to do harm to."""

import shutil
from pathlib import Path

import pytest

from dancfr.cli import main
from dancfr.runs.folder import read_info, write_json
from dancfr.runs.identity import home_of
from tests.dancfr.outcomes import Outcome
from tests.faults.training import SHORT


def dancfr(capfd: pytest.CaptureFixture[str], *words: str) -> Outcome:
    """Runs `dancfr WORDS`, here."""
    capfd.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    code = ended.value.code
    assert isinstance(code, int)
    return Outcome(code, *capfd.readouterr())


def training_of(path: Path, *more: str) -> list[str]:
    """The words of a short training of `geister-quick` in one process."""
    return ["train", "geister-quick", *SHORT, *more, "--inline", "--run-dir", str(path), "--wandb", "off"]


def copy_of(run: Path, folder: Path) -> Path:
    """The run at another place, as if it had been moved there: a copy would become a run of its own when resumed."""
    copy = Path(shutil.copytree(run, folder / "run"))
    write_json(copy / "config.json", {**read_info(copy), "home": home_of(copy)})
    return copy


def contents(path: Path) -> dict[str, bytes]:
    """Every file below a run's folder but its lock, in which each process that took it has left its number."""
    files = [file for file in path.rglob("*") if file.is_file() and file.name != "run.lock"]
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}


def assert_refused(outcome: Outcome, code: int = 2) -> str:
    """The one line in which a command gave up; messages from before the failure may precede it."""
    assert outcome.code == code, outcome
    assert "Traceback" not in outcome.err, outcome.err
    (line,) = (line for line in outcome.err.splitlines() if line.startswith("dancfr: "))
    assert outcome.err.splitlines()[-1] == line, outcome.err
    return line
