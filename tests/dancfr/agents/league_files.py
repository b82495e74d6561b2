"""The results that tests of leagues read, without the seconds that they took."""

import json
from pathlib import Path
from typing import Any


def played(folder: Path) -> list[dict[str, Any]]:
    """Returns the lines of games.jsonl without their seconds."""
    rows = [json.loads(line) for line in (folder / "games.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def standings_of(folder: Path) -> dict[str, Any]:
    """Returns the content of ratings.json."""
    found: dict[str, Any] = json.loads((folder / "ratings.json").read_text())
    return found
