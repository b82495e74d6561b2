"""The record of a game: the program's knowledge of it beside its rules. Each room of a game has its own."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envs.adapter import MakesAdapter
from envs.agent import Agent
from envs.belief import TellsBelief
from envs.game import GameBase

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Bots = Callable[[], Mapping[str, Callable[[], Agent]]]
"""Function that returns a factory for each bot of a game, by name."""


@dataclass(frozen=True)
class GameRecord:
    """A game by name.

    Attributes:
        name: Name on the command line.
        make: Function that makes the game, a `Game` or `ListedGame`, from its options.
        options: Default of each option, by name.
        description: Description in one line.
        bots: Function that returns a factory for each bot of the game, by name; None: `random` is the only bot. The
            first sentence of a factory's docstring describes the bot, and the last bot is the strongest one.
        in_matches: Options of matches between agents, whatever they were trained with, unless the command sets them.
        in_evaluations: Options of the evaluations during a training, whatever the training plays.
        implied: Options that follow from the value of another one, by ``option=value``.
        turned_on: Switches, options of type bool, that a match has if any of its agents was trained with them.
        for_people: Options of games that a person plays, unless the command sets them.
        version: Version of the rules and encodings: runs are of one version.
        display: Function that makes the `envs.display.Display` of a game, which writes positions down for the page of
            `dancfr play`; None: `envs.general_display.GeneralDisplay`.
        page: JavaScript module that draws what the display writes; its folder is served with it. None: the general
            page.
        belief: Function that says what an agent believes about what is hidden, see `envs.belief.TellsBelief`; None: a
            game with a small tree is asked for the opponent's hand, and no other.
        adapter: Function that returns how an agent made for one variant of the game plays another, see
            `envs.adapter.MakesAdapter`; None: agents play variants as they are, or are refused.
        outcomes: Name in figures and colour of each outcome and ending, such as ``win by escape``, in the order of
            stacked bars.
        uniform: Exploitability of uniform play under the record's own options, where its computation takes long; it is
            told beside that of agents. None: it is computed, if the game is small enough.
    """

    name: str
    make: Callable[..., GameBase]
    options: Mapping[str, Any]
    description: str
    bots: Bots | None = None
    in_matches: Mapping[str, Any] = field(default_factory=dict)
    in_evaluations: Mapping[str, Any] = field(default_factory=dict)
    implied: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    turned_on: Sequence[str] = ()
    for_people: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0
    display: Callable[..., Any] | None = None
    page: Path | None = None
    belief: TellsBelief | None = None
    adapter: MakesAdapter | None = None
    outcomes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    uniform: float | None = None


def options_of(game: "type[DataclassInstance]") -> dict[str, Any]:
    """Returns the options of a game that is a dataclass, with their defaults."""
    return {each.name: each.default for each in fields(game) if each.init}


def variant(
    name: str,
    rules: type[Any],
    description: str,
    fixed: Sequence[str] = (),
    about: Mapping[str, Any] | None = None,
    **changes: Any,
) -> GameRecord:
    """Returns the record of a named variant of a game whose rules have an option ``name``.

    Args:
        name: Name on the command line.
        rules: Dataclass of the game.
        description: Description in one line.
        fixed: Options that define the variant and cannot be changed.
        about: Further attributes of the record.
        changes: Defaults of the variant that differ from those of `rules`.
    """

    def make(**options: Any) -> GameBase:
        made: GameBase = rules(name=name, **(changes | options))
        return made

    options = {k: v for k, v in (options_of(rules) | changes).items() if k not in ("name", *fixed)}
    return GameRecord(name, make, options, description, **(about or {}))


def bots_of(module: str) -> Bots:
    """Returns a function that imports a module with players and returns its bots."""

    def load() -> Mapping[str, Callable[[], Agent]]:
        found: Mapping[str, Callable[[], Agent]] = importlib.import_module(module).BOTS
        return found

    return load
