"""Files planted in a run's folder: a pickle, torch's kind of one, a file of arrays whose header is garbage.

A command reports it in one line at most, and nothing that the file holds is ever run.
"""

import json
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from dancfr.runs.checkpoints import seal
from tests.faults.commands import assert_refused, contents, copy_of, dancfr, training_of
from tests.faults.training import assert_as_if_undisturbed, calm_run, rows

Capture = pytest.CaptureFixture[str]
STOPPED, LONGER = 4, 5
NEWEST = f"checkpoints/{STOPPED:06d}"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended after iteration 4, with checkpoints of 3 and 4."""
    return calm_run(tmp_path_factory.mktemp("pickles") / "stopped", STOPPED)


class Trap:
    """Whoever unpickles it makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def pickled(marker: Path, folder: Path) -> bytes:
    return pickle.dumps(Trap(marker))


def from_torch(marker: Path, folder: Path) -> bytes:
    """As ``torch.save`` writes it: a zip file with a pickle inside."""
    file = folder / "planted.pt"
    torch.save({"weight": torch.zeros(3), "more": Trap(marker)}, file)
    return file.read_bytes()


def garbled(marker: Path, folder: Path) -> bytes:
    """As long a header as a file of arrays may have, in it a pickle."""
    header = pickle.dumps(Trap(marker))
    return len(header).to_bytes(8, "little") + header + np.random.default_rng(6).bytes(4096)


KINDS = pytest.mark.parametrize(
    "bait", [pickled, *(pytest.param(other, marks=pytest.mark.long) for other in (from_torch, garbled))]
)
Bait = Callable[[Path, Path], bytes]


def test_the_traps_are_real(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    pickle.loads(pickled(marker, tmp_path))
    assert marker.exists()
    marker.unlink()
    from_torch(marker, tmp_path)
    torch.load(tmp_path / "planted.pt", weights_only=False)
    assert marker.exists()


class Planted:
    """A copy of the run with a file put in place of another, or beside the others."""

    def __init__(self, stopped: Path, folder: Path, capfd: Capture) -> None:
        self.run, self.marker = copy_of(stopped, folder), folder / "marker"
        self._folder, self._capfd = folder, capfd

    def plant(self, place: str, bait: Bait) -> None:
        (self.run / place).write_bytes(bait(self.marker, self._folder))

    def command(self, *words: str):
        """The outcome of a command on it; the trap has not sprung."""
        outcome = dancfr(self._capfd, *words)
        assert not self.marker.exists(), f"{words} ran what was planted"
        assert "Traceback" not in outcome.err, outcome.err
        return outcome

    def resume(self, *more: str):
        return self.command(*training_of(self.run, f"iterations={LONGER}", "--resume", *more))

    def evaluate(self, agent: str = ""):
        games = ("--game", "geister", "--games", "2", "--ply-limit", "6")
        return self.command("evaluate", f"{self.run}{agent}", *games)

    def report(self):
        return self.command("report", str(self.run), "--out", str(self._folder / "report"))

    def status(self):
        return self.command("status", str(self.run))


@pytest.fixture
def planted(stopped: Path, tmp_path: Path, capfd: Capture) -> Planted:
    return Planted(stopped, tmp_path, capfd)


def reseal(checkpoint: Path) -> None:
    """Makes the manifest fit the files, as anyone with write access could."""
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    for name in manifest["files"]:
        data = (checkpoint / name).read_bytes()
        manifest["files"][name] = {"size": len(data), "crc32": f"{zlib.crc32(data):08x}"}
    (checkpoint / "manifest.json").write_text(json.dumps(seal(manifest)))


@KINDS
def test_in_place_of_the_configuration_it_is_refused_by_all(planted: Planted, bait: Bait) -> None:
    planted.plant("config.json", bait)
    before = contents(planted.run)
    for command in (planted.resume, planted.evaluate, planted.report, planted.status):
        assert "config.json is damaged: it is not JSON" in assert_refused(command())
    assert contents(planted.run) == before


@KINDS
@pytest.mark.parametrize("name", ["manifest.json", "driver.json", "buffer-transitions-1.safetensors"])
def test_in_a_checkpoint_it_is_passed_over_for_the_one_before(
    planted: Planted, calm: Path, name: str, bait: Bait
) -> None:
    planted.plant(f"{NEWEST}/{name}", bait)
    outcome = planted.resume()
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("WARNING: ") == 1
    assert f"{NEWEST}/{name} is damaged" in outcome.err
    assert "resumed after iteration 3" in outcome.err
    assert_as_if_undisturbed(planted.run, calm)
    assert planted.status().code == 0


@KINDS
@pytest.mark.parametrize("name", ["driver.json", "buffer-transitions-1.safetensors", "learner-advantages.safetensors"])
def test_in_a_checkpoint_that_was_sealed_again_it_is_refused(planted: Planted, name: str, bait: Bait) -> None:
    planted.plant(f"{NEWEST}/{name}", bait)
    reseal(planted.run / NEWEST)
    before = contents(planted.run)
    outcome = planted.resume()
    line = assert_refused(outcome, outcome.code)
    assert outcome.code in (1, 2)
    assert f"{NEWEST}/{name} is damaged" in line
    after = contents(planted.run)
    assert {key for key in before if after.get(key) != before[key]} <= {"config.json"}
    for command in (planted.evaluate, planted.report, planted.status):
        assert command().code == 0, "they read no checkpoint"


@KINDS
def test_in_place_of_a_strategy_it_is_refused_by_whoever_plays_it(planted: Planted, bait: Bait) -> None:
    planted.plant("strategies/p1-000002.safetensors", bait)
    before = contents(planted.run)
    for command in (planted.resume, planted.evaluate):
        assert "strategies/p1-000002.safetensors is damaged: " in assert_refused(command())
    for command in (planted.report, planted.status):
        assert command().code == 0, "they read no strategy"
    after = contents(planted.run)
    assert {key for key in before if after.get(key) != before[key]} <= {"config.json"}


@KINDS
def test_among_the_rows_it_is_a_torn_line(planted: Planted, calm: Path, bait: Bait) -> None:
    record = planted.run / "metrics.jsonl"
    with record.open("ab") as file:
        file.write(bait(planted.marker, planted.run.parent))
    for command in (planted.evaluate, planted.report, planted.status):
        assert command().code == 0
    assert planted.resume().code == 0
    assert_as_if_undisturbed(planted.run, calm)
    assert [row["iteration"] for row in rows(planted.run)] == [1, 2, 3, 4, 5]


@KINDS
def test_beside_the_files_of_a_run_it_is_not_looked_at(planted: Planted, calm: Path, bait: Bait) -> None:
    """Nor in place of a mere note: W&B's id, the holder of the lock."""
    places = ["config.pkl", "model.pt", "run.lock", "wandb.json", "driver.json", "checkpoints/000009.safetensors"]
    places += [f"{NEWEST}/{name}" for name in ("driver.pkl", "buffer-transitions-1.pt", "learner-advantages.pkl")]
    places += [f"strategies/{name}" for name in ("p0-000001.pt", "p0-000007.pkl", "average.safetensors")]
    for place in places:
        planted.plant(place, bait)
    for command in (planted.evaluate, planted.report, planted.status):
        assert command().code == 0
    outcome = planted.resume()
    assert outcome.code == 0, outcome.err
    for place in places:
        if place.startswith("strategies/"):
            (planted.run / place).unlink()
    assert_as_if_undisturbed(planted.run, calm)


@KINDS
def test_in_place_of_the_average_of_a_run_that_has_none_it_is_not_played(planted: Planted, bait: Bait) -> None:
    for player in (0, 1):
        planted.plant(f"strategies/average-p{player}-{STOPPED:06d}.safetensors", bait)
    assert "for runs with policy_net=true only" in assert_refused(planted.evaluate("?average=net"))
    assert planted.evaluate().code == 0
