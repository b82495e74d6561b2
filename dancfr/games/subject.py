"""A game that is checked: calls of its methods whose failures become one line each."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dancfr.errors import UsageError, one_line, place_of
from envs.game import Game


class Subject:
    """The game under test, its observations, and how it handled illegal actions."""

    game: Game  # as far as the checks have come

    def __init__(self, name: str, game: Game | None = None) -> None:
        self.name, self.refusal = name, "no action was illegal"
        if game is not None:
            self.game = game
        self.shown: list[int] = []

    def wrong(self, text: str) -> UsageError:
        """Returns the error to raise for a fault of the game."""
        return UsageError(f"game {self.name}: {' '.join(text.split())}")  # records may be printed in several lines

    def attempt(self, what: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Calls a function; whatever the game of someone else raises becomes a UsageError that names the line."""
        try:
            return function(*arguments, **options)
        except UsageError:
            raise
        except (Exception, SystemExit) as error:
            raise self.wrong(f"{what} raised {one_line(error)} ({place_of(error)})") from error

    def array(
        self, method: str, kind: DTypeLike, shape: tuple[Any, ...], *arguments: Any, why: str = ""
    ) -> NDArray[Any]:
        """Calls a method that has to return an array of this type and shape; None in the shape is any length."""
        label = next((f'{method}(..., "{each}")' for each in arguments if isinstance(each, str)), method)
        found = self.attempt(label, getattr(self.game, method), *arguments)
        fits = isinstance(found, np.ndarray) and found.dtype == kind and found.ndim == len(shape)
        if not fits or any(length not in (None, got) for length, got in zip(shape, found.shape, strict=True)):
            lengths = ", ".join("K" if length is None else str(length) for length in shape)
            got = f"{found.dtype}{list(found.shape)}" if isinstance(found, np.ndarray) else type(found).__name__
            raise self.wrong(f"{label} returned {got}, expected {np.dtype(kind)}[{lengths}]{why}")
        if not np.isfinite(found).all():
            raise self.wrong(f"{label} returned numbers that are not finite")
        return np.asarray(found)

    def require(
        self,
        right: NDArray[np.bool_],
        finished: NDArray[np.bool_],
        method: str,
        found: NDArray[Any],
        end: str,
        run: str,
    ) -> None:
        """Refuses the first of B games that is not `right`; `end` and `run` are expected of ended and running games."""
        if (at := np.flatnonzero(~right)).size:
            expected, which = (end, "that has ended") if finished[at[0]] else (run, "that still runs")
            raise self.wrong(f"{method} returned {found[at[0]].tolist()} for a game {which}, expected {expected}")


__all__ = ["Subject"]
