"""Ray itself is lost: its control service, which no run survives, or a machine, which the run does without."""

import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.faults.training import assert_as_if_undisturbed, rows, training


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_control_service_is_killed(longer_calm: Path, tmp_path: Path) -> None:
    with training(tmp_path / "run", "iterations=100000", "--workers", "2") as run:  # too many for it to end before
        run.reach(4)
        (service,) = [p for p in psutil.Process(run.process.pid).children(recursive=True) if p.name() == "gcs_server"]
        service.send_signal(signal.SIGKILL)
        begin = time.monotonic()
        code = run.end(60)
        took = time.monotonic() - begin
    assert code == 1
    print(f"the driver ended {took:.1f} s after the control service")
    assert took < 60
    (line,) = [line for line in run.told().splitlines() if line.startswith("dancfr:")]
    assert "control service" in line
    assert "--resume" in line
    more = rows(tmp_path / "run", "train")[-1]["iteration"] + 5
    with training(tmp_path / "run", f"iterations={more}", "--workers", "2", "--resume") as again:
        assert again.end() == 0, again.told()
    assert_as_if_undisturbed(tmp_path / "run", longer_calm)
