"""`python -m dancfr.bench.gpu FOLDER [MINUTES]`, or `make gpu`: everything that only a machine with a GPU can show.

The parts, in order of importance: the tests that need a GPU; rates of every learner and every playing loop on the GPU
and by one process on the CPU of the same machine; DREAM on Geister for 14 minutes; a quarter of an hour of GuanDan; the
siblings of the first.
A part that fails does not keep the others from being done, and the next call tries it again. A part that is complete
is not repeated, and an interrupted training resumes, so the command may be stopped and started again. After each part
it writes `FOLDER/tables.md`.
"""

import json
import math
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

from dancfr.bench.timing import rate, seconds_each
from dancfr.errors import DancfrError, RunError, UsageError, printable, reason, warn
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions, resolve_device
from dancfr.methods.stopping import stop_signals
from dancfr.runs.run import Run
from learners.devices import choose_device

RATE = "_per_second"
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Training:
    """A training on the GPU.

    Attributes:
        preset: Name of the preset, and of the folder.
        changes: Settings that differ from the preset.
        minutes: Most minutes of training; None: what is left.
    """

    preset: str
    changes: tuple[str, ...] = ()
    minutes: float | None = None


@dataclass(frozen=True)
class Plan:
    """The work planned for a machine.

    Attributes:
        rates: Presets whose rates are measured, with settings for the GPU: chunks of thousands of games.
        rate_minutes: Minutes of training for each of them on each device.
        trainings: In this order, as far as time goes.
        tests: Arguments for pytest.
        size: Size of the square matrix product that rates are compared with.
    """

    rates: tuple[Training, ...]
    rate_minutes: float
    trainings: tuple[Training, ...]
    tests: tuple[str, ...] = ("-m", "cuda", "tests")
    size: int = 8192


class StoppedError(RunError):
    """The user has stopped a training."""


GEISTER = ("chunk=1920",)
GUANDAN = ("games=4096", "chunk=512", "tables=512", "pool=196608", "training.batch=8192")
FULL = Plan(
    rates=(
        Training("geister-dream", ("chunk=1920", "reservoir=400000", "circular=400000")),
        Training("geister-quick", ("chunk=128",)),
        Training("geister-policy-gradient-quick"),
        Training("geister-belief-search-quick"),
        Training("goofspiel5-values", ("evaluation.every=1000000",)),
        Training("guandan-dmc", ("games=64", "chunk=32", "tables=32")),
        Training("guandan-strong", ("games=1024", "chunk=128", "tables=128", "pool=49152")),
    ),
    rate_minutes=0.5,
    trainings=(
        Training("geister-dream", GEISTER, 14.0),
        Training("guandan-strong", (*GUANDAN, "training.schedule=800"), 15.0),
        Training("geister-dream-10240", ("chunk=2560",)),
        Training("geister-dream-3840", GEISTER),
        Training("geister-dream-no-baseline", GEISTER),
    ),
)


class Session:
    """One run of the command.

    Args:
        folder: Where everything is written.
        plan: What to do.
        minutes: Minutes for all of it.
    """

    def __init__(self, folder: Path, plan: Plan, minutes: float) -> None:
        self.folder, self.plan = folder, plan
        self._end = monotonic() + 60 * minutes
        self._file = folder / "parts.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.parts: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}
            tables(self.parts)
        except OSError as error:
            raise UsageError(f"{folder} cannot be used: {reason(error)}; name another folder") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(f"{self._file} is damaged: remove it, and every part is done again") from None

    def run(self) -> None:
        """Does every part that is not complete; stops between two parts when the time is over."""
        self._part("tests", self._test)
        self._part("product", self._product)
        for each in self.plan.rates:
            for device in ("cuda", "cpu"):
                self._part(f"rates {each.preset} {device}", self._rates, each, device)
        for each in self.plan.trainings:
            self._part(f"train {each.preset}", self._train, each)

    def left(self) -> float:
        """Minutes that are left."""
        return (self._end - monotonic()) / 60

    def _part(self, name: str, do: Any, *arguments: Any) -> None:
        if self.parts.get(name, {}).get("complete"):
            return
        if self.left() <= 0:
            warn(f"no time for: {name}")
            return
        warn(f"{name} ...")
        started = monotonic()
        try:
            found = do(*arguments)
        except StoppedError:
            raise
        except Exception as error:  # whatever it is, the other parts are worth having; the next call tries again
            if not isinstance(error, DancfrError):
                traceback.print_exc()
            failure = printable(str(error).partition("\n")[0]) or type(error).__name__
            warn(f"{name} has failed: {failure}")
            found = {"complete": False, "failure": failure}
        self.parts[name] = {"complete": True, "seconds": round(monotonic() - started, 1), **found}
        written = self._file.with_suffix(".new")
        written.write_text(json.dumps(self.parts, indent=1) + "\n")
        written.replace(self._file)
        (self.folder / "tables.md").write_text(tables(self.parts))

    def _test(self) -> dict[str, Any]:
        """Runs the tests that need a GPU, in a process of their own."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *self.plan.tests]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        (self.folder / "tests.txt").write_text(done.stdout + done.stderr)
        summary = (done.stdout.strip().splitlines() or ["no output"])[-1]
        return {"complete": done.returncode == 0, "summary": summary}

    def _product(self) -> dict[str, Any]:
        """FLOP/s of a large matrix product on each device, by precision."""
        import torch

        size, found = self.plan.size, {}
        for name, precision in (("cuda", "float32"), ("cuda", "bfloat16"), ("cpu", "float32")):
            device = choose_device(name)
            n = size if device.type == "cuda" else min(size, 2048)
            a, b = (torch.rand(n, n, device=device, dtype=getattr(torch, precision)) for _ in range(2))

            def product(a: torch.Tensor = a, b: torch.Tensor = b) -> None:
                (a @ b)[0, 0].item()  # waits for the device

            times = seconds_each({"product": product}, 3.0, clock=monotonic)["product"]
            found[f"{name} {precision}"] = rate(2 * n**3, times)
        return {"flops": found, "device": _name_of_gpu()}

    def _rates(self, training: Training, device: str) -> dict[str, Any]:
        """Trains for a short while; returns the median of each rate in the second half of the iterations."""
        path = self.folder / "rates" / f"{training.preset}-{device}"
        changes = self.rate_changes(training)
        self._start_or_resume(path, training.preset, changes, device)
        rows = Run.open(path).read_metrics("train")
        late = rows[len(rows) // 2 :]
        keys = sorted({key for row in late for key in row if key.endswith(RATE)})
        return {"rates": {key: median(row[key] for row in late if key in row) for key in keys}, "iterations": len(rows)}

    def rate_changes(self, training: Training) -> tuple[str, ...]:
        """Settings of a training that only measures rates: short, and without evaluations but where they are needed."""
        return ("evaluation.every=0", *training.changes, f"minutes={self.plan.rate_minutes}")

    def _train(self, training: Training) -> dict[str, Any]:
        """A training until its end, or its minutes, or those that are left; in the last case it is not complete."""
        path = self.folder / "runs" / training.preset
        spent, goal = _minutes_of(path), training.minutes or math.inf
        changes = (*training.changes, f"minutes={min(goal, spent + self.left())}")
        result = self._start_or_resume(path, training.preset, changes, "cuda")
        run, spent = Run.open(path), _minutes_of(path)
        rows = run.read_metrics()
        evaluations = [row for row in rows if row["kind"] == "evaluation"]
        last = max((row["iteration"] for row in evaluations), default=0)
        won = {
            f"{row['policy']} v {row['opponent']}": row["win_rate"] for row in evaluations if row["iteration"] == last
        }
        ended = result["iterations"] >= run.info["config"]["iterations"] or spent >= goal
        return {"iterations": result["iterations"], "win rates": won, "seconds": 60 * spent, "complete": ended}

    def _start_or_resume(self, path: Path, preset: str, changes: Sequence[str], device: str) -> dict[str, Any]:
        resume = (path / "config.json").exists()
        options = TrainOptions(device=device, inline=True, resume=resume)
        result = train(TrainRequest(preset, changes, path, "off", options, allow_changes=resume))
        if result["stopped"]:
            raise StoppedError(f"stopped in {path}; repeat the command to continue")
        return result


def _minutes_of(path: Path) -> float:
    """Minutes of training of a run so far."""
    rows = Run.open(path).read_metrics("train") if (path / "config.json").exists() else []
    return rows[-1]["elapsed_s"] / 60 if rows else 0.0


def tables(parts: dict[str, Any]) -> str:
    """All parts so far as Markdown."""
    failed = {name: part["failure"] for name, part in parts.items() if "failure" in part}
    parts = {name: part for name, part in parts.items() if name not in failed}
    lines = []
    if "product" in parts:
        lines += [f"Device: {parts['product']['device']}", "", "| matrix product | TFLOP/s |", "|---|---|"]
        lines += [f"| {name} | {flops / 1e12:.2f} |" for name, flops in parts["product"]["flops"].items()]
    if "tests" in parts:
        lines += ["", f"Tests that need a GPU: {parts['tests']['summary']}"]
    measured = {name.split()[1] for name in parts if name.startswith("rates ")}
    if measured:
        lines += ["", "| preset | rate | GPU | one process on the CPU | ratio |", "|---|---|---|---|---|"]
    for preset in sorted(measured):
        gpu, cpu = (parts.get(f"rates {preset} {device}", {}).get("rates", {}) for device in ("cuda", "cpu"))
        for key in sorted(gpu.keys() & cpu.keys()):
            name, ratio = key.removesuffix(RATE), gpu[key] / max(cpu[key], 1e-9)
            lines.append(f"| `{preset}` | {name} | {gpu[key]:,.0f}/s | {cpu[key]:,.0f}/s | {ratio:.2f} |")
    trained = {name.split()[1]: part for name, part in parts.items() if name.startswith("train ")}
    if trained:
        lines += ["", "| training | iterations | minutes | win rates at the end |", "|---|---|---|---|"]
    for preset, part in trained.items():
        won = ", ".join(f"{name} {100 * rate:.1f} %" for name, rate in part["win rates"].items())
        name = f"`{preset}`" if part["complete"] else f"`{preset}`, not at its end"
        lines.append(f"| {name} | {part['iterations']} | {part['seconds'] / 60:.1f} | {won} |")
    if failed:
        lines += ["", *(f"- {name} has failed: {failure}" for name, failure in failed.items())]
    return "\n".join(lines) + "\n"


def _name_of_gpu() -> str:
    import torch

    device = choose_device("cuda")
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"{device} in place of a GPU"


def main(arguments: Sequence[str]) -> None:
    """The command line: the folder, and the minutes for all of it (40)."""
    if not 1 <= len(arguments) <= 2 or not arguments[0] or arguments[0].startswith("-"):
        raise UsageError("give a folder and, if not 40, the minutes: python -m dancfr.bench.gpu FOLDER [MINUTES]")
    try:
        minutes = float(arguments[1]) if len(arguments) == 2 else 40.0
    except ValueError:
        raise UsageError(f"minutes must be a number, got {arguments[1]!r}") from None
    if not 0 < minutes < math.inf:
        raise UsageError(f"minutes must be above 0 and finite, got {arguments[1]}")
    resolve_device("cuda")  # raises UsageError where there is none
    for number in stop_signals()[1:]:
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))  # ends the tests' process too
    session = Session(Path(arguments[0]), FULL, minutes)
    try:
        session.run()
    except KeyboardInterrupt:
        raise RunError(f"stopped; repeat the command to continue in {session.folder}") from None
    print(f"\n{tables(session.parts)}\nEverything: {session.folder}")
    if not session.parts.get("tests", {"complete": True})["complete"]:
        raise RunError(f"tests have failed: see {session.folder / 'tests.txt'}")
    if failed := [name for name, part in session.parts.items() if "failure" in part]:
        raise RunError(f"failed: {', '.join(failed)}; what they printed is above, and the next call tries them again")


if __name__ == "__main__":
    from dancfr.standard_streams import guard_streams

    guard_streams()
    try:
        main(sys.argv[1:])
    except DancfrError as error:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # threads may take a while to end; a second Ctrl-C ends them
        warn(f"dancfr: {error}")
        sys.exit(error.exit_code)
