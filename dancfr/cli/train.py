"""The command `dancfr train`, which trains a preset on this machine or on a Ray cluster."""

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

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
    integers,
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
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder of the run; default: runs/PRESET-TIME, with game=: runs/PRESET-GAME-TIME."
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="Train one run with each of these seeds, e.g. 1,2,3, in --run-dir, and print their means; the same "
            "command with the same --run-dir continues.",
        ),
    ] = None,
    parallel: Annotated[
        int, typer.Option(metavar="N", help="With --seeds: runs at the same time, in one process each; default: 1.")
    ] = 1,
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
    if seeds is None and parallel != 1:
        raise UsageError("--parallel is the number of runs at the same time: give their --seeds, or leave it out")
    settings, numbers = overrides or (), None if seeds is None else integers("--seeds", seeds)
    where: dict[str, Any] = {"inline": inline, "workers": workers, "address": address, "device": device}
    where |= {"wandb": wandb, "tensorboard": tensorboard}
    if numbers is not None:
        for option, given in (("--resume", resume), ("--allow-changes", allow_changes), ("--dashboard", dashboard)):
            if given:
                raise UsageError(f"with --seeds, the same command again continues: leave out {option}")

    def compute_all() -> output.Result:
        from dancfr.seeds import train_seeds

        return train_seeds(preset, settings, seeds=numbers or (), folder=run_dir, parallel=parallel, **where).as_dict()

    def compute() -> output.Result:
        from dancfr.agents.trained import train

        more: dict[str, Any] = {
            "run_dir": run_dir,
            "resume": resume,
            "allow_changes": allow_changes,
            "dashboard": dashboard,
        }
        result = train(preset, settings, **more, **where).result
        if result["stopped"]:
            done = f"after iteration {result['iterations']}" if result["iterations"] else "before the first checkpoint"
            given = {
                "--inline": inline,
                f"--device {device}": device != "auto",
                f"--address {address}": address,
                f"--workers {workers}": workers is not None,
                f"--wandb {wandb}": wandb is not None,  # a run that was kept from W&B is not sent there later
                "--tensorboard": tensorboard,
            }
            again = " ".join(["--resume", *(words for words, chosen in given.items() if chosen)])
            here = f"dancfr train {preset} --run-dir {shlex.quote(result['run_dir'])} {again}"
            warn(f"stopped {done}; continue with: {os.environ.get(CONTINUE, here)}")
        return result

    if numbers is None:
        output.deliver(compute, as_json, output.describe_training)
    else:
        output.deliver(compute_all, as_json, describe_seeds)


def describe_seeds(result: output.Result) -> str:
    """Formats the result of `dancfr train --seeds`."""
    from dancfr.seeds import described

    runs = [f"{run['run_dir']}: {run['iterations']} iterations" for run in result["runs"]]
    columns = ("measure", "iteration", "mean", "95 % interval", "lowest, highest")
    rows = [
        {"policy": row["policy"], "opponent": row["opponent"] or ""} | dict(zip(columns, described(row), strict=True))
        for row in result["final"]
    ]
    count = len(result["runs"])
    told = [f"last evaluations, means over {count} runs:", output.table(rows, ["policy", "opponent", *columns])]
    paths = " ".join(shlex.quote(run["run_dir"]) for run in result["runs"])
    return "\n".join([*runs, *(told if rows else []), f"curves with bands: dancfr report {paths}"])
