"""`python -m dancfr.bench.table`: runs every benchmark, writes docs/benchmarks.json and the table in README.md."""

import json
import sys
from pathlib import Path
from typing import Any

from dancfr.bench import BENCHES

ROOT = Path(__file__).resolve().parent.parent.parent
START, END = "<!-- benchmarks -->", "<!-- /benchmarks -->"


def table(results: list[dict[str, Any]]) -> str:
    """The results as a table in Markdown."""
    lines = ["| benchmark | rate | limit in the same process | ratio |", "|---|---|---|---|"]
    for one in results:
        digits = 1 if one["unit"] == "ms" else 0
        value, limit = (f"{one[key]:,.{digits}f} {one['unit']}" for key in ("rate", "limit"))
        lines.append(f"| `{one['name']}` | {value} | {limit}: {one['detail']['limit']} | {one['ratio']:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Runs all, writes both files."""
    results = []
    for name, measure in BENCHES.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        results.append(measure())
    (ROOT / "docs" / "benchmarks.json").write_text(json.dumps(results, indent=1) + "\n")
    readme = ROOT / "README.md"
    text = readme.read_text()
    before, rest = text.split(START, 1)
    _, after = rest.split(END, 1)
    readme.write_text(f"{before}{START}\n{table(results)}\n{END}{after}")
    print(table(results))


if __name__ == "__main__":
    main()
