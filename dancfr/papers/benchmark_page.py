"""`python -m dancfr.papers.benchmark_page FOLDER...`: records the runs of `reproduce iig-benchmark` that lie below the
folders in docs/records/iig-benchmark.json, and writes the table and the figure of docs/results/benchmark.md."""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from dancfr.evaluation.statistics import Curve, summarise
from dancfr.generated import with_part
from dancfr.papers.rudolph2025 import GAMES, POLICIES, STEPS, draw, exploitability, method_of_preset, presets
from dancfr.report.history import History
from dancfr.report.plots import Plot
from dancfr.runs.folder import runs_below

DOCS = Path(__file__).resolve().parents[2] / "docs"
"""The documents of the source tree; an installed package has none."""

RECORD, PAGE = DOCS / "records" / "iig-benchmark.json", DOCS / "results" / "benchmark.md"
FIGURE = DOCS / "images" / "iig-benchmark.png"

Entry = dict[str, Any]


def entry(run: History) -> Entry | None:
    """Returns the record of a run; None if it is of another length, or has no exact evaluation."""
    method = method_of_preset(run.preset)
    exact = {row["policy"]: row for row in run.exact}
    _, decisions = run.metric("samples/decisions")
    if method is None or not exact or not 0.9 < decisions[-1] / STEPS < 1.1:
        return None
    return {
        "game": run.config["game"],
        "method": method,
        "preset": run.preset,
        "seed": run.config["seed"],
        "decisions": int(decisions[-1]),
        "seconds": round(run.seconds, 1),
        "evaluation_s": {policy: round(row["time/exploitability_s"], 1) for policy, row in exact.items()},
        "exploitability": {policy: row["nash_conv"] / 2 for policy, row in exact.items()},
        "curve": [[int(x), round(float(y), 6)] for x, y in zip(*exploitability(run), strict=True)],
    }


def _order(one: Entry) -> tuple[int, int, int]:
    return list(GAMES).index(one["game"]), list(presets(one["game"])).index(one["method"]), one["seed"]


def merged(old: Iterable[Entry], new: Iterable[Entry]) -> list[Entry]:
    """Returns all entries in the order of the table; a new one replaces the old one of its game, method and seed."""
    return sorted({_order(one): one for one in (*old, *new)}.values(), key=_order)


def table(entries: Sequence[Entry]) -> str:
    """Formats the record as a Markdown table with a row for each game, method and policy."""
    lines = [
        "| game | method | policy | exploitability: mean [95 % interval] | lowest, highest | seeds | decisions "
        "| minutes of a training |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (game, method), group in groupby(entries, lambda one: (one["game"], one["method"])):
        runs = list(group)
        for policy, shown in POLICIES.items():
            values = [one["exploitability"][policy] for one in runs if policy in one["exploitability"]]
            if not values:
                continue
            mean = summarise(values)
            # Exploitability is never below zero, but the interval of a symmetric distribution may be.
            interval = f" [{max(mean.low, 0):.3g}, {mean.high:.3g}]" if mean.n > 2 else ""
            most, minutes = max(one["decisions"] for one in runs), sum(one["seconds"] for one in runs) / len(runs) / 60
            lines.append(
                f"| `{game}` | {method} | {shown} | {mean.mean:.3g}{interval} | {min(values):.3g}, {max(values):.3g} "
                f"| {mean.n} | {most / 1e6:.1f} million | {minutes:.1f} |"
            )
    return "\n".join(lines)


def figure(entries: Sequence[Entry]) -> Plot | None:
    """Draws exploitability over decisions of the runs that were evaluated on their way; None if none was."""
    games: dict[str, dict[str, list[Curve]]] = {}
    for one in entries:
        runs = games.setdefault(one["game"], {}).setdefault(one["method"], [])
        decisions, values = np.array(one.get("curve", ()), np.float64).reshape(-1, 2).T
        runs.append((decisions, values))
    return draw(games)


def with_table(text: str, entries: Sequence[Entry]) -> str:
    """Returns the page `text` with the table between the marks of ``benchmark``."""
    return with_part(text, "benchmark", table(entries))


def main(folders: Sequence[str]) -> None:
    """Adds the runs below the folders to the record, and writes the table."""
    runs = [History.read(path) for folder in folders for path in runs_below(Path(folder))]
    new = [found for run in runs if (found := entry(run)) is not None]
    entries = merged(json.loads(RECORD.read_text()) if RECORD.exists() else (), new)
    RECORD.write_text("[\n" + ",\n".join(json.dumps(one) for one in entries) + "\n]\n")
    PAGE.write_text(with_table(PAGE.read_text(), entries))
    if (plot := figure(entries)) is not None:
        FIGURE.write_bytes(plot.png)
    print(table(entries))


if __name__ == "__main__":
    main(sys.argv[1:])
