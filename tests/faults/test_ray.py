"""Ray itself is lost: its control service, which no run survives, or a machine, which the run does without."""

import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.faults.training import assert_as_if_undisturbed, rows, training


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("lost", "how"), [("gcs_server", signal.SIGKILL), ("raylet", signal.SIGTERM)])
def test_the_ray_of_the_training_is_ended(lost: str, how: signal.Signals, longer_calm: Path, tmp_path: Path) -> None:
    """`ray stop` in another terminal ends the raylet first, and some seconds later the control service."""
    with training(tmp_path / "run", "iterations=100000", "--workers", "2") as run:  # too many for it to end before
        run.reach(4)
        (service,) = [p for p in psutil.Process(run.process.pid).children(recursive=True) if p.name() == lost]
        service.send_signal(how)
        begin = time.monotonic()
        code = run.end(60)
        took = time.monotonic() - begin
    assert code == 1
    print(f"the driver ended {took:.1f} s after {lost}")
    assert took < 60
    (line,) = [line for line in run.told().splitlines() if line.startswith("dancfr:")]
    assert "`ray stop` in another terminal" in line
    assert "--resume" in line
    more = rows(tmp_path / "run", "train")[-1]["iteration"] + 5
    with training(tmp_path / "run", f"iterations={more}", "--workers", "2", "--resume") as again:
        assert again.end() == 0, again.told()
    assert_as_if_undisturbed(tmp_path / "run", longer_calm)
