"""A small game of one's own, and variants of it, for tests of the checks."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.game import States
from envs.kuhn import Kuhn
from envs.kuhn.rules import NONE


@dataclass(frozen=True)
class Own(Kuhn):
    """Kuhn poker whose first action must be a pass, so that there are illegal actions; the base of other classes."""

    changes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "spec", replace(self.spec, name="own", **self.changes))

    def legal(self, states: States) -> NDArray[np.bool_]:
        legal = super().legal(states)
        legal[states["length"] == 0, 1] = False
        return legal


def variant(**methods: Any) -> Callable[[], Any]:
    """Returns a class of `Own` with other methods."""
    return type("Variant", (Own,), methods)


def told(spec: Any = None, **changes: Any) -> Callable[[], Any]:
    """Returns a function that makes an `Own` with other constants."""
    return lambda: Own(changes=changes)


def other(method: str, change: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    """Returns a class of `Own` whose `method` returns `change(right result, first argument)`."""
    right = getattr(Own, method)
    return variant(**{method: lambda self, first, *rest: change(right(self, first, *rest), first)})


def listed(method: str, change: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    """The same, for faults that random games do not show: sent to a worker, it is an `Own`."""
    right = getattr(Own, method)
    changed = lambda self, first, *rest: change(right(self, first, *rest), first)  # noqa: E731
    return variant(**{method: changed, "__reduce__": lambda self: (Own, ())})


def peek(packed: Any, states: States) -> Any:
    """Adds the sum of both cards to the infostate."""
    packed[:, -1] = np.where(states["cards"][:, 1] == NONE, 0, states["cards"].sum(axis=1))
    return packed
