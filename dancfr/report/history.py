"""Reads the records of runs: learning curves and metrics from `metrics.jsonl`, and runs grouped by setting.

Rows without a key and values of the wrong type are skipped, so that records of any method and version, and files
edited by hand, can be read. If several rows describe the same iteration, as after a resumption, the last one counts.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dancfr.evaluation.statistics import Curve, wilson
from dancfr.runs.run import Run
from dancfr.values import is_number

Row = dict[str, Any]

NOT_A_SETTING = frozenset({"seed", "iterations", "minutes", "samples", "checkpoint_every", "checkpoint_minutes"})
"""Keys of the configuration that do not distinguish settings."""

_COUNTS = ("wins", "draws", "losses")
_WHOLE = ("iteration", "player", "games", *_COUNTS)
_TEXTS = ("kind", "policy", "opponent")


@dataclass(frozen=True)
class History:
    """The record of one run.

    Attributes:
        name: Name of the run's folder.
        path: The folder.
        info: Content of config.json.
        train: Training rows, ordered by iteration, one per player and iteration.
        evaluations: Evaluation rows, ordered by iteration, one per policy, opponent and iteration.
        exact: Rows of exact evaluations, ordered by iteration, one per policy and iteration.
    """

    name: str
    path: Path
    info: dict[str, Any]
    train: tuple[Row, ...]
    evaluations: tuple[Row, ...]
    exact: tuple[Row, ...] = ()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Reads the record of the run in a folder.

        Raises:
            UsageError: there is no run, its configuration is damaged, or its record cannot be read.
        """
        run = Run.open(path)
        rows = [_clean(row) for row in run.read_metrics()]
        train = _newest(rows, "train", ("iteration", "player"))
        evaluations = _newest(rows, "evaluation", ("iteration", "policy", "opponent"))
        exact = _newest(rows, "exploitability", ("iteration", "policy"))
        return cls(run.path.resolve().name, run.path, run.info, train, evaluations, exact)

    @property
    def preset(self) -> str:
        return str(self.info["preset"])

    @property
    def method(self) -> str:
        """Name of the method that trained the run."""
        return str(self.info["method"])

    @property
    def config(self) -> dict[str, Any]:
        """The run's configuration, as JSON."""
        config: dict[str, Any] = self.info.get("config", {})
        return config

    @property
    def iterations(self) -> int:
        """Last recorded iteration; 0 if there is none."""
        return max((int(row["iteration"]) for row in self.train + self.evaluations), default=0)

    @property
    def seconds(self) -> float:
        """Training time, without evaluations and checkpoints unless the method counts them."""
        return max((row["elapsed_s"] for row in self.train + self.evaluations if "elapsed_s" in row), default=0.0)

    def last(self, key: str) -> Any:
        """Returns the newest value of a key of the training rows, or None."""
        return next((row[key] for row in reversed(self.train) if row.get(key) is not None), None)

    def players(self) -> list[int]:
        """Returns the players that occur in training rows."""
        return sorted({int(row["player"]) for row in self.train if row.get("player") is not None})

    def opponents(self) -> list[str]:
        """Returns the opponents of the evaluations, in order of appearance."""
        return list(dict.fromkeys(row["opponent"] for row in self.evaluations))

    def metric(self, key: str, player: int | None = None, total: bool = False) -> Curve:
        """Returns the values of a key over iterations.

        Args:
            key: Key of the rows.
            player: Player whose rows to use; None aggregates the rows of all players.
            total: Aggregate by the sum instead of the mean.
        """
        rows: Sequence[Row] = [r for r in self.train if player is None or r.get("player") == player]
        values: dict[int, list[float]] = {}
        for row in rows:
            if row.get(key) is not None:
                values.setdefault(int(row["iteration"]), []).append(float(row[key]))
        if not values and player is None:  # the key may belong to evaluations, which have rows of their own
            for row in self._evaluated(key):
                values[int(row["iteration"])] = [float(row[key])]
        join = sum if total else fmean
        x = sorted(values)
        return np.array(x, np.float64), np.array([join(values[i]) for i in x], np.float64)

    def _evaluated(self, key: str) -> list[Row]:
        """Returns the rows of evaluations with a key; for readings of the play, those of the first policy against the
        last opponent alone, since each policy is read differently against each opponent."""
        found = [row for row in (*self.evaluations, *self.exact) if row.get(key) is not None]
        if not key.startswith("read"):
            return found
        last, first = self.opponents()[-1:], [row["policy"] for row in self.evaluations[:1]]
        return [row for row in found if [row["opponent"]] == last and [row["policy"]] == first]

    def win_rates(self, opponent: str, policy: str = "average", time: bool = False) -> Curve:
        """Returns the win rate against an opponent over iterations or over seconds of training."""
        axis = "elapsed_s" if time else "iteration"
        rows = self._against(opponent, policy, axis)
        x = np.array([row[axis] for row in rows], np.float64)
        return x, np.array([row["win_rate"] for row in rows], np.float64)

    def intervals(self, opponent: str, policy: str = "average", time: bool = False) -> NDArray[np.float64]:
        """Returns the Wilson intervals of `win_rates`, `[2, N]`; NaN for rows without a number of games."""
        rows = self._against(opponent, policy, "elapsed_s" if time else "iteration")
        known = [wilson(row["wins"], row["games"]) if "wins" in row else (np.nan, np.nan) for row in rows]
        return np.array(known, np.float64).reshape(-1, 2).T

    def nash_conv(self, policy: str = "average", decisions: bool = False) -> Curve:
        """Returns NashConv of a policy over iterations or over the number of sampled decisions."""
        sampled = dict(zip(*(array.tolist() for array in self.metric("samples/decisions")), strict=True))
        rows = [row for row in self.exact if row["policy"] == policy]
        rows = [row for row in rows if not decisions or row["iteration"] in sampled]
        x = [sampled[row["iteration"]] if decisions else row["iteration"] for row in rows]
        return np.array(x, np.float64), np.array([row["nash_conv"] for row in rows], np.float64)

    def _against(self, opponent: str, policy: str, axis: str) -> list[Row]:
        return [r for r in self.evaluations if (r["opponent"], r["policy"]) == (opponent, policy) and axis in r]

    def final(self) -> list[Row]:
        """Returns the last evaluation of each policy against each opponent."""
        newest = {(row["opponent"], row["policy"]): row for row in self.evaluations}
        return list(newest.values())


def told_apart(histories: Sequence[History]) -> list[History]:
    """Returns histories of different folders, those of folders with the same name under as much of the paths as tells
    them apart."""
    paths = [history.path.resolve().parts for history in histories]
    named = []
    for history, parts in zip(histories, paths, strict=True):
        kept = 1
        while kept < len(parts) and sum(other[-kept:] == parts[-kept:] for other in paths) > 1:
            kept += 1
        named.append(history if kept == 1 else replace(history, name="/".join(parts[-kept:])))
    return named


Settings = dict[str, list[History]]
"""Runs by the name of their setting; the runs of a setting differ in seed and length only."""


def by_setting(histories: Sequence[History]) -> Settings:
    """Groups runs by setting. A setting's name is the preset, with the keys that differ between its settings."""
    groups: dict[tuple[Any, ...], list[History]] = {}
    for history in histories:
        groups.setdefault(_setting(history), []).append(history)
    named: Settings = {}
    for key, runs in groups.items():
        rivals = [dict(other[1:]) for other in groups if other[0] == key[0]]
        own = dict(key[1:])
        differing = [k for k in own if any(other.get(k) != own[k] for other in rivals)]
        name = ", ".join([str(key[0]), *(f"{k}={own[k]}" for k in differing)])
        named[name] = runs
    return named


def _setting(history: History) -> tuple[Any, ...]:
    """Returns the identity of a run's setting: the preset, and pairs of key and value as text."""
    flat = _flatten(history.info.get("config", {}))
    return (history.preset, *((key, text) for key, text in flat if key.split(".")[0] not in NOT_A_SETTING))


def _flatten(config: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    pairs = []
    for key, value in config.items():
        if isinstance(value, dict):
            pairs += _flatten(value, f"{prefix}{key}.")
        else:
            pairs.append((prefix + key, str(value)))
    return pairs


def _newest(rows: Sequence[Row], kind: str, identity: tuple[str, ...]) -> tuple[Row, ...]:
    """Returns the rows of a kind by iteration, keeping the last of the rows with the same identity."""
    needed = {*identity} - {"player"} | {"evaluation": {"win_rate"}, "exploitability": {"nash_conv"}}.get(kind, set())
    whole = [row for row in rows if row.get("kind") == kind and needed <= set(row)]
    kept = {tuple(row.get(key) for key in identity): row for row in whole}
    return tuple(sorted(kept.values(), key=lambda row: row["iteration"]))


def _clean(row: Row) -> Row:
    """Returns the valid values of a row; empty if the row lacks a valid iteration or identity."""
    kept = {key: value for key, value in row.items() if _fits(key, value)}
    if "iteration" not in kept or (row.get("player") is not None and "player" not in kept):
        return {}
    if not {"games", *_COUNTS} <= set(kept) or sum(kept[key] for key in _COUNTS) != kept["games"]:
        kept = {key: value for key, value in kept.items() if key not in ("games", *_COUNTS)}
    return kept


def _fits(key: str, value: Any) -> bool:
    if key in _TEXTS:
        return isinstance(value, str)
    if key == "categories":
        return isinstance(value, dict) and all(is_number(count) for count in value.values())
    if key == "win_rate":
        return is_number(value) and 0 <= value <= 1
    return is_number(value) and (key not in _WHOLE or (isinstance(value, int) and value >= 0))
