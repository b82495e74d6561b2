"""The records in docs/records are of runs of the presets, and the docs show what they say."""

from pathlib import Path

import pytest

from dancfr.papers.given_runs import given_runs
from dancfr.papers.paper000 import SCALES, win_rate_rows
from dancfr.report.history import History

ROOT = Path(__file__).resolve().parents[3]
RECORDS = ROOT / "docs" / "records" / "paper000"
PAGE = (ROOT / "docs" / "dream-on-geister.md").read_text()


def test_the_records_are_runs_of_the_presets() -> None:
    settings = given_runs([RECORDS], SCALES["paper"], ())
    assert "geister-dream-no-baseline" in settings
    assert len(win_rate_rows(settings)) >= 2 * len(settings)
    assert all(run.seconds > 0 for runs in settings.values() for run in runs)


@pytest.mark.parametrize("folder", sorted(RECORDS.iterdir()), ids=lambda path: path.name)
def test_the_page_agrees_with_a_record(folder: Path) -> None:
    run = History.read(folder)
    rates = {(r["iteration"], r["policy"], r["opponent"]): 100 * r["win_rate"] for r in run.evaluations}
    shown = {
        int(line.split("|")[1]): line for line in PAGE.splitlines() if line.startswith("| ") and _has_iteration(line)
    }
    compared = 0
    for t, line in shown.items():
        for opponent in ("random", "heuristic"):
            if (t, "average", opponent) in rates:
                assert f"{rates[t, 'average', opponent]:.1f}, {rates[t, 'last', opponent]:.1f}" in line
                compared += 1
    assert compared >= 10


def _has_iteration(line: str) -> bool:
    """Whether a line is a row of the table of runs at the paper's scale, the only one with eight columns."""
    cells = line.strip().strip("|").split("|")
    return len(cells) == 8 and cells[0].strip().isdigit()
