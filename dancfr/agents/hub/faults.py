"""Errors of `huggingface_hub` as one line with the cure."""

from collections.abc import Iterator
from contextlib import contextmanager

from dancfr.agents.hub.names import HubName
from dancfr.errors import RunError, UsageError, one_line

LOG_IN = "run `hf auth login`, or set HF_TOKEN"
_TRANSPORT = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3")
"""Packages whose errors mean that the hub has not answered; which of them is used depends on the version."""


class HubUnreachable(RunError):
    """The hub has not answered, or has failed to."""


def endpoint() -> str:
    """The address of the hub, which HF_ENDPOINT sets."""
    from huggingface_hub import constants

    return str(constants.ENDPOINT)


@contextmanager
def hub_errors(name: HubName) -> Iterator[None]:
    """Raises errors of this program instead of those of `huggingface_hub`.

    Args:
        name: The agent in question.

    Raises:
        HubUnreachable: the hub has not answered, or is not to be asked (HF_HUB_OFFLINE).
        UsageError: the repository or the revision does not exist, or the hub refuses the user.
        RunError: the hub answered with another error.
    """
    from huggingface_hub import errors

    repository, where = name.repository, endpoint()
    try:
        yield
    except errors.LocalEntryNotFoundError:  # before the others: in some versions it is an error of HTTP
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
        raise _answered(error, where) from None
    except (TimeoutError, ConnectionError) as error:
        raise _unreachable(error, where) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] in _TRANSPORT:
            raise _unreachable(error, where) from None
        if isinstance(error, (OSError, ValueError, RuntimeError)):  # a full disk, a refused front matter, an upload
            raise RunError(f"{name}: {one_line(error)}") from None
        raise


def _answered(error: Exception, where: str) -> UsageError | RunError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        return UsageError(
            f"{where} refuses your token ({status}): {LOG_IN}, with a token that may write to repositories of this "
            "owner"
        )
    if status is None or status >= 500:
        return _unreachable(error, where)
    return RunError(f"{where} refuses the request: {one_line(error)}")


def _unreachable(error: Exception, where: str) -> HubUnreachable:
    return HubUnreachable(f"{where} cannot be reached ({one_line(error)[:120]}): check the network, or try again later")
