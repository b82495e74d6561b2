"""`dancfr submit`: trains as a job of a Ray cluster. Everything is checked before anything is sent.

The job's program runs on the head node of the cluster. Its run folder lies there too, outside of the folder that Ray
creates for the job and deletes some time after it.
"""

import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dancfr.cluster import CONTINUE
from dancfr.cluster.job_client import STOP_SECONDS, JobFailed, Server, connection, follow, reach
from dancfr.cluster.packing import check_tree, list_tree, pack
from dancfr.errors import RunError, UsageError, warn
from dancfr.methods import find_preset
from dancfr.runs.config import apply_overrides
from dancfr.runs.folder import default_name

RUNS = "~/dancfr-runs"
"""Folder on the head node for runs that are named without a folder."""

_NAME = re.compile(r"[\w@%+=:,.-]+", flags=re.ASCII)


@dataclass(frozen=True)
class SubmitRequest:
    """The options of `dancfr submit`.

    Attributes:
        preset: Name of a preset.
        overrides: ``key=value`` settings.
        run_dir: Name of the run, or a folder on the head node that starts with / or ~/; empty for a new name.
        resume: Continue that run.
        workers: Number of workers; None means the number of CPUs of the cluster.
        device: ``cpu``, ``cuda`` or ``auto``, on the cluster.
        wandb: ``online``, ``offline`` or ``off``; None decides by the configuration of the cluster.
        address: URL of the cluster's dashboard; None means RAY_API_SERVER_ADDRESS, else this machine's dashboard.
        working_dir: Folder to send. None sends the checkout that this program runs from; an installed program sends
            nothing, since the cluster then has it installed too.
        follow: Print the log of the job until it ends.
        allow_changes: Let a resumed run continue with settings other than those it was started with.
        tensorboard: Write the record for TensorBoard, too, into the run folder on the head node.
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
    tensorboard: bool = False


def submit(request: SubmitRequest) -> dict[str, Any]:
    """Checks the request, packs the tree, submits the job and follows its log.

    Returns:
        ``job`` (its id), ``address``, ``run_dir``, ``entrypoint`` (its command), ``continuation`` (the command that
        continues the run) and ``status`` (the last known one).

    Raises:
        UsageError: A setting, the run folder, the tree, the address or the token is wrong; nothing was sent.
        RunError: The cluster refused the job, or the job failed.
    """
    check_settings(request)
    folder = run_folder(request)
    tree = request.working_dir or _checkout()
    if tree is None:
        server = reach(request.address, warn)
        job = _send(server, request, folder, None)
    else:
        listing = list_tree(tree)
        check_tree(tree, listing)
        server = reach(request.address, warn)
        with tempfile.TemporaryDirectory(prefix="dancfr-") as scratch:
            archive = Path(scratch) / "tree.zip"
            pack(tree, listing, archive)
            warn(f"sending {archive.stat().st_size / 1000:,.0f} kB: {tree}")
            job = _send(server, request, folder, archive)
    result = {
        "job": job,
        "address": server.address,
        "run_dir": folder,
        "entrypoint": command(request, folder),
        "continuation": continuation(request, folder),
    }
    if not request.follow:
        return {**result, "status": "PENDING"}
    warn(f"{job} trains {request.preset} in {folder} on the head node; Ctrl-C does not stop it")
    try:
        return {**result, "status": follow(server, job)}
    except KeyboardInterrupt:
        return {**result, "status": "RUNNING"}
    except JobFailed as error:
        raise JobFailed(f"{error}; continue with: {continuation(request, folder)}") from None
    except RunError as error:
        known = f"`dancfr jobs` shows whether {job} still runs, and `dancfr jobs logs {job}` its log"
        raise RunError(f"{error}; {known}") from None


def check_settings(request: SubmitRequest) -> None:
    """Checks the preset and the settings as `dancfr train` would.

    Of a resumed run, only the names and values of the given settings are checked: the others are on the cluster.

    Raises:
        UsageError: A setting is wrong.
    """
    config = apply_overrides(find_preset(request.preset).config, request.overrides)
    if not request.resume:
        config.check()
    if request.allow_changes and not request.resume:
        raise UsageError("--allow-changes applies to resumed runs only: add --resume or leave out --allow-changes")
    if request.workers is not None and request.workers < 1:
        raise UsageError(f"--workers must be at least 1, got {request.workers}")


def run_folder(request: SubmitRequest) -> str:
    """The folder of the run on the head node: absolute, or below ``~/``, the home folder of the user who started Ray.

    Raises:
        UsageError: The run would lie in the folder of the job, which Ray deletes, or a run to resume is not named.
    """
    named = request.run_dir
    if not named:
        if request.resume:
            raise UsageError("--resume requires --run-dir; `dancfr jobs` lists the runs of this cluster's jobs")
        return f"{RUNS}/{default_name(request.preset, request.overrides)}"
    lasting = named.startswith(("/", "~/")) and named.rstrip("/") not in ("", "~")
    if lasting and named.isprintable() and ".." not in named.split("/"):
        return named.rstrip("/")
    if _NAME.fullmatch(named) and named not in (".", ".."):
        return f"{RUNS}/{named}"
    raise UsageError(
        f"--run-dir {named} would lie in the job's own folder, which Ray deletes after the job: use a name, for a "
        f"folder below {RUNS} on the head node, or a path that starts with / or ~/"
    )


def command(request: SubmitRequest, folder: str) -> str:
    """The command that the shell of the head node runs; `folder` is the run folder."""
    words = ["exec", "python", "-m", "dancfr", "train", request.preset, *request.overrides, *_options(request)]
    if request.resume:
        words.append("--resume")
    if request.allow_changes:
        words.append("--allow-changes")
    home = folder.startswith("~/")  # left to that shell to expand
    quoted = "~/" + shlex.quote(folder[2:]) if home else shlex.quote(folder)
    return f"{shlex.join(words)} --run-dir {quoted}"


def continuation(request: SubmitRequest, folder: str) -> str:
    """The `dancfr submit` that continues the run; its settings are in the run folder."""
    words = ["dancfr", "submit", request.preset, "--run-dir", folder]
    words += _options(request)
    for option, value in (("--address", request.address), ("--working-dir", request.working_dir)):
        words += [] if value is None else [option, str(value)]
    return shlex.join([*words, "--resume"])


def _options(request: SubmitRequest) -> list[str]:
    """The options that `dancfr submit` and `dancfr train` share, but for those that start or continue a run."""
    words = [] if request.device == "auto" else ["--device", request.device]
    if request.workers is not None:
        words += ["--workers", str(request.workers)]
    if request.wandb is not None:
        words += ["--wandb", request.wandb]
    if request.tensorboard:
        words.append("--tensorboard")
    return words


def _checkout() -> Path | None:
    """The checkout that this program runs from; None if it is installed."""
    from actors.packages import ROOT, installed

    return None if installed() else ROOT


def _send(server: Server, request: SubmitRequest, folder: str, archive: Path | None) -> str:
    variables = {"RAY_JOB_STOP_WAIT_TIME_S": str(STOP_SECONDS), CONTINUE: continuation(request, folder)}
    environment: dict[str, Any] = {"env_vars": variables}
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
