"""Commands that train on a Ray cluster from elsewhere: `submit`, and `jobs`, which lists, stops and reads."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import AllowChanges, Command, Device, Json, Preset, Resume, app, check_training, choose
from dancfr.errors import UsageError

Address = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="The cluster's dashboard; default: RAY_API_SERVER_ADDRESS, else http://127.0.0.1:8265."
    ),
]


@app.command(cls=Command)
def submit(
    preset: Preset,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings that differ from the preset's.")
    ] = None,
    run_dir: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Name of the run, or a folder on the head node from / or ~/ on; default: ~/dancfr-runs/PRESET-TIME.",
        ),
    ] = "",
    resume: Resume = False,
    allow_changes: AllowChanges = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Workers that play; default: as many as the cluster's CPUs.")
    ] = None,
    device: Device = "auto",
    wandb: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="W&B: online, offline or off; default: online if the cluster has a key."),
    ] = None,
    address: Address = None,
    working_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder to send along; default: the checkout, if this runs from one."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Print the job's log until it ends.")] = True,
    as_json: Json = False,
) -> None:
    """Train a preset as a job of a Ray cluster."""
    check_training(device, wandb)

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
        )
        return send(wanted)

    def describe(result: output.Result) -> str:
        lines = [f"{result['job']}: {result['status'].lower()}, run folder {result['run_dir']} on the head node"]
        if result["status"] in ("PENDING", "RUNNING"):
            lines.append(f"  log: dancfr jobs logs {result['job']}    stop: dancfr jobs stop {result['job']}")
        else:
            lines.append(f"  go on with it: dancfr submit {preset} --run-dir '{result['run_dir']}' --resume")
        return "\n".join(lines)

    output.deliver(compute, as_json, describe)


@app.command(cls=Command)
def jobs(
    action: Annotated[str, typer.Argument(metavar="[list|stop|logs]", help="What to do; default: list.")] = "list",
    job: Annotated[str, typer.Argument(metavar="[JOB]", help="Which job to stop or to read.")] = "",
    address: Address = None,
    as_json: Json = False,
) -> None:
    """List a cluster's jobs, stop one, or print its log."""
    choose("the first argument of jobs", action, ("list", "stop", "logs"))
    if (action == "list") != (job == ""):
        raise UsageError("jobs list takes no job" if job else f"say which: dancfr jobs {action} JOB")

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
            return f"{result['address']} has had no jobs yet"
        rows = [{**row, "started": f"{datetime.fromtimestamp(row['started']):%m-%d %H:%M}"} for row in result["jobs"]]
        return output.table(rows, ["job", "status", "started", "preset", "run_dir"])

    output.deliver(compute, as_json, describe)
