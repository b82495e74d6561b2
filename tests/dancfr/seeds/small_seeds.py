"""Runs of several seeds that take a second, and changes of their records."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dancfr
from dancfr.seeds import SeedRuns
from tests.dancfr.records import KUHN_DREAM

SMALL = KUHN_DREAM | {"evaluation.exploitability": True}


def train(path: Path, seeds: tuple[int, ...], **more: object) -> SeedRuns:
    return dancfr.train_seeds("leduc-dream-quick", SMALL | more, seeds=seeds, folder=path, inline=True, progress=False)


def edit(run: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    record = run / "metrics.jsonl"
    rows = change([json.loads(line) for line in record.read_text().splitlines()])
    record.write_text("".join(json.dumps(row) + "\n" for row in rows))
