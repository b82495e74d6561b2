"""The command `dancfr train`, which trains a preset on this machine or on a Ray cluster."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import (
    AllowChanges,
    Command,
    Device,
    Json,
    Preset,
    RayAddress,
    Resume,
    TensorBoard,
    app,
    check_training,
    refuse_options,
)
from dancfr.cluster import CONTINUE
from dancfr.errors import UsageError, warn


@app.command(cls=Command)
def train(
    preset: Preset,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE",
            help="Settings to change in the preset, e.g. seed=7 minutes=2, which is time of training by the clock, "
            "without start-up and evaluations; `dancfr presets PRESET` lists all.",
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
    address: RayAddress = None,
    device: Device = "auto",
    wandb: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="W&B mode: online, offline or off; default: online if a key is configured."),
    ] = None,
    tensorboard: TensorBoard = False,
    inline: Annotated[bool, typer.Option("--inline", help="Run everything in this process, without Ray.")] = False,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Serve the Ray dashboard, on 127.0.0.1 only.")] = False,
    as_json: Json = False,
) -> None:
    """Train a preset; Ctrl-C stops it, and --resume continues it."""
    check_training(device, wandb)
    refuse_options(overrides or ())
    if dashboard and inline:
        raise UsageError("--dashboard requires a Ray that this command starts: leave out --inline")

    def compute() -> output.Result:
        from dancfr.agents.trained import train

        result = train(
            preset,
            overrides or (),
            run_dir=run_dir,
            resume=resume,
            allow_changes=allow_changes,
            inline=inline,
            workers=workers,
            address=address,
            device=device,
            wandb=wandb,
            tensorboard=tensorboard,
            dashboard=dashboard,
        ).result
        if result["stopped"]:
            done = f"after iteration {result['iterations']}" if result["iterations"] else "before the first iteration"
            given = {"--inline": inline, f"--device {device}": device != "auto", f"--address {address}": address}
            again = " ".join(["--resume", *(words for words, chosen in given.items() if chosen)])
            here = f"dancfr train {preset} --run-dir {shlex.quote(result['run_dir'])} {again}"
            warn(f"stopped {done}; continue with: {os.environ.get(CONTINUE, here)}")
        return result

    output.deliver(compute, as_json, output.describe_training)
