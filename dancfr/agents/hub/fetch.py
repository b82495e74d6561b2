"""Fetches agents from the Hugging Face hub into its cache on this machine."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dancfr
from dancfr.agents.hub.faults import HubUnreachable, hub_errors
from dancfr.agents.hub.files import PATTERNS, agent_in, belongs, check_packed, refuse_large
from dancfr.agents.hub.names import HubName, read_name
from dancfr.agents.hub.progress import quiet_client
from dancfr.errors import naming_extras, warn
from dancfr.methods.agent_name import HUB, parse_name

SECONDS = 10
"""Longest time in which the hub has to answer before the cache is used."""


@dataclass(frozen=True)
class Fetched:
    """An agent in the hub's cache.

    Attributes:
        path: Its folder, or the file of a tabular strategy.
        commit: The commit of its repository.
    """

    path: str
    commit: str


@cache
def fetched(base: str) -> Fetched:
    """Fetches an agent, unless the cache has this commit already, and checks its files.

    The hub is asked once in a process, so that the agent is the same throughout a command. If it cannot be reached, the
    newest commit of the revision that the cache has is used, with a line on standard error.

    Args:
        base: Name of the agent, see `dancfr.agents.hub.names`.

    Raises:
        UsageError: the name is not valid, or the repository does not exist or has no packed agent.
        RunError: the hub cannot be reached and the agent is not in the cache, the hub refused the request, or the files
            could not be written.
        PackageMissing: `huggingface_hub` is not installed.
    """
    name = read_name(base)
    folder = _download(name)
    check_packed(folder, str(name))
    return Fetched(str(agent_in(folder)), folder.name)


def commits(names: Iterable[object]) -> dict[str, str]:
    """The commits of those agents among `names` that come from the hub, for the record of a result."""
    bases = {name: parse_name(name).base for name in names if isinstance(name, str) and name.startswith(HUB)}
    return {name: fetched(base).commit for name, base in bases.items()}


def record_of_commits(names: Iterable[object]) -> dict[str, dict[str, str]]:
    """The part of a result that records `commits`; empty if no agent comes from the hub."""
    found = commits(names)
    return {"commits": found} if found else {}


def _download(name: HubName) -> Path:
    """The folder of the wanted revision in the cache, whose name is the commit."""
    with naming_extras():
        from huggingface_hub import HfApi, snapshot_download

    fault = None
    try:
        with hub_errors(name):
            info = HfApi(library_name="dancfr", library_version=dancfr.__version__).model_info(
                name.repository, revision=name.revision, files_metadata=True, timeout=SECONDS
            )
        refuse_large(str(name), sum(file.size or 0 for file in info.siblings or () if belongs(file.rfilename)))
    except HubUnreachable as error:
        fault = error
    try:
        with hub_errors(name), quiet_client():
            # The revision as it was named, not its commit: only so does the cache know the branch without the hub.
            place = snapshot_download(
                name.repository,
                revision=name.revision,
                allow_patterns=list(PATTERNS),
                local_files_only=fault is not None,
                library_name="dancfr",
                library_version=dancfr.__version__,
            )
    except HubUnreachable:
        if fault is None:
            raise
        raise HubUnreachable(f"{name} is not in the cache of this machine, and {fault}") from None
    folder = Path(place)
    if fault is not None:
        warn(f"{name}: commit {folder.name[:12]} of the cache is used, since {fault}")
    return folder
