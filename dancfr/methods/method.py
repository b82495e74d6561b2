"""The record that describes a method to the rest of the program."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from dancfr.methods.curves import Curves
from dancfr.methods.packed import Packed
from dancfr.methods.settings import RunConfig
from dancfr.watch.progress import Speed
from envs.agent import Agent
from envs.lazy import lazily as lazily

C = TypeVar("C", bound=RunConfig)


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

    def config_as(self, kind: type[C]) -> C:
        """Returns the configuration of a preset of a known method."""
        assert isinstance(self.config, kind)
        return self.config


@dataclass(frozen=True)
class Method:
    """Everything that the program needs to know about a method. General code reads this record and names no method.

    Attributes:
        name: Name in ``config.json`` and on the command line.
        config: Class of its settings.
        train: Function ``train(run, config, tracker, options)`` that trains a run to its end and returns
            ``iterations``, ``seconds``, ``samples`` and ``metrics``; see `dancfr.methods.recovery.run_to_end`.
        load_agent: Function ``load_agent(run, name, game)`` that returns the agent of a stored strategy; `name` is an
            `dancfr.methods.agent_name.AgentName`.
        presets: Its named configurations.
        speed: The speed of a training, as a key of its rows and a unit.
        samples: Key of the number of samples offered to the buffers so far.
        curves: Figures that reports draw of its runs.
        plies: Key of the number of decisions played, or nodes visited, so far; None if rows do not contain it.
        age: Key of the age of the weights that play; None if these are always the newest ones.
        budget: Key of a setting that limits the training, and of the training rows that count towards the limit; None
            if it has no such setting of its own. Every method has `iterations`, `minutes` and `samples`.
        stored_with: Kind of the rows together with which strategies are stored ("train", "evaluation" or
            "exploitability"); None if they are stored with checkpoints.
        strategies: Function ``strategies(config, t)`` that returns (iteration, player) of every strategy that a run
            of `t` iterations needs to continue; None if the newest strategy is enough.
        strategy_per_player: Whether each player has a strategy of its own, instead of one for all players.
        load_file: Function ``load_file(path, game)`` that returns the agent of a file that the method writes outside
            of runs.
        file_kind: Value of ``kind`` in the metadata of such files.
        pack: Function ``pack(run, name, nets)`` that returns what the agent of a name needs to play, as a
            `dancfr.methods.packed.Packed`; `nets` is the number of nets of a mixture to keep, or None for all. None:
            agents of this method cannot be packed.
        result: Name of a file that a run has at its end, where settings alone do not tell that it has ended.
    """

    name: str
    config: type[RunConfig]
    train: Callable[..., dict[str, Any]]
    load_agent: Callable[..., Agent]
    presets: tuple[Preset, ...]
    speed: Speed
    samples: str
    curves: Curves
    plies: str | None = None
    age: str | None = None
    budget: str | None = None
    stored_with: str | None = None
    strategies: Callable[[Any, int], set[tuple[int, int]]] | None = None
    strategy_per_player: bool = False
    load_file: Callable[..., Agent] | None = None
    file_kind: str = ""
    pack: Callable[..., Packed] | None = None
    result: str | None = None

    @property
    def budgets(self) -> dict[str, str]:
        """Keys of settings that limit the training by a count, each with the key of training rows that counts."""
        return ({} if self.budget is None else {self.budget: self.budget}) | {"samples": self.samples}

    def describe_limits(self, config: RunConfig) -> str:
        """Returns the limits of a training in words, of which the first one ends it: ``5 minutes or 9 iterations``."""
        limits = {key: getattr(config, key, None) for key in ("minutes", *self.budgets, "iterations")}
        return " or ".join(
            f"{limit:,.10g} {key.removesuffix('s') if limit == 1 else key}"
            for key, limit in limits.items()
            if limit is not None
        )
