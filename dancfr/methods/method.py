"""The record that describes a method to the rest of the program."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dancfr.methods.curves import Curves
from dancfr.methods.settings import RunConfig
from dancfr.watch.progress import Speed


@dataclass(frozen=True)
class Preset:
    """A named configuration of a method.

    Attributes:
        name: Name on the command line.
        config: Complete configuration; `dancfr train NAME key=value` changes keys of it.
        description: One line.
    """

    name: str
    config: RunConfig
    description: str


@dataclass(frozen=True)
class Method:
    """Everything that the program needs to know about a method. General code reads this record and names no method.

    Attributes:
        name: Name in ``config.json`` and on the command line.
        config: Class of its settings.
        train: ``train(run, config, tracker, options)`` runs it to its end; returns ``iterations``, ``seconds``,
            ``samples`` and ``metrics``.
        load_agent: ``load_agent(run, name, game)`` is the agent of what a run has stored; `name` is an
            `dancfr.methods.agent_name.AgentName`.
        presets: Its named configurations.
        speed: Rate that a training row tells: key and unit.
        samples: Key of the samples offered to the buffers so far.
        plies: Key of the decisions played, or nodes walked, so far; None where a row tells no such total.
        age: Key of the age of the weights that play; None where they are always the newest.
        curves: What reports draw of its runs.
        stored_with: Kind of the rows beside which it stores strategies ("train", "evaluation", "exploitability"); None
            where it stores them with checkpoints.
        strategies: ``strategies(config, t)`` is the set of (iteration, player) whose files a run of `t` iterations
            needs to go on; None where the newest one is enough.
        strategy_per_player: Each player has a strategy of its own; else one serves all.
        load_file: ``load_file(path, game)`` is the agent of a file that the method writes outside of runs.
        file_kind: Value of ``kind`` in the metadata of such files.
    """

    name: str
    config: type[RunConfig]
    train: Callable[..., dict[str, Any]]
    load_agent: Callable[..., Any]
    presets: tuple[Preset, ...]
    speed: Speed
    samples: str
    curves: Curves
    plies: str | None = None
    age: str | None = None
    stored_with: str | None = None
    strategies: Callable[[Any, int], set[tuple[int, int]]] | None = None
    strategy_per_player: bool = False
    load_file: Callable[..., Any] | None = None
    file_kind: str = ""


def lazily(path: str) -> Callable[..., Any]:
    """A function that is imported when it is called: records stay quick to import, torch and Ray take seconds.

    Args:
        path: Module and name, such as ``dancfr.methods.dream.driver:train``.
    """
    module, _, name = path.partition(":")

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    call.__name__ = name
    return call
