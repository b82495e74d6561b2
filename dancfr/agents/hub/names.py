"""Names of agents on the Hugging Face hub: ``hf:OWNER/NAME`` and ``hf:OWNER/NAME@REVISION``."""

import re
from dataclasses import dataclass

from dancfr.errors import UsageError, shortened
from dancfr.methods.agent_name import HUB

MAIN = "main"
"""The branch that is meant if no revision is named."""
_PART = r"[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?"
_REPOSITORY = re.compile(f"{_PART}/{_PART}", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9_](?:[\w./-]{0,198}[A-Za-z0-9_])?", re.ASCII)


@dataclass(frozen=True)
class HubName:
    """The parts of the name of an agent on the hub.

    Attributes:
        repository: The repository, as ``OWNER/NAME``.
        revision: A branch, a tag or a commit.
    """

    repository: str
    revision: str = MAIN

    def __str__(self) -> str:
        at = "" if self.revision == MAIN else f"@{self.revision}"
        return f"{HUB}{self.repository}{at}"


def read_repository(text: str) -> str:
    """Returns the name of a repository.

    Raises:
        UsageError: it is not of the form ``OWNER/NAME``.
    """
    if not _REPOSITORY.fullmatch(text) or ".." in text or "--" in text:
        raise UsageError(
            f"{shortened(text)} is not the name of a repository on the Hugging Face hub: write OWNER/NAME, with "
            "letters, digits and single - _ ."
        )
    return text


def read_name(text: str) -> HubName:
    """Parses the name of an agent on the hub, without options.

    Raises:
        UsageError: it is not of the form ``hf:OWNER/NAME`` or ``hf:OWNER/NAME@REVISION``.
    """
    repository, at, revision = text.removeprefix(HUB).partition("@")
    name = read_repository(repository)
    if not at:
        return HubName(name)
    if not _REVISION.fullmatch(revision) or ".." in revision or "//" in revision:
        raise UsageError(f"{shortened(text)}: after @ comes a branch, a tag or a commit, as in {HUB}{name}@{MAIN}")
    return HubName(name, revision)
