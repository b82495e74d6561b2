"""The commands `submit` and `jobs`, which start trainings on a Ray cluster, and list, stop and read them."""

from datetime import datetime
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
    Resume,
    TensorBoard,
    app,
    check_training,
    choose,
    command_names,
    refuse_options,
)
from dancfr.errors import UsageError

Address = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Dashboard of the cluster; default: RAY_API_SERVER_ADDRESS, else http://127.0.0.1:8265."
    ),
]


@app.command(cls=Command)
def submit(
    preset: Preset,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings to change in the preset.")
    ] = None,
    run_dir: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Name of the run, or a path on the head node that starts with / or ~/; default: PRESET-TIME, "
            "with game=: PRESET-GAME-TIME.",
        ),
    ] = "",
    resume: Resume = False,
    allow_changes: AllowChanges = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of workers; default: the CPUs of the cluster.")
    ] = None,
    device: Device = "auto",
    wandb: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="W&B: online, offline or off; default: online if the cluster has a key."),
    ] = None,
    tensorboard: TensorBoard = False,
    address: Address = None,
    working_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder to send; default: the checkout that dancfr runs from, if any."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Print the job's log until it ends.")] = True,
    as_json: Json = False,
) -> None:
    """Train a preset as a job of a Ray cluster."""
    if found := submits_no_command(preset):
        raise UsageError(found)
    check_training(device, wandb)
    refuse_options(overrides or ())

    def compute() -> output.Result:
        from dancfr.cluster.submit import SubmitRequest
        from dancfr.cluster.submit import submit as send

        wanted = SubmitRequest(
            preset,
            overrides or (),
            run_dir,
            resume,
            workers,
            device,
            wandb,
            address,
            working_dir,
            follow,
            allow_changes,
            tensorboard,
        )
        return send(wanted)

    def describe(result: output.Result) -> str:
        lines = [f"{result['job']}: {result['status'].lower()}, run folder {result['run_dir']} on the head node"]
        if result["status"] in ("PENDING", "RUNNING"):
            lines.append(f"  log: dancfr jobs logs {result['job']}    stop: dancfr jobs stop {result['job']}")
        elif result["status"] == "SUCCEEDED":
            lines.append(f"  there: dancfr evaluate, report or pack {result['run_dir']}")
        else:
            lines.append(f"  continue it: {result['continuation']}")
        return "\n".join(lines)

    output.deliver(compute, as_json, describe)


def submits_no_command(name: str) -> str:
    """Returns the message for `dancfr submit NAME` if this is the name of a command, else nothing."""
    if name not in command_names():
        return ""
    cure = (
        f"send the command itself by `ray job submit --working-dir . -- python -m dancfr {name} ...`, with folders "
        "that start with / (docs/how-to/cluster.md)"
    )
    if name in ("train", "submit"):
        cure = "write dancfr submit PRESET"
    return f"submit takes the name of a preset, which it trains, and {name} is a command: {cure}"


@app.command(cls=Command)
def jobs(
    action: Annotated[str, typer.Argument(metavar="[list|stop|logs]", help="Action; default: list.")] = "list",
    job: Annotated[str, typer.Argument(metavar="[JOB]", help="Id of the job to stop, or whose log to print.")] = "",
    address: Address = None,
    as_json: Json = False,
) -> None:
    """List the jobs of a cluster, stop one, or print its log."""
    choose("the first argument of jobs", action, ("list", "stop", "logs"))
    if (action == "list") != (job == ""):
        raise UsageError("jobs list takes no job" if job else f"the job is missing: dancfr jobs {action} JOB")

    def compute() -> output.Result:
        from dancfr.cluster import job_client

        server = job_client.reach(address)
        if action == "stop":
            return {"job": job, "status": job_client.stop_job(server, job)}
        if action == "logs":
            return {"job": job, "log": job_client.job_log(server, job)}
        return {"address": server.address, "jobs": job_client.list_jobs(server)}

    def describe(result: output.Result) -> str:
        if "log" in result:
            return str(result["log"]).removesuffix("\n")
        if "jobs" not in result:
            return f"{result['job']}: {result['status'].lower()}"
        if not result["jobs"]:
            return f"{result['address']} has no jobs"
        rows = [{**row, "started": f"{datetime.fromtimestamp(row['started']):%m-%d %H:%M}"} for row in result["jobs"]]
        return output.table(rows, ["job", "status", "started", "command", "preset", "run_dir"])

    output.deliver(compute, as_json, describe)
