"""`python -m dancfr.papers.benchmark_page FOLDER...`: records the runs of `reproduce iig-benchmark` that lie below the
folders in docs/records/iig-benchmark.json, and writes the tables and the figure of docs/results/benchmark.md."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dancfr.evaluation.statistics import Curve, Summary, summarise
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
    """Returns all entries by game, method and seed; a new one replaces the old one of its game, method and seed."""
    return sorted({_order(one): one for one in (*old, *new)}.values(), key=_order)


def table(entries: Sequence[Entry]) -> str:
    """Formats the record as two Markdown tables, of average policies and of last iterates, with a row for each method
    and a column for each game; the lowest mean of a game is bold."""
    told = (_table_of(policy, shown, entries) for policy, shown in POLICIES.items())
    return "\n\n".join(part for part in told if part)


def _table_of(policy: str, shown: str, entries: Sequence[Entry]) -> str:
    """The table of a policy; empty if no run has it."""
    found: dict[tuple[str, str], list[float]] = {}
    for one in entries:
        if policy in one["exploitability"]:
            found.setdefault((one["game"], one["method"]), []).append(one["exploitability"][policy])
    if not found:
        return ""
    means = {key: summarise(values) for key, values in found.items()}
    games = [game for game in GAMES if any(game == key[0] for key in found)]
    best = {game: min(mean.mean for key, mean in means.items() if key[0] == game) for game in games}
    lines = [f"| {shown} | {' | '.join(f'`{game}`' for game in games)} |", "|---" * (len(games) + 1) + "|"]
    for method in dict.fromkeys(method for _, method in found):
        cells = [
            _cell(means[game, method], found[game, method], best[game]) if (game, method) in found else ""
            for game in games
        ]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(mean: Summary, values: Sequence[float], best: float) -> str:
    told = f"{mean.mean:.3g}"
    told = f"**{told}**" if mean.mean == best else told
    if mean.n == 1:
        return f"{told}; 1"
    if mean.n == 2:
        return f"{told} ({min(values):.3g}, {max(values):.3g}); 2"
    # Shares of the largest return are from 0 to 1, but the interval of a symmetric distribution may reach beyond.
    return f"{told} [{max(mean.low, 0):.3g}, {min(mean.high, 1):.3g}]; {mean.n}"


def figure(entries: Sequence[Entry]) -> Plot | None:
    """Draws exploitability over decisions of the runs that were evaluated on their way; None if none was."""
    games: dict[str, dict[str, list[Curve]]] = {}
    for one in entries:
        runs = games.setdefault(one["game"], {}).setdefault(one["method"], [])
        decisions, values = np.array(one.get("curve", ()), np.float64).reshape(-1, 2).T
        runs.append((decisions, values))
    return draw(games)


def with_table(text: str, entries: Sequence[Entry]) -> str:
    """Returns the page `text` with the tables between the marks of ``benchmark``."""
    return with_part(text, "benchmark", table(entries))


def main(folders: Sequence[str]) -> None:
    """Adds the runs below the folders to the record, and writes the tables and the figure."""
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
