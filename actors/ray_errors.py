"""Exceptions that pass between processes: made portable in an actor, and Ray's translated in the caller."""

import copy
import re

from actors.runtime import BlockLost, RemoteError, RemoteTraceback, WorkerDied


def portable(error: Exception) -> Exception:
    """The exception itself if it can be pickled and restored, else a `RemoteError` with its type and message."""
    from ray import cloudpickle

    try:
        cloudpickle.dumps(error)
        if str(copy.copy(error)) == str(error):  # a copy calls the constructor, as unpickling does
            return error
    except Exception:
        pass  # for instance a constructor whose arguments are not the message
    return RemoteError(f"{type(error).__name__}: {error}")


def translated(error: Exception) -> Exception:
    """Ray's exceptions as those of `actors.runtime`, and the exception of a method as the method raised it."""
    import ray.exceptions as known

    if isinstance(error, known.RayTaskError):
        cause = error.cause
        while isinstance(cause, known.RayTaskError):  # the task failed because one of its arguments had failed
            cause = cause.cause
        if not isinstance(cause, Exception):
            return RemoteError(str(error).strip().splitlines()[-1])
        if isinstance(cause, known.RayError):
            return translated(cause)
        cause.__cause__ = RemoteTraceback(str(error))
        return cause
    if isinstance(error, known.RayActorError) and error.actor_init_failed:  # its class could not be loaded there
        return WorkerDied(f"{_actor_name(error)} could not start: {str(error).strip().splitlines()[-1]}")
    text = " ".join(str(error).split())
    if isinstance(error, known.ObjectLostError):
        return BlockLost(f"a result is gone: {text[:200]}")
    died = (known.ActorDiedError, known.ActorUnavailableError, known.WorkerCrashedError, known.NodeDiedError)
    if isinstance(error, (*died, known.OutOfMemoryError)):
        return WorkerDied(f"{_actor_name(error)} died: {_reason(text)}")
    return RemoteError(f"{type(error).__name__}: {text[:300]}")


def _actor_name(error: Exception) -> str:
    """The name that `RayRuntime.start` gave the actor that an exception is about, as Ray's message states it."""
    stated = re.search(r"^\s*name: (.*) #\d+$", str(error), re.MULTILINE)
    return stated[1] if stated else "an actor"


def _reason(text: str) -> str:
    """The cause of a death in Ray's message, without the advice that follows it."""
    if "killed by `ray.kill`" in text:
        return "it was stopped"
    if "unexpectedly exits with a connection error" in text:
        return "its process was killed or crashed"
    detail = re.search(r"Worker exit detail: (.*?)\.(?: |$)", text)
    return detail[1] if detail else text[:200]
