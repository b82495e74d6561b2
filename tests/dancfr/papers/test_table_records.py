"""The records of papers 001 and 002 are whole, and the pages quote them."""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
RECORDS = {path.stem: path for paper in ("paper001", "paper002") for path in (ROOT / "docs/records" / paper).iterdir()}
REPRODUCTIONS = (ROOT / "docs" / "results" / "reproductions.md").read_text()
BELIEFS = (ROOT / "docs" / "results" / "belief-search.md").read_text()

Cells = Mapping[str, Mapping[str, Any]]
AGENTS = ("Memoryless", "HP-Aware", "History-Aware", "General")


def _cells(name: str) -> Cells:
    record = json.loads(RECORDS[name].read_text())
    assert (record["experiment"], record["scale"]) == (name, "paper")
    return {row["cell"]: row for row in record["rows"]}


def _mean(row: Mapping[str, Any]) -> str:
    """A mean, with its standard deviation over seeds if there are several."""
    return f"{row['ours']:.1f}" + ("" if row["sd"] is None else f" ({row['sd']:.1f})")


def _interval(row: Mapping[str, Any]) -> str:
    found = re.search(r"interval ([\d.]+) to ([\d.]+) over", row["note"])
    assert found
    return f"{row['ours']:.1f} % [{found[1]}, {found[2]}]"


def _table1(cells: Cells) -> list[str]:
    seconds = [cells[f"{agent} Cheat-5, seconds"]["ours"] for agent in AGENTS]
    gaps = {}
    for agent in AGENTS:
        rows = [cells[f"{agent} Cheat-{n}, infosets"] for n in (3, 4, 5)]
        gaps[agent] = [100 * (row["ours"] / row["paper"] - 1) for row in rows]
    near = math.ceil(max(abs(gap) for agent in AGENTS[:2] for gap in gaps[agent]))
    spans = [f"{agent} {min(gaps[agent]):+.0f} to {max(gaps[agent]):+.0f} %" for agent in AGENTS[2:]]
    return [f"{min(seconds):.1f} to {max(seconds):.1f} s", f"Memoryless and HP-Aware within {near} %", *spans]


def _table2(cells: Cells) -> list[str]:
    seconds = [cells[f"{agent}† Cheat-5, seconds"]["ours"] for agent in AGENTS]
    infosets = [[f"{cells[f'{agent}† Cheat-{n}, infosets']['ours']:,.0f}" for n in (3, 4, 5)] for agent in AGENTS]
    counts = "; ".join(", ".join(dict.fromkeys(each)) if agent == 0 else ", ".join(each) for agent, each in
                       enumerate(infosets))  # fmt: skip
    return [counts, f"{min(seconds):.2f} to {max(seconds):.2f} s for Cheat-5"]


QUOTES: dict[str, Callable[[Cells], list[str]]] = {
    "cheat-table1": _table1,
    "cheat-table2": _table2,
    "mini-geister-fig5": lambda cells: [_interval(cells["heuristic/random"])],
    "mini-geister-fig6": lambda cells: [", ".join(_mean(cells[f"full/{bot}"]) for bot in ("random", "heuristic"))],
    "mini-geister-fig7": lambda cells: [", ".join(_mean(cells[f"no-belief/{bot}"]) for bot in ("random", "heuristic"))],
    "mini-geister-fig8": lambda cells: [_mean(cells["no-baseline/heuristic"])],
    "mini-geister-fig9-12": lambda cells: [
        ", ".join(_mean(cells[f"{name}/heuristic"]) for name in OTHERS),
        "{}, {}, {} and {} %".format(*(f"{cells[f'{name}/random']['ours']:.1f}" for name in OTHERS)),
    ],
}  # fmt: skip
"""Texts that the row of an experiment in docs/results/reproductions.md must have."""

OTHERS = ("dream", "dream-no-belief", "outcome-sampling", "outcome-sampling-no-belief")
IN_TABLE = {
    "mini-geister-fig6": ("full", "exact-belief"),
    "mini-geister-fig7": ("no-belief",),
    "mini-geister-fig8": ("no-baseline",),
    "mini-geister-fig9-12": OTHERS,
}


def test_every_record_is_quoted() -> None:
    assert set(RECORDS) == set(QUOTES)


@pytest.mark.parametrize("name", QUOTES)
def test_the_page_of_reproductions_quotes_a_record(name: str) -> None:
    (row,) = [line for line in REPRODUCTIONS.splitlines() if line.startswith("| ") and f"`{name}`" in line]
    for text in QUOTES[name](_cells(name)):
        assert text in row


@pytest.mark.parametrize(("name", "variant"), [(name, each) for name, them in IN_TABLE.items() for each in them])
def test_the_page_of_belief_states_agrees_with_a_record(name: str, variant: str) -> None:
    cells = _cells(name)
    (row,) = [line for line in BELIEFS.splitlines() if f"(`{variant}`)" in line]
    shown = [cell.strip() for cell in row.strip("|").split("|")]
    assert [shown[2], shown[4], shown[5]] == [_mean(cells[f"{variant}/{bot}"]) for bot in BOTS]


BOTS = ("random", "heuristic", "rush")
