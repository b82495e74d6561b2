"""Each benchmark measures something and keeps the contract; none is held to a speed here."""

import math
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from actors.remote import RayRuntime
from dancfr.bench import BENCHES
from dancfr.bench.table import table
from dancfr.bench.tabular import GAMES
from dancfr.cli import main

LITTLE: dict[str, Any] = {
    "exact_walk.COLUMNS": 3,
    "timing.REPEATS": 2,
    "intake.REPEATS": 2,
    "scaling.REPEATS": 2,
    "scaling.available_cpus": lambda: 2,
    "coordination.REPEATS": 2,
    "overhead.TURN": 1,
    "workers.REPEATS": 2,
    "cheat_cfr.ITERATIONS": 10,
    "learner.BATCHES": 1,
    "traversal.GAMES": 64,
}
"""Smaller amounts of work, which a benchmark's limit of seconds does not reduce; and two cores anywhere."""


@pytest.fixture(scope="module", autouse=True)
def ray() -> Iterator[None]:
    """One Ray for all that want one, which use one that runs: it takes seconds to start."""
    runtime = RayRuntime()
    yield
    runtime.shutdown()


@pytest.mark.parametrize("name", BENCHES)
def test_a_benchmark_measures_a_rate_and_its_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Less work, and less often: numbers become less exact, which does not matter here, and tests much faster."""
    for amount, little in LITTLE.items():
        monkeypatch.setattr(f"dancfr.bench.{amount}", little)
    measured = BENCHES[name](seconds=0.05)
    keys = {"name", "case", "rate", "unit", "limit", "ratio", "detail"}
    assert set(measured) == keys | {"others"}
    rows = [measured, *measured["others"]]
    assert "date" not in measured
    lines = table([measured | {"date": "2026-11-30", "revision": "0123456"}]).splitlines()[2:]
    assert len(lines) == len(rows)
    for row, line in zip(rows, lines, strict=True):
        assert set(row) >= keys
        assert row["name"] == name
        for key in ("rate", "limit", "ratio"):
            assert math.isfinite(row[key])
            assert row[key] > 0
        speedup = row["limit"] / row["rate"] if row["unit"] == "ms" else row["rate"] / row["limit"]
        assert row["ratio"] == pytest.approx(speedup, rel=0.02)
        assert line.endswith("| 2026-11-30, `0123456` |")
        assert line.startswith(f"| `{name}`" + (f", {row['case']} |" if row["case"] else " |"))
    assert len({row["case"] for row in rows}) == len(rows)
    if name == "cfr-plus":
        assert [row["case"] for row in rows] == list(GAMES)
    if name == "cheat-cfr":
        same, whole = (row["detail"]["nodes an iteration"] for row in rows)
        assert same["ours"] == same["same nodes"]
        assert whole["whole trees"] > whole["ours"]
    if name == "cheat-env":
        assert measured["rate"] > measured["detail"]["sets"]["actions/s"] > 0
        assert set(measured["detail"]["nanoseconds"]) > {"legal", "choice", "step", "finished"}
    if name == "mccfr":
        assert measured["ratio"] == measured["detail"]["external-sampling"]["ratio"]
        assert measured["detail"]["outcome-sampling"]["ratio"] > 0


@pytest.mark.parametrize("name", ["cfr-plus", "mccfr"])
def test_without_openspiel_there_is_nothing_to_compare_with(
    name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(SystemExit) as ended:
        main(["bench", name, "--json"])
    assert ended.value.code == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "dancfr: games of OpenSpiel need the package open_spiel: run make setup, or pip install open_spiel\n"
