"""Options of a training that do not affect its results, such as the device and the number of workers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from actors import addresses
from dancfr.errors import RunError, UsageError, naming_extras
from dancfr.evaluation.bots import make_bot


@dataclass(frozen=True)
class TrainOptions:
    """Options of `dancfr train` that are not part of the configuration.

    Attributes:
        workers: Number of workers that play games; None: the number of CPUs.
        address: Address of the Ray cluster to join (``auto``, ``host:port``), or ``local``, which starts Ray on this
            machine; None joins the Ray that RAY_ADDRESS names, if it is set, and else is ``local``.
        device: Device that trains nets, ``cpu``, ``cuda`` or ``auto``. On a cluster each learner finds it on its own
            machine.
        inline: Run everything in this process, without Ray.
        resume: Continue from the newest checkpoint of the run.
        kept: Whether the run's folder outlives the command; if not, no message suggests resuming it.
        progress: Show progress on standard error.
        notes: Report the settings of the preset that another game leaves out.
        dashboard: Serve the dashboard, if Ray is started on this machine.
        tensorboard: Write the run's record for TensorBoard, into the folder ``tensorboard`` of the run.
        on_row: Function that gets each row of the record once it is written. An exception that it raises ends the
            training, which can be resumed from its newest checkpoint.
        make_agent: Function ``make_agent(name, game)`` that returns an agent, for methods that train against other
            agents. The command line passes `dancfr.agents.by_name.make_agent`; the default knows bots only.
    """

    workers: int | None = None
    address: str | None = None
    device: str = "cpu"
    inline: bool = False
    resume: bool = False
    kept: bool = True
    progress: bool = True
    notes: bool = True
    dashboard: bool = False
    tensorboard: bool = False
    on_row: Callable[[Mapping[str, Any]], None] | None = None
    make_agent: Callable[[str, Any], Any] = make_bot


def check_place(options: TrainOptions) -> None:
    """Checks where a command runs.

    Raises:
        UsageError: the number of workers is below 1, workers or an address are combined with `inline`, a dashboard is
            wanted of a Ray that is joined, or the address cannot be that of a Ray.
        RunError: no Ray answers at the address.
    """
    if options.workers is not None and options.workers < 1:
        raise UsageError(f"--workers must be at least 1, got {options.workers}")
    if options.inline and (options.workers is not None or options.address is not None):
        raise UsageError("--inline runs in one process: leave out --workers and --address")
    if options.inline:
        return
    choice = addresses.choose(options.address)
    if options.dashboard and choice.address is not None:
        raise UsageError(f"--dashboard requires a Ray that this command starts: leave out --address{choice.cure}")
    try:
        choice.check()
    except addresses.RayUnavailable as error:
        raise (UsageError if isinstance(error, addresses.WrongAddress) else RunError)(str(error)) from error


def joins_cluster(options: TrainOptions) -> bool:
    """Whether a run joins a Ray that may have other machines than this one."""
    return not options.inline and addresses.choose(options.address).address is not None


def resolve_device(name: str) -> str:
    """Resolves ``auto`` to ``cuda`` if a GPU is available, else ``cpu``; returns other names unchanged.

    Raises:
        UsageError: the name is ``cuda`` and no GPU is available.
    """
    with naming_extras():
        from learners.devices import choose_device

    try:
        found = choose_device(name).type
    except ValueError as error:
        raise UsageError(str(error)) from None
    return found if name == "auto" else name
