"""The command `dancfr train`, which trains a preset on this machine or on a Ray cluster."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import AllowChanges, Command, Device, Json, Preset, Resume, app, check_training
from dancfr.errors import UsageError, warn


@app.command(cls=Command)
def train(
    preset: Preset,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE",
            help="Settings to change in the preset, e.g. minutes=2 seed=7; `dancfr presets PRESET` lists all.",
        ),
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of the run; default: runs/PRESET-TIME.")
    ] = None,
    resume: Resume = False,
    allow_changes: AllowChanges = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of workers that play; default: the number of CPUs.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Cluster to join (auto, host:port); default: start Ray here."),
    ] = None,
    device: Device = "auto",
    wandb: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="W&B mode: online, offline or off; default: online if a key is configured."),
    ] = None,
    inline: Annotated[bool, typer.Option("--inline", help="Run everything in this process, without Ray.")] = False,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Serve the Ray dashboard, on 127.0.0.1 only.")] = False,
    as_json: Json = False,
) -> None:
    """Train a preset; Ctrl-C stops it, and --resume continues it."""
    check_training(device, wandb)
    for key, _, value in (override.partition("=") for override in overrides or ()):
        if key in ("workers", "address", "device", "wandb", "run_dir", "run-dir"):
            raise UsageError(f"{key} is no setting but an option: --{key.replace('_', '-')} {value}")
    if dashboard and (inline or address is not None):
        raise UsageError("--dashboard requires a Ray that this command starts: leave out --inline and --address")

    def compute() -> output.Result:
        from dancfr.agents.by_name import make_agent
        from dancfr.methods.launch import TrainRequest
        from dancfr.methods.launch import train as launch
        from dancfr.methods.options import TrainOptions

        options = TrainOptions(workers, address, device, inline, resume, dashboard=dashboard, make_agent=make_agent)
        result = launch(TrainRequest(preset, overrides or (), run_dir, wandb, options, allow_changes))
        if result["stopped"]:
            done = f"after iteration {result['iterations']}" if result["iterations"] else "before the first iteration"
            given = {"--inline": inline, f"--device {device}": device != "auto", f"--address {address}": address}
            again = " ".join(["--resume", *(words for words, chosen in given.items() if chosen)])
            folder = shlex.quote(result["run_dir"])
            warn(f"stopped {done}; continue with: dancfr train {preset} --run-dir {folder} {again}")
        return result

    output.deliver(compute, as_json, output.describe_training)
