"""What the actors of every method have in common: the runtime that carries them, and how all are saved and restored."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from actors.remote import Handle, InlineRuntime, RayRuntime, Runtime
from dancfr.options import TrainOptions


class Crew(ABC):
    """The actors of a run.

    Coordinators and buffers ask for no CPU: they wait most of the time, and on a machine of two cores everything has
    to fit beside two workers.

    Args:
        options: Where and with how many workers.
    """

    def __init__(self, options: TrainOptions) -> None:
        self.runtime: Runtime = make_runtime(options)
        self.evaluation: Handle | None = None

    @abstractmethod
    def files(self, folder: Path) -> list[tuple[Handle, Path]]:
        """The actors that have a state, and where in a checkpoint's folder each writes it."""

    @abstractmethod
    def enter(self, game: Any) -> None:
        """From now on this game is played, the next one of a curriculum."""

    def save(self, folder: Path) -> None:
        """Every buffer and learner writes its file into the checkpoint's folder, all at the same time."""
        self.runtime.get([handle.call("save", str(path)) for handle, path in self.files(folder)])

    def load(self, folder: Path) -> None:
        """Reverse of `save`."""
        self.runtime.get([handle.call("load", str(path)) for handle, path in self.files(folder)])

    def close(self) -> None:
        """Ends all actors."""
        self.runtime.shutdown()


def make_runtime(options: TrainOptions) -> Runtime:
    """Inline, or on Ray."""
    return InlineRuntime() if options.inline else RayRuntime(address=options.address, workers=options.workers)
