"""Records the rows of a training in `metrics.jsonl`; other programs read them there, those for Weights & Biases and
TensorBoard if asked to."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, Self

from dancfr.errors import UsageError
from dancfr.runs.run import Run
from dancfr.watch.progress import Speed
from dancfr.watch.reader_process import ReaderProcess

Mode = Literal["online", "offline", "off"]


class Tracker:
    """Writes the record of a run, and starts and stops the programs that show it. A context manager.

    Args:
        run: The run, locked by this process.
        mode: How W&B is used; None: see `choose_mode`.
        speed: The speed of the method, from which the speed per worker is computed for W&B.
        tensorboard: Whether the record is written for TensorBoard, too.
        on_row: Gets each row once it is written.
        decisions: Key of training rows that counts the decisions so far, an axis of W&B's charts of evaluations.

    Raises:
        UsageError: see `choose_mode`.
    """

    def __init__(
        self,
        run: Run,
        mode: Mode | None = None,
        speed: Speed | None = None,
        tensorboard: bool = False,
        on_row: Callable[[Mapping[str, Any]], None] | None = None,
        decisions: str | None = None,
    ) -> None:
        self._run, self._on_row = run, on_row
        self._readers: list[ReaderProcess] = []
        mode = choose_mode(mode)
        if mode != "off":
            words = () if speed is None else (speed.key, speed.unit, decisions or "")
            self._readers.append(ReaderProcess("W&B", "dancfr.watch.wandb_reader", run, mode, *words))
        if tensorboard:
            self._readers.append(ReaderProcess("TensorBoard", "dancfr.watch.tensorboard_reader", run))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(failed=kind is not None)

    def log(self, row: Mapping[str, Any]) -> None:
        """Records one row.

        Args:
            row: ``iteration``; ``kind``, one of "train" (the default), "evaluation", "exploitability" and "event"; and
                metrics. An evaluation has ``policy``, ``opponent`` and ``win_rate``, an exact one ``policy`` and
                ``nash_conv``, an event its name as ``event``.

        Raises:
            KeyError: the row has no iteration.
            TypeError: a value cannot be written as JSON.
        """
        whole = {"kind": "train", **row, "iteration": int(row["iteration"])}
        self._run.append_metrics(whole)
        for reader in self._readers:
            reader.check()
        if self._on_row is not None:
            self._on_row(whole)

    def close(self, failed: bool = False) -> None:
        """Stops the readers; waits at most a minute for each until everything is sent."""
        self._run.flush_metrics()
        for reader in self._readers:
            reader.finish(1 if failed else 0)
        self._readers = []


def choose_mode(requested: str | None) -> Mode:
    """Returns the mode of W&B: the requested one, or else that of `WANDB_MODE`, or else ``online`` if a key is
    configured and ``off`` otherwise.

    Raises:
        UsageError: the mode does not exist, or it is online and there is no key.
    """
    asked = requested or {"disabled": "off", "dryrun": "offline", "run": "online"}.get(
        os.environ.get("WANDB_MODE", ""), os.environ.get("WANDB_MODE")
    )
    if asked is None or asked == "":
        return "online" if has_key() else "off"
    if asked == "offline":
        return "offline"
    if asked == "off":
        return "off"
    if asked != "online":
        raise UsageError(f"the W&B mode must be online, offline or off, got {asked!r}")
    if not has_key():
        raise UsageError(
            "W&B online needs a key: set WANDB_API_KEY, run `wandb login`, or choose --wandb offline or off"
        )
    return "online"


def server() -> str:
    """Returns the address of the W&B server."""
    return os.environ.get("WANDB_BASE_URL") or "https://api.wandb.ai"


def has_key() -> bool:
    """Returns whether a key for the W&B server is configured, in the environment or in a netrc file."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    import netrc
    from urllib.parse import urlsplit

    host = urlsplit(server()).netloc
    named = os.environ.get("NETRC")
    for path in [named] if named else ["~/.netrc", "~/_netrc"]:
        try:
            entry = netrc.netrc(os.path.expanduser(path)).authenticators(host)
        except (OSError, netrc.NetrcParseError):
            continue
        if entry and entry[2]:
            return True
    return False
