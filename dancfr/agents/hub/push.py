"""`dancfr push`: uploads a packed agent to the Hugging Face hub, in one commit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dancfr
from dancfr.agents.by_name import make_agent
from dancfr.agents.cards import Card
from dancfr.agents.hub.faults import LOG_IN, hub_errors
from dancfr.agents.hub.fetch import fetched
from dancfr.agents.hub.files import README, agent_in, belongs, check_packed, packed_files
from dancfr.agents.hub.names import HubName, read_repository
from dancfr.agents.hub.progress import quiet_client
from dancfr.agents.hub.readme import PLACEHOLDER, readme
from dancfr.agents.match_rules import match_rules
from dancfr.errors import UsageError, naming_extras, reason


@dataclass(frozen=True)
class PushRequest:
    """Arguments of `dancfr push`.

    Attributes:
        folder: A folder that `dancfr pack` has written.
        repository: Name of the repository, as ``OWNER/NAME``; it is made if it does not exist.
        private: Whether only its owner may read the repository.
        message: Message of the commit; None: the agent's name and the version of dancfr.

    Raises:
        UsageError: the name is not valid, or the message is empty.
    """

    folder: Path
    repository: str
    private: bool = False
    message: str | None = None

    def __post_init__(self) -> None:
        read_repository(self.repository)
        if self.message is not None and not self.message.strip():
            raise UsageError("--message must not be empty: leave it out, or say what has changed")


def push(request: PushRequest) -> dict[str, Any]:
    """Uploads a packed agent; returns the result of `dancfr push --json`.

    Only the files of the agent are sent, and those of an agent that was there before are removed by the same commit.
    README.md is sent with the name of the repository in it; a folder without one gets one there. If the repository has
    all this already, there is no new commit, and ``changed`` is false.

    Raises:
        UsageError: the folder is not a packed agent, there is no token, the hub refuses it, or the
            repository is public and should be private.
        RunError: the hub cannot be reached, or refused the files.
        PackageMissing: `huggingface_hub` is not installed.
    """
    with naming_extras():
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token

    card = _checked(request.folder)
    name = HubName(request.repository)
    files = _files(request.folder, card, name)
    if not get_token():
        raise UsageError(f"there is no token for the Hugging Face hub: {LOG_IN}")
    api = HfApi(library_name="dancfr", library_version=dancfr.__version__)
    with hub_errors(name, writes=True), quiet_client():
        url = str(api.create_repo(request.repository, private=request.private or None, exist_ok=True))
        before = api.model_info(request.repository)
        private = bool(before.private)
        if request.private and not private:
            raise UsageError(
                f"{request.repository} exists and is public: make it private in its settings at {url}/settings, or "
                "choose another name"
            )
        there = [path for path in api.list_repo_files(request.repository) if belongs(path)]
        done = api.create_commit(
            request.repository,
            [
                *(CommitOperationDelete(path) for path in there if path not in files),
                *(CommitOperationAdd(path, content) for path, content in files.items()),
            ],
            commit_message=request.message or f"{card.name}, packed by dancfr {dancfr.__version__}",
        )
    fetched.cache_clear()  # this process may have fetched what was there before
    return {
        "folder": str(request.folder),
        "agent": str(name),
        "url": url,
        "commit": done.oid,
        "changed": done.oid != before.sha,
        "private": private,
        "files": list(files),
        "bytes": sum(len(content) for content in files.values()),
    }


def _checked(folder: Path) -> Card:
    """The card of a packed agent that plays.

    Raises:
        UsageError: the folder does not exist, is not a packed agent, or one of its files is damaged.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: name one that dancfr pack has written")
    card = check_packed(folder, str(folder))
    agent = str(agent_in(folder))
    rules, _ = match_rules(card.game, (agent,))
    make_agent(agent, rules)
    return card


def _files(folder: Path, card: Card, name: HubName) -> dict[str, bytes]:
    """The content of the files to send, by their paths in the repository."""
    try:
        files = {path: (folder / path).read_bytes() for path in packed_files(folder)}
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {reason(error)}") from None
    text = files.get(README, readme(folder, card).encode())
    return {**files, README: text.replace(PLACEHOLDER.encode(), str(name).encode())}
