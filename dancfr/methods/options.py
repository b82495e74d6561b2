"""Where and how a training runs: all that does not change what it computes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dancfr.errors import UsageError
from dancfr.evaluation.bots import make_bot


@dataclass(frozen=True)
class TrainOptions:
    """Options of `dancfr train` that are no part of the configuration.

    Attributes:
        workers: Workers that play games; None takes as many as there are CPUs.
        address: Ray to join (``auto``, ``host:port``); None starts one on this machine.
        device: Where nets are trained, ``cpu`` or ``cuda``.
        inline: Everything in this process, without Ray.
        resume: Go on from the newest checkpoint of the run.
        progress: Show progress on standard error.
        dashboard: Serve the dashboard of a Ray that is started here.
        make_agent: ``make_agent(name, game)`` is the agent of that name, for methods that train against others. The
            command line passes `dancfr.agents.by_name.make_agent`; alone, only bots are known.
    """

    workers: int | None = None
    address: str | None = None
    device: str = "cpu"
    inline: bool = False
    resume: bool = False
    progress: bool = True
    dashboard: bool = False
    make_agent: Callable[[str, Any], Any] = make_bot


def resolve_device(name: str) -> str:
    """``cpu`` or ``cuda`` for ``cpu``, ``cuda`` or ``auto``.

    Raises:
        UsageError: CUDA was asked for and there is none.
    """
    from learners.training import choose_device

    try:
        return choose_device(name).type
    except ValueError as error:
        raise UsageError(str(error)) from None
