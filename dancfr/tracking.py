"""Where metrics go: always into `metrics.jsonl`, and beside it to Weights & Biases if that is wanted.

The file is the record. W&B is a sink: a killed process may lose rows there, its server may be away, its
service process may die; none of that may disturb a training, so every call to it is guarded and the first
failure turns it off with one line of warning.
"""

import json
import os
import re
import shutil
import threading
import uuid
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, Self

from dancfr.errors import UsageError, warn
from dancfr.metrics import plain
from dancfr.runs import Run
from learners.storage import replacing

Mode = Literal["online", "offline", "off"]

INIT_TIMEOUT_S = 30.0
FINISH_TIMEOUT_S = 60.0
TEARDOWN_TIMEOUT_S = 10.0
_DEFAULT_SERVER = "https://api.wandb.ai"


class Tracker:
    """Takes the rows of a run. Use it in a `with`.

    Args:
        run: The run, whose lock this process holds.
        mode: Of W&B; None chooses as `choose_mode` does.

    Raises:
        UsageError: see `choose_mode`.
    """

    def __init__(self, run: Run, mode: Mode | None = None) -> None:
        self._run = run
        mode = choose_mode(mode)
        self._sink = None if mode == "off" else WandbSink(run, mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(failed=kind is not None)

    def log(self, row: Mapping[str, Any]) -> None:
        """Records one row.

        Args:
            row: ``iteration``; ``kind``, "train", "evaluation" or "exploitability"; metrics. In an evaluation also
                ``policy``, ``opponent`` and ``win_rate``; where it is exact, ``policy`` and ``nash_conv``.

        Raises:
            KeyError: the row has no iteration.
            TypeError: it holds what JSON cannot say.
        """
        told = plain({"kind": "train", **row, "iteration": int(row["iteration"])})
        self._run.append_metrics(told)
        if self._sink is not None:
            self._sink.log(told)

    def checkpoint(self, iteration: int) -> None:
        """Sends the checkpoint's manifest and the strategies up to it as a W&B artifact, not the buffers."""
        if self._sink is not None:
            self._sink.log_checkpoint(iteration)

    def close(self, failed: bool = False) -> None:
        """Hands over what W&B has not been sent yet, for at most a minute."""
        self._run.metrics.flush()
        if self._sink is not None:
            self._sink.finish(1 if failed else 0)
            self._sink = None


def choose_mode(requested: str | None) -> Mode:
    """How W&B is used: as requested, else as `WANDB_MODE` says, else online if a key is configured, else off.

    Raises:
        UsageError: no such mode, or online without a key.
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
        raise UsageError(f"W&B can be online, offline or off, not {asked!r}")
    if not has_key():
        raise UsageError(
            "W&B online needs a key: set WANDB_API_KEY, run `wandb login`, or choose --wandb offline or off"
        )
    return "online"


def has_key() -> bool:
    """Whether a key for the W&B server is configured, in the environment or in a netrc file."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    import netrc
    from urllib.parse import urlsplit

    host = urlsplit(os.environ.get("WANDB_BASE_URL") or _DEFAULT_SERVER).netloc
    named = os.environ.get("NETRC")
    for path in [named] if named else ["~/.netrc", "~/_netrc"]:
        try:
            entry = netrc.netrc(os.path.expanduser(path)).authenticators(host)
        except (OSError, netrc.NetrcParseError):
            continue
        if entry and entry[2]:
            return True
    return False


class WandbSink:
    """One W&B run beside a run of ours; the same one again when ours is resumed.

    Args:
        run: Our run. W&B's files go to its folder ``wandb/``, the id of the W&B run to ``wandb.json``.
        mode: ``online`` or ``offline``.
    """

    def __init__(self, run: Run, mode: Literal["online", "offline"]) -> None:
        self._run = run
        self._mode = mode
        self._wandb: Any = None
        self._live: Any = None
        self._step = 0
        self._guard(self._start)

    def log(self, row: Mapping[str, Any]) -> None:
        """Sends a row of `metrics.jsonl`; its iteration is the step.

        W&B takes steps in order only, but an evaluation may come in after rows of later iterations: so those
        charts have an axis of their own, `evaluation/iteration`.
        """
        iteration = row["iteration"]
        if row["kind"] == "evaluation":
            name = f"evaluation/{row['policy']}/{row['opponent']}/win_rate"
            metrics = {name: row["win_rate"], "evaluation/iteration": iteration}
        elif row["kind"] == "exploitability":
            metrics = {f"evaluation/{row['policy']}/nash_conv": row["nash_conv"], "evaluation/iteration": iteration}
        else:
            metrics = {key: value for key, value in row.items() if _is_number(value) and key != "iteration"}
        self._step = max(self._step, iteration)
        self._guard(lambda: self._live.log(metrics, step=self._step))

    def log_checkpoint(self, iteration: int) -> None:
        """See `Tracker.checkpoint`."""
        self._guard(lambda: self._send_artifact(iteration))

    def finish(self, exit_code: int) -> None:
        """Ends the W&B run, waiting at most `FINISH_TIMEOUT_S` for what is still being sent."""
        if self._live is None:
            return

        def work() -> None:
            self._live.finish(exit_code=exit_code)
            self._wandb.teardown()  # its service process ends here, and not with this one

        failure = _within(FINISH_TIMEOUT_S, work)
        if failure is not None:
            self._give_up(failure)
        self._live = None

    def _start(self) -> None:
        os.environ.setdefault("WANDB_SILENT", "true")  # read at import
        import wandb

        self._wandb = wandb
        run = self._run
        details = {key: run.info.get(key) for key in ("preset", "method", "version", "git_revision")}
        self._live = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or "dancfr",
            group=run.preset,
            name=run.name,
            id=_wandb_id(run),
            resume="allow",
            mode=self._mode,
            dir=str(run.path),
            config={**details, **run.info["config"]},
            settings=wandb.Settings(silent=True, console="off", init_timeout=INIT_TIMEOUT_S, disable_code=True),
        )
        self._live.define_metric("evaluation/*", step_metric="evaluation/iteration")

    def _send_artifact(self, iteration: int) -> None:
        folder = self._run.path / "wandb"
        manifest = folder / f"manifest-{iteration:06d}.json"  # a checkpoint is removed in time, this copy stays
        shutil.copyfile(self._run.path / "checkpoints" / f"{iteration:06d}" / "manifest.json", manifest)
        name = re.sub(r"[^\w.-]", "-", self._run.name)[:100]
        artifact = self._wandb.Artifact(f"{name}-checkpoint", type="checkpoint", metadata={"iteration": iteration})
        files = [(manifest, "manifest.json")]
        for strategy in self._run.list_strategies():
            if strategy.iteration <= iteration:
                files.append((strategy.path, f"strategies/{strategy.path.name}"))
        for path, inner in files:  # none of them is ever changed, so W&B need not copy them
            artifact.add_file(str(path), name=inner, policy="immutable", skip_cache=True)
        self._live.log_artifact(artifact, aliases=["latest", f"iteration-{iteration}"])

    def _guard(self, call: Callable[[], Any]) -> None:
        """Calls W&B if it still works; the first failure turns it off."""
        if self._live is None and call != self._start:
            return
        try:
            call()
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        """Warns once and lets go of W&B so that it cannot hold up the end of this process either."""
        self._live = None
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        warn(f"warning: W&B failed ({reason}); the run goes on, {self._run.metrics.path} has everything")
        if self._wandb is None:
            return
        # It takes back what it would do, and wait for, at the end of this process.
        if isinstance(_within(TEARDOWN_TIMEOUT_S, self._wandb.teardown), TimeoutError):
            _end_service()


def _within(seconds: float, call: Callable[[], Any]) -> BaseException | None:
    """What `call` raised, None if nothing; a TimeoutError if it is not done in time (it then goes on alone)."""
    outcome: list[BaseException | None] = []

    def work() -> None:
        try:
            call()
            outcome.append(None)
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work, name="wandb", daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[0] if outcome else TimeoutError(f"no answer within {seconds:.0f} s")


def _end_service() -> None:
    """Ends W&B's service process if it is a child of this one; what it has stored can still be synced."""
    import psutil

    for child in psutil.Process().children():
        try:
            if child.name().startswith("wandb-core"):
                child.kill()
                child.wait(5)
        except psutil.Error:
            continue


def _wandb_id(run: Run) -> str:
    """The id of the W&B run that belongs to this one, made at the first call."""
    path = run.path / "wandb.json"
    try:
        stored = json.loads(path.read_text())["id"]
        if re.fullmatch(r"[\w-]{1,64}", stored):
            return str(stored)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none yet, or damaged: W&B then has this run in two parts
    made = uuid.uuid4().hex[:12]
    with replacing(path) as file:
        file.write(json.dumps({"id": made}).encode() + b"\n")
    return made


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))
