"""Errors of `huggingface_hub` as one line with the cure."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dancfr.agents.hub.names import HubName
from dancfr.errors import RunError, UsageError, one_line

LOG_IN = "run `hf auth login`, or set HF_TOKEN"
_TRANSPORT = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3")
"""Packages whose errors mean that the hub has not answered; which of them is used depends on the version."""
_CLIENT = ("huggingface_hub", "hf_xet")
"""Packages of the client, some of whose errors are none of Python's own."""


class HubUnreachable(RunError):
    """The hub has not answered, has failed to, or asks to wait."""


def endpoint() -> str:
    """The address of the hub, which HF_ENDPOINT sets."""
    from huggingface_hub import constants

    return str(constants.ENDPOINT)


@contextmanager
def hub_errors(name: HubName, writes: bool = False) -> Iterator[None]:
    """Raises errors of this program instead of those of `huggingface_hub`.

    Args:
        name: The agent in question.
        writes: Whether the token has to be one that may write.

    Raises:
        HubUnreachable: the hub has not answered, asks to wait, or is not to be asked (HF_HUB_OFFLINE).
        UsageError: the repository or the revision does not exist, or the hub refuses the user.
        RunError: the hub answered with another error.
    """
    from huggingface_hub import errors

    repository, where = name.repository, endpoint()
    try:
        yield
    except errors.LocalEntryNotFoundError as error:  # before the others: in some versions it is an error of HTTP
        if isinstance(error.__cause__, errors.HfHubHTTPError):
            raise _answered(error.__cause__, repository, where, writes) from None
        raise HubUnreachable(f"{name} is not in the cache of this machine, and {where} is not reached") from None
    except errors.OfflineModeIsEnabled:
        raise HubUnreachable("HF_HUB_OFFLINE is set, so that the Hugging Face hub is not asked: unset it") from None
    except errors.GatedRepoError:
        raise UsageError(
            f"the owner of {repository} must grant you access: ask for it at {where}/{repository}, then {LOG_IN}"
        ) from None
    except errors.RevisionNotFoundError:
        raise UsageError(
            f"{repository} has no revision {name.revision}: name a branch, a tag or a commit of {where}/{repository}"
        ) from None
    except errors.RepositoryNotFoundError:
        raise UsageError(
            f"{where} has no model {repository} that you may read: check the name; if it is private, {LOG_IN}"
        ) from None
    except errors.HfHubHTTPError as error:
        raise _answered(error, repository, where, writes) from None
    except (TimeoutError, ConnectionError) as error:
        raise _unreachable(error, where) from None
    except Exception as error:
        package = type(error).__module__.partition(".")[0]
        if package in _TRANSPORT:
            raise _unreachable(error, where) from None
        if package in _CLIENT or isinstance(error, (OSError, ValueError, RuntimeError)):  # a full disk, an upload
            raise RunError(f"{name}: {one_line(error)}") from None
        raise


def _answered(error: Exception, repository: str, where: str, writes: bool) -> UsageError | RunError:
    """The error of an answer, with the words of the hub."""
    from huggingface_hub.errors import DisabledRepoError

    if isinstance(error, DisabledRepoError):
        return RunError(f"{where} has disabled {repository}: choose another repository")
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is None:
        return _unreachable(error, where)
    words = " ".join((getattr(error, "server_message", None) or "").split())[:200]
    said = f"{status}: {words}" if words else str(status)
    if status in (401, 403):
        able = "write to repositories of this owner" if writes else f"read {repository}"
        return UsageError(f"{where} refuses your token ({said}): {LOG_IN}, with a token that may {able}")
    if status in (408, 429) or status >= 500:
        seconds = re.search(r"Retry after (\d+) seconds", str(error))
        when = f"in {seconds[1]} seconds" if seconds else "later"
        return HubUnreachable(f"{where} does not serve the request now ({said}): try again {when}")
    if status in (409, 412):
        return RunError(f"{repository} has changed meanwhile ({said}): run the command again")
    return RunError(f"{where} refuses the request ({said})")


def _unreachable(error: Exception, where: str) -> HubUnreachable:
    return HubUnreachable(f"{where} cannot be reached ({one_line(error)[:120]}): check the network, or try again later")
