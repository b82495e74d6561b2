"""`python -m dancfr.bench.table [NAME ...]`: runs benchmarks, writes docs/results/benchmarks.json and .md."""

import json
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from dancfr.bench import BENCHES
from dancfr.errors import warn
from dancfr.generated import with_part
from dancfr.runs.provenance import git_revision

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


def table(results: list[dict[str, Any]]) -> str:
    """Formats the results as a Markdown table, with a line for each row of a result."""
    lines = ["| benchmark | rate | limit or peer in the same process | ratio | measured |", "|---|---|---|---|---|"]
    for result in results:
        measured = _measured(result)
        for one in (result, *result.get("others", ())):
            digits = 1 if one["unit"] == "ms" else 0
            value, limit = (f"{one[key]:,.{digits}f} {one['unit']}" for key in ("rate", "limit"))
            name = f"`{one['name']}`" + (f", {case}" if (case := one.get("case")) else "")
            lines.append(f"| {name} | {value} | {limit}: {one['detail']['limit']} | {one['ratio']:.2f} | {measured} |")
    return "\n".join(lines)


def _measured(result: dict[str, Any]) -> str:
    """The date and the revision of a result; a result from before they were recorded has none."""
    return f"{result['date']}, `{result['revision']}`" if "date" in result else ""


def main(names: Sequence[str]) -> None:
    """Runs the named benchmarks, or all, and writes both files; others keep their previous results."""
    if unknown := [name for name in names if name not in BENCHES]:
        raise SystemExit(f"no benchmark named {unknown[0]!r}: choose from {', '.join(BENCHES)}")
    record = RESULTS / "benchmarks.json"
    found = {one["name"]: one for one in json.loads(record.read_text())}
    revision = (git_revision() or "")[:7]  # before the record changes the tree
    for name in names or BENCHES:
        warn(f"{name} ...")
        found[name] = BENCHES[name]() | {"date": date.today().isoformat(), "revision": revision}
        results = [found[name] for name in BENCHES if name in found]
        record.write_text(json.dumps(results, indent=1) + "\n")  # now: a later benchmark may fail
    page = RESULTS / "benchmarks.md"
    page.write_text(with_part(page.read_text(), "benchmarks", table(results)))
    print(table(results))


if __name__ == "__main__":
    main(sys.argv[1:])
