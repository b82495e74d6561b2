"""Fingerprints of agents, by which a league notices that the run of a member has been trained on, or that it plays
by other settings."""

import hashlib
import json
import os
from pathlib import Path

from dancfr.agents.by_name import parse_agent
from dancfr.errors import UsageError, reason
from dancfr.evaluation.bots import bots
from dancfr.methods import method_named
from dancfr.methods.agent_name import AgentName
from dancfr.methods.packed import is_packed
from dancfr.methods.settings import RunConfig
from dancfr.runs.checkpoints import changed
from dancfr.runs.config import flatten
from dancfr.runs.run import Run
from envs.game import GameBase


def fingerprint(name: str, game: GameBase) -> str:
    """Returns a text that two agents share if they play by the same nets or tables, wherever these are stored.

    A run has another fingerprint after more training, and when it is resumed with settings by which it plays otherwise.
    ``runs/x`` has that of ``runs/x@40`` as long as 40 is its last iteration. Options of the name are part of the
    fingerprint, numbers by their value.

    Raises:
        UsageError: the name is not valid, or its files cannot be read.
    """
    wanted = parse_agent(name)
    if wanted.base in bots(game):
        return wanted.base
    try:
        digest = _run(wanted) if os.path.isdir(wanted.base) else _content(Path(wanted.base))
    except OSError as error:
        raise UsageError(f"cannot read {wanted.base}: {reason(error)}") from None
    query = "&".join(sorted(f"{key}={_number(value)}" for key, value in wanted.query))
    return digest + (f"?{query}" if query else "")


def _run(wanted: AgentName) -> str:
    """Returns a digest of a run: of its start, its settings, and its strategies up to the iteration that is wanted."""
    run = Run.open(wanted.base)
    kind = method_named(run.method).config
    stored_settings = json.loads((run.path / "config.json").read_bytes())[
        "config"
    ]  # as the version of the run wrote them
    settings = {key: value for key, value in stored_settings.items() if key not in kind.resumable}
    files = [*run.list_strategies(), *run.list_strategies(average=True)]
    until = [file.path for file in files if wanted.iteration is None or file.iteration <= wanted.iteration]
    stored: list[object] = [run.info.get("created"), settings, *_play(run, kind)]
    stored += [(path.name, path.stat().st_size) for path in until]  # a file of a strategy is written once
    if wanted.iteration is None:  # what a method has chosen among its strategies, such as the nets of a best response
        stored += [(path.name, _content(path)) for path in sorted(run.path.glob("*.safetensors"))]
    return _digest(json.dumps(stored, sort_keys=True).encode())


def _play(run: Run, kind: type[RunConfig]) -> list[object]:
    """Returns the settings `RunConfig.plays`; none for a run that has kept them, which its start identifies."""
    if not kind.plays:
        return []
    config = run.config_as(kind)
    if not is_packed(run) and kind.plays.isdisjoint(changed(run, config)):
        return []
    return [{key: value for key, value in flatten(config) if key in kind.plays}]


def _number(value: str) -> str:
    """Returns one spelling of a number, and any other value as it is."""
    try:
        return repr(float(value))
    except ValueError:
        return value


def _content(path: Path) -> str:
    """Returns a digest of the content of a file."""
    return _digest(path.read_bytes())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
