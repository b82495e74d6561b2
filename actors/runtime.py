"""What a driver may ask of the place where its objects live, and the place without Ray: this process.

A driver is written against `Runtime`: it starts objects (`Handle`), calls their methods and passes the
results on as `Ref`s without looking at them. An exception raised in a method travels in its `Ref` and is
raised by `get`, or by the method that is given the ref. `InlineRuntime` does all of it at once in the calling
process; `actors.remote.RayRuntime` makes each object an actor.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Ref: TypeAlias = Any
"""A value that may not be there yet: `InlineRef`, or Ray's `ObjectRef`. Made and resolved by a `Runtime`."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """A value put together from those of several refs, by whoever resolves it with `fetch` or `Runtime.get`.

    Attributes:
        parts: The refs.
        merge: Makes the value from the list of theirs.
    """

    parts: Sequence[Any]
    merge: Callable[[Sequence[Any]], Any]

    def value(self) -> Any:
        """The value, where its parts are in this process."""
        return self.merge([part.value() for part in self.parts])


class WorkerDied(RuntimeError):
    """The process of an actor is gone (killed, out of memory, its machine lost), and its state with it."""


class BlockLost(RuntimeError):
    """A finished result is gone with the machine that held it."""


class ResourcesMissing(RuntimeError):
    """More CPUs or GPUs were asked for than there are. The message is one line."""


class RayLost(RuntimeError):
    """The control service of Ray is gone: nothing new can be started. The message is one line."""


class Halted(RuntimeError):
    """Work that was asked to end early has ended; what it had changed is as it was before."""


class RemoteError(RuntimeError):
    """Stands for an exception of an actor that cannot itself be sent to another process."""


class RemoteTraceback(Exception):
    """Cause of an exception that came from an actor: its traceback there, as text."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


class Handle(Protocol):
    """An object that lives elsewhere (or, inline, here). Handles may be passed to other actors."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    def call(self, method: str, *args: Any, returns: int = 1, **kwargs: Any) -> Any:
        """Calls a method without waiting for it; calls of one caller run in their order.

        Args:
            method: Its name.
            args: Arguments; a `Ref` among them arrives as its value (one inside a list or record stays a
                `Ref`, for `fetch`). Arrays arrive read-only.
            returns: Length of the tuple that the method returns, to hold its items by separate refs.

        Returns:
            One `Ref`, or a tuple of `returns` of them.
        """
        ...

    def ready(self) -> Ref:
        """Ref to None, ready as soon as the object has been made; holds the exception if that failed."""
        ...

    def halt(self) -> None:
        """Asks the object to leave the call it is at, and those behind it: they then raise `Halted`. Returns at once;
        an object whose class has no `halt` goes on."""
        ...


class Runtime(Protocol):
    """Where objects live and how values get from one to another.

    Attributes:
        workers: How many one-core workers a run should start.
        parallel: Whether calls run beside the caller.
    """

    workers: int
    parallel: bool

    def start(
        self,
        factory: Callable[..., Any],
        *args: Any,
        cpus: float = 1.0,
        gpus: float = 0.0,
        name: str = "",
        preflight: bool = True,
        home: bool = False,
        **kwargs: Any,
    ) -> Handle:
        """Makes `factory(*args, **kwargs)` elsewhere. What it raises, `ready` and every call will raise.

        Args:
            cpus: Cores it occupies; 0 for what mostly waits.
            gpus: GPUs it occupies; may be a fraction.
            name: For messages; the name of `factory` by default.
            home: Put it on one machine with all others that say so, if there is room: learners and their buffers,
                between which most data passes.
            preflight: Check that there are so many resources; without it, wait until there are.

        Raises:
            ResourcesMissing: there are not enough CPUs or GPUs; nothing was started.
        """
        ...

    def put(self, value: Any) -> Ref:
        """Stores a value once, to be passed to many calls."""
        ...

    def get(self, refs: Any, timeout: float | None = None) -> Any:
        """Value of a ref, or list of values of a list of refs; waits for them.

        Raises:
            TimeoutError: `timeout` seconds have passed.
            WorkerDied: the actor died before it had finished.
            BlockLost: the value is gone.
            Exception: whatever the method raised, as the same type with the same message, if it can be sent.
        """
        ...

    def wait(self, refs: Sequence[Ref], count: int = 1, timeout: float | None = None) -> list[Ref]:
        """At most `count` refs that are ready, once there are so many or `timeout` seconds have passed.

        Nothing is fetched; a failed ref counts as ready.
        """
        ...

    def stop(self, handle: Handle) -> None:
        """Ends the object at once; its unfinished calls fail with `WorkerDied`. Twice is no error."""
        ...

    def stop_all(self) -> None:
        """Ends all objects; others may be started afterwards."""
        ...

    def check(self) -> None:
        """Raises RayLost where nothing can be started any more."""
        ...

    def shutdown(self) -> None:
        """Ends all objects, and Ray where this runtime had started it."""
        ...


class InlineRef:
    """A value that is there already, or the exception raised in its place."""

    __slots__ = ("_error", "_value")

    def __init__(self, value: Any = None, error: Exception | None = None) -> None:
        self._value = value
        self._error = error

    def value(self) -> Any:
        """The value; raises the exception where there is one."""
        if self._error is not None:
            raise self._error
        return self._value


class InlineHandle:
    """An object in this process whose methods run when they are called."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self._target: Any = None
        self._failure: Exception | None = None
        try:
            self._target = make()
        except Exception as error:
            self._failure = error

    def call(self, method: str, *args: Any, returns: int = 1, **kwargs: Any) -> Any:
        """Runs the method now; see `Handle.call`."""
        try:
            if self._failure is not None:
                raise self._failure
            given = [arg.value() if isinstance(arg, InlineRef) else arg for arg in args]
            named = {key: arg.value() if isinstance(arg, InlineRef) else arg for key, arg in kwargs.items()}
            result = getattr(self._target, method)(*given, **named)
            if returns > 1 and len(result) != returns:
                raise ValueError(f"{self.name}.{method} returned {len(result)} values, not {returns}")
        except Exception as error:
            failed = InlineRef(error=error)
            return failed if returns == 1 else (failed,) * returns
        return InlineRef(result) if returns == 1 else tuple(InlineRef(part) for part in result)

    def ready(self) -> InlineRef:
        """Ref to None, or to what the constructor raised."""
        return InlineRef(error=self._failure)

    def halt(self) -> None:
        """See `Handle.halt`. Nothing runs beside the caller, so there is nothing to leave."""

    def end(self) -> None:
        """Lets go of the object; later calls fail."""
        self._target = None
        self._failure = WorkerDied(f"{self.name} was stopped")


class InlineRuntime:
    """Everything in the calling process, at once: for debugging, tests, and machines without Ray."""

    def __init__(self) -> None:
        self.workers = 1
        self.parallel = False
        self._handles: list[InlineHandle] = []

    def start(
        self,
        factory: Callable[..., Any],
        *args: Any,
        cpus: float = 1.0,
        gpus: float = 0.0,
        name: str = "",
        preflight: bool = True,
        home: bool = False,
        **kwargs: Any,
    ) -> InlineHandle:
        """See `Runtime.start`. Resources are not counted: there is one process, and it is running."""
        given = [arg.value() if isinstance(arg, InlineRef) else arg for arg in args]
        named = {key: arg.value() if isinstance(arg, InlineRef) else arg for key, arg in kwargs.items()}
        handle = InlineHandle(name or name_of(factory), lambda: factory(*given, **named))
        self._handles.append(handle)
        return handle

    def put(self, value: Any) -> InlineRef:
        """See `Runtime.put`; the value is not copied."""
        return InlineRef(value)

    def get(self, refs: Any, timeout: float | None = None) -> Any:
        """See `Runtime.get`."""
        return [ref.value() for ref in refs] if isinstance(refs, list) else refs.value()

    def wait(self, refs: Sequence[Ref], count: int = 1, timeout: float | None = None) -> list[Ref]:
        """See `Runtime.wait`; every ref is ready."""
        return list(refs[:count])

    def stop(self, handle: Handle) -> None:
        """See `Runtime.stop`."""
        for own in self._handles:
            if own is handle:
                own.end()
        self._handles = [own for own in self._handles if own is not handle]

    def stop_all(self) -> None:
        """See `Runtime.stop_all`."""
        for handle in list(self._handles):
            self.stop(handle)

    def check(self) -> None:
        """See `Runtime.check`."""

    def shutdown(self) -> None:
        """See `Runtime.shutdown`."""
        self.stop_all()


def name_of(factory: Callable[..., Any]) -> str:
    """The name of a class or function, for messages."""
    return getattr(factory, "__name__", type(factory).__name__)
