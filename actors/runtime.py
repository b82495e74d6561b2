"""The interface between drivers and Ray, and its implementation without Ray.

A driver uses a `Runtime`: it starts objects, calls their methods through a `Handle`, and passes the results on as
`Ref`s without fetching them. An exception in a method is stored in its `Ref`; `get` raises it, and so does a method
that is given the ref. `InlineRuntime` runs every call directly in the calling process; `actors.remote.RayRuntime` makes
each object an actor.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Ref: TypeAlias = Any
"""A value that may still be being computed: an `InlineRef` or Ray's `ObjectRef`. Only a `Runtime` resolves it."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """A value that is merged from the values of several refs when `fetch` or `Runtime.get` resolves it.

    Attributes:
        parts: The refs.
        merge: Computes the value from the list of the refs' values.
    """

    parts: Sequence[Any]
    merge: Callable[[Sequence[Any]], Any]

    def value(self) -> Any:
        """The value, if the parts are inline refs."""
        return self.merge([part.value() for part in self.parts])


class WorkerDied(RuntimeError):
    """The process of an actor has ended (killed, out of memory, machine lost), and its state is lost."""


class BlockLost(RuntimeError):
    """A finished result was lost with the machine that held it."""


class ResourcesMissing(RuntimeError):
    """More CPUs or GPUs were requested than exist. The message is one line."""


class RayLost(RuntimeError):
    """Ray's control service no longer answers, so no actor can be started. The message is one line."""


class RemoteError(RuntimeError):
    """Replaces an exception of an actor that cannot be pickled."""


class RemoteTraceback(Exception):
    """The traceback of an exception in an actor, as text; set as the cause of the exception in the caller."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


class Saved(Protocol):
    """An object whose state a checkpoint holds."""

    def save(self, path: str) -> Any:
        """Writes the state to a file."""
        ...

    def load(self, path: str) -> Any:
        """Restores the state from a file that `save` has written."""
        ...


class Handle(ABC, Generic[T_co]):
    """An object of class `T` in another process, or inline in this one. Handles can be passed to other actors.

    A call names the function, as in ``learner.call(LearnerServer.weights, 0)``, so that type checkers compare the
    arguments with its signature and editors find the call from the function. An object of a subclass of `T` runs its
    own version of the method.

    Attributes:
        name: Name of the object in messages.
    """

    name: str

    def call(self, method: Callable[Concatenate[T_co, P], Any], /, *args: P.args, **kwargs: P.kwargs) -> Ref:
        """Calls a method without waiting for its result. The calls of one caller run in their order.

        Args:
            method: The method, as an attribute of its class.
            args, kwargs: Arguments. A `Ref` among them arrives as its value, arrays read-only. A `Ref` within a list or
                record stays a `Ref`, for `fetch`.
        """
        return self.send(method.__name__, args, kwargs)

    def call_pair(
        self, method: Callable[Concatenate[T_co, P], tuple[Any, Any]], /, *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Ref, Ref]:
        """Calls a method that returns a pair, each item of which gets a ref of its own; otherwise like `call`."""
        small, large = self.send(method.__name__, args, kwargs, returns=2)
        return small, large

    @abstractmethod
    def send(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], returns: int = 1) -> Any:
        """Calls a method by its name, for `call` and `call_pair`.

        Returns:
            One `Ref`, or a tuple of `returns` refs, one for each item of the tuple that the method returns.
        """

    @abstractmethod
    def ready(self) -> Ref:
        """A ref to None that is ready once the object has been created, or to the exception of its constructor."""


class Runtime(Protocol):
    """Starts objects and carries values between them.

    Attributes:
        workers: Number of one-core workers that a run should start.
        parallel: Whether calls run concurrently with the caller.
        processes: Whether objects have processes of their own, on Ray.
        gpus: GPUs that objects may be given.
    """

    workers: int
    parallel: bool
    processes: bool

    @property
    def gpus(self) -> float: ...

    def start(
        self,
        factory: Callable[..., T],
        *args: Any,
        cpus: float = 1.0,
        gpus: float = 0.0,
        name: str = "",
        preflight: bool = True,
        home: bool = False,
        **kwargs: Any,
    ) -> Handle[T]:
        """Creates `factory(*args, **kwargs)` as an object of its own. `ready` and every call raise its exception.

        Args:
            cpus: CPUs of the object; 0 for one that mostly waits.
            gpus: GPUs of the object; may be a fraction.
            name: Name in messages; by default that of `factory`.
            home: Place the object on the machine of all others with this option, if its resources allow: learners and
                their buffers, which exchange most data.
            preflight: Check that the resources exist; otherwise wait until they do.

        Raises:
            ResourcesMissing: There are too few CPUs or GPUs; nothing was started.
        """
        ...

    def put(self, value: Any) -> Ref:
        """Stores a value that many calls will use."""
        ...

    def get(self, refs: Any, timeout: float | None = None) -> Any:
        """Waits for a ref or a list of refs, and returns the value or the list of values.

        Raises:
            TimeoutError: `timeout` seconds have passed.
            WorkerDied: The actor died before the call had finished.
            BlockLost: The value was lost.
            Exception: The exception of the method, with the same type and message if it can be pickled.
        """
        ...

    def wait(self, refs: Sequence[Ref], count: int = 1, timeout: float | None = None) -> list[Ref]:
        """Waits until `count` refs are ready or `timeout` seconds have passed, and returns at most `count` ready refs.

        Does not fetch values. A failed ref is ready.
        """
        ...

    def stop(self, handle: Handle[Any]) -> None:
        """Ends the object immediately; its unfinished calls fail with `WorkerDied`. May be called twice."""
        ...

    def stop_all(self) -> None:
        """Ends all objects. New ones can be started afterwards."""
        ...

    def check(self) -> None:
        """Raises RayLost if Ray's control service has been lost."""
        ...

    def shutdown(self) -> None:
        """Ends all objects, and Ray if this runtime has started it."""
        ...


class InlineRef:
    """A computed value, or the exception that was raised instead."""

    __slots__ = ("_error", "_value")

    def __init__(self, value: Any = None, error: Exception | None = None) -> None:
        self._value = value
        self._error = error

    def value(self) -> Any:
        """Returns the value or raises the exception."""
        if self._error is not None:
            raise self._error
        return self._value


def _values(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments with the values of the refs among them."""
    return [_value(arg) for arg in args], {key: _value(arg) for key, arg in kwargs.items()}


def _value(arg: Any) -> Any:
    return arg.value() if isinstance(arg, InlineRef) else arg


class InlineHandle(Handle[T]):
    """An object in this process, whose methods run when they are called."""

    def __init__(self, name: str, make: Callable[[], T]) -> None:
        self.name = name
        self._target: T | None = None
        self._failure: Exception | None = None
        try:
            self._target = make()
        except Exception as error:
            self._failure = error

    def send(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], returns: int = 1) -> Any:
        """Runs the method now; see `Handle.send`."""
        try:
            if self._failure is not None:
                raise self._failure
            given, named = _values(args, kwargs)
            result = getattr(self._target, method)(*given, **named)
            if returns > 1 and len(result) != returns:
                raise ValueError(f"{self.name}.{method} returned {len(result)} values, not {returns}")
        except Exception as error:
            failed = InlineRef(error=error)
            return failed if returns == 1 else (failed,) * returns
        return InlineRef(result) if returns == 1 else tuple(InlineRef(part) for part in result)

    def ready(self) -> InlineRef:
        """See `Handle.ready`."""
        return InlineRef(error=self._failure)

    def end(self) -> None:
        """Drops the object; later calls fail."""
        self._failure = WorkerDied(f"{self.name} was stopped")
        self._target = None


class InlineRuntime:
    """Runs every call directly in the calling process: for debugging, tests, and machines without Ray.

    Attributes:
        handle: Class of the handles.
    """

    handle: type[InlineHandle[Any]] = InlineHandle

    def __init__(self) -> None:
        self.workers = 1
        self.parallel, self.processes = False, False
        self.gpus = 0.0
        self._handles: list[InlineHandle[Any]] = []

    def start(
        self,
        factory: Callable[..., T],
        *args: Any,
        cpus: float = 1.0,
        gpus: float = 0.0,
        name: str = "",
        preflight: bool = True,
        home: bool = False,
        **kwargs: Any,
    ) -> Handle[T]:
        """See `Runtime.start`. Resources are ignored."""
        given, named = _values(args, kwargs)
        handle = self.handle(name or name_of(factory), lambda: factory(*given, **named))
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

    def stop(self, handle: Handle[Any]) -> None:
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
    """The name of a class or function."""
    return getattr(factory, "__name__", type(factory).__name__)
