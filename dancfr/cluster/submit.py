"""`dancfr submit`: a training as a job of a Ray cluster. What can be known to fail is checked before anything is sent.

The job's program runs on the cluster's head node. Its run folder lies there too, outside of the folder that
Ray makes for the job, which goes when the job's files are cleared away.
"""

import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from dancfr.cluster.job_client import STOP_SECONDS, Server, connection, follow, reach
from dancfr.cluster.packing import check_tree, list_tree, pack
from dancfr.errors import RunError, UsageError, warn
from dancfr.methods.launch import find_preset
from dancfr.runs.config import apply_overrides

RUNS = "~/dancfr-runs"
"""Where runs lie on the head node, if they are named without a folder."""

_NAME = re.compile(r"[\w@%+=:,.-]+", flags=re.ASCII)


@dataclass(frozen=True)
class SubmitRequest:
    """What `dancfr submit` was asked.

    Attributes:
        preset: Name of a preset.
        overrides: ``key=value`` settings.
        run_dir: Name of the run, or a folder on the head node that starts with / or ~/; empty makes a name.
        resume: Go on with that run.
        workers: Workers that play; None takes as many as the cluster has CPUs.
        device: ``cpu``, ``cuda`` or ``auto``, on the cluster.
        wandb: ``online``, ``offline``, ``off``; None chooses by what is configured on the cluster.
        address: URL of the cluster's dashboard; None takes RAY_API_SERVER_ADDRESS, else this machine's.
        working_dir: Folder to send along; None sends the checkout that this program runs from, and nothing
            if it is installed, since then the cluster has it installed too.
        follow: Print the job's log until it ends.
        allow_changes: A resumed run may go on under other settings than it was started with.
    """

    preset: str
    overrides: Sequence[str] = ()
    run_dir: str = ""
    resume: bool = False
    workers: int | None = None
    device: str = "auto"
    wandb: str | None = None
    address: str | None = None
    working_dir: Path | None = None
    follow: bool = True
    allow_changes: bool = False


def submit(request: SubmitRequest) -> dict[str, Any]:
    """Checks, packs, submits and follows; the job's id, address, run folder, command and last known status.

    Raises:
        UsageError: a setting, the run folder, the tree, the address or the token is wrong; nothing was sent.
        RunError: the cluster refused the job, or the job failed.
    """
    check_settings(request)
    folder = run_folder(request.run_dir, request.preset, request.resume)
    tree = request.working_dir or _checkout()
    if tree is None:
        server = reach(request.address)
        job = _send(server, request, folder, None)
    else:
        listing = list_tree(tree)
        check_tree(tree, listing)
        server = reach(request.address)
        with tempfile.TemporaryDirectory(prefix="dancfr-") as scratch:
            archive = Path(scratch) / "tree.zip"
            pack(tree, listing, archive)
            job = _send(server, request, folder, archive)
    result = {"job": job, "address": server.address, "run_dir": folder, "entrypoint": command(request, folder)}
    if not request.follow:
        return {**result, "status": "PENDING"}
    warn(f"{job} trains {request.preset} in {folder} on the head node; Ctrl-C leaves it alone")
    try:
        return {**result, "status": follow(server, job)}
    except KeyboardInterrupt:
        return {**result, "status": "RUNNING"}


def check_settings(request: SubmitRequest) -> None:
    """Whether `dancfr train` would take the preset and the settings.

    What a resumed run was started with is known on the cluster only, so there names and values alone are checked.

    Raises:
        UsageError: it would not.
    """
    config = apply_overrides(find_preset(request.preset).config, request.overrides)
    if not request.resume:
        config.check()
    if request.allow_changes and not request.resume:
        raise UsageError("--allow-changes is for a run that goes on: it needs --resume")
    if request.workers is not None and request.workers < 1:
        raise UsageError(f"--workers must be at least 1, not {request.workers}")


def run_folder(named: str, preset: str, resume: bool = False) -> str:
    """The run's folder on the head node: absolute, or from ``~/`` on, which means the home of who started Ray.

    Raises:
        UsageError: it would lie in the job's own folder, which does not last; or a run to resume is not named.
    """
    if not named:
        if resume:
            raise UsageError("--resume needs --run-dir; `dancfr jobs` lists the runs of this cluster's jobs")
        return f"{RUNS}/{preset}-{datetime.now():%Y%m%d-%H%M%S}"
    lasting = named.startswith(("/", "~/")) and named.rstrip("/") not in ("", "~")
    if lasting and named.isprintable() and ".." not in named.split("/"):
        return named.rstrip("/")
    if _NAME.fullmatch(named) and named not in (".", ".."):
        return f"{RUNS}/{named}"
    raise UsageError(
        f"--run-dir {named} would lie in the job's own folder, which goes with the job: give a name, which is put "
        f"below {RUNS} on the head node, or a folder below / or ~/"
    )


def command(request: SubmitRequest, folder: str) -> str:
    """What the head node's shell runs; `folder` is that of the run."""
    words = ["exec", "python", "-m", "dancfr", "train", request.preset, *request.overrides]
    words += ["--device", request.device]
    if request.workers is not None:
        words += ["--workers", str(request.workers)]
    if request.wandb is not None:
        words += ["--wandb", request.wandb]
    if request.resume:
        words.append("--resume")
    if request.allow_changes:
        words.append("--allow-changes")
    home = folder.startswith("~/")  # the shell there knows whose home
    place = "~/" + shlex.quote(folder[2:]) if home else shlex.quote(folder)
    return f"{shlex.join(words)} --run-dir {place}"


def _checkout() -> Path | None:
    """The checkout that this program runs from; None where it is installed."""
    from actors.cluster import ROOT, installed

    return None if installed() else ROOT


def _send(server: Server, request: SubmitRequest, folder: str, archive: Path | None) -> str:
    environment: dict[str, Any] = {"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": str(STOP_SECONDS)}}
    if archive is not None:
        environment["working_dir"] = str(archive)
    with connection(server) as client:
        try:
            job: str = client.submit_job(
                entrypoint=command(request, folder),
                runtime_env=environment,
                metadata={"preset": request.preset, "run_dir": folder},
            )
        except ValueError as error:
            raise RunError(f"{server.address} refused the job: {' '.join(str(error).split())[:300]}") from error
    return job
