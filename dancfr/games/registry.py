"""The registry of games, which maps names on the command line to games and their options."""

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar, cast

from dancfr.arguments import checked, read
from dancfr.errors import UsageError, nearest, one_line
from dancfr.extensions import GAME_GROUP, load_extensions
from dancfr.games.about import meanings_of, rules_of
from dancfr.games.rules import note_options, noted_options
from dancfr.values import parse_options, show
from envs import cheat, dark_hex, geister, goofspiel, guandan, kuhn, leduc, liars_dice, oshi_zumo, phantom_ttt
from envs.aec import AecGame
from envs.game import Game, GameBase
from envs.openspiel import OpenSpielGame
from envs.playable import PlayableGame
from envs.record import GameRecord
from envs.record import options_of as options_of

G = TypeVar("G")

PETTINGZOO = "pettingzoo:"
"""Prefix of PettingZoo environments, as in ``pettingzoo:pettingzoo.classic.leduc_holdem_v4``."""

OPENSPIEL = "openspiel:"
"""Prefix of OpenSpiel games, with parameters in OpenSpiel's syntax: ``openspiel:liars_dice(numdice=1)``."""

_OPENSPIEL_OPTIONS = {"compact": True, "reserve": 4096, "past": 0}  # the adapter finds out whether a game is compact
_ADAPTER_OPTIONS = {
    key: each.default for key, each in signature(AecGame).parameters.items() if each.kind is each.KEYWORD_ONLY
}


_MAKERS = ("raw_env", "env", "parallel_env")
"""Functions that make the environment of a PettingZoo module, those with fewer wrappers first."""


@dataclass(frozen=True)
class PettingZooFactory:
    """A picklable function that makes environments of a PettingZoo module.

    Attributes:
        module: Import path of a module.
        options: Keyword arguments of its function.
        makers: Names of functions, of which the first that the module has makes the environment.
    """

    module: str
    options: tuple[tuple[str, Any], ...] = ()
    makers: tuple[str, ...] = _MAKERS

    def __call__(self) -> Any:
        module = importlib.import_module(self.module)
        return getattr(module, next(name for name in self.makers if hasattr(module, name)))(**dict(self.options))


_ROOMS = (geister, guandan, cheat, kuhn, leduc, goofspiel, oshi_zumo, liars_dice, phantom_ttt, dark_hex)

GAMES: dict[str, GameRecord] = {record.name: record for room in _ROOMS for record in room.GAMES}
"""The games of this repository, by name."""

DEFAULT = next(iter(GAMES))
"""The game of commands that name none and whose agents belong to none."""

GameEntry = GameRecord
"""The record's former name."""


@cache
def _known_and_left_out() -> tuple[dict[str, GameRecord], dict[str, str]]:
    """All games by name, and the faults of those that were left out, by the name of their entry point."""
    games = dict(GAMES)

    def add(record: GameRecord) -> str | None:
        if record.name in games:
            return f"registers the game {record.name}, which exists already"
        games[record.name] = record
        return None

    return games, load_extensions(GAME_GROUP, GameRecord, add)


def all_games() -> dict[str, GameRecord]:
    """Returns all games by name: those of this package, then of installed packages (entry point ``dancfr.games``).

    Objects of packages that are not a `GameRecord`, or whose name exists already, are left out with a warning.
    """
    return _known_and_left_out()[0]


@checked
def make_game(name: str, /, **options: Any) -> PlayableGame:
    """Makes a game.

    Args:
        name: A name of `all_games`, or ``pettingzoo:`` followed by a module with a two-player environment or by an id
            of PettingZoo's registry such as ``classic/rps-v2``, or ``openspiel:`` followed by a game of OpenSpiel.
        options: Options of the game. For PettingZoo, the options of `envs.aec.AecGame` (`max_plies`, `max_return`,
            `scale`, `reserve`) are passed to the adapter and all others to the environment; for OpenSpiel, the
            options of `envs.openspiel.OpenSpielGame` (`compact`, `reserve`, `past`).

    Returns:
        An `envs.game.Game`, or an `envs.game.ListedGame`; `envs.game.numbered` and `listed` tell a type checker which.
        Its `env` makes a PettingZoo environment; a game of another package has none unless its class derives from
        `envs.playable.Playable`.

    Raises:
        UsageError: the game or an option does not exist, a value is not valid, or the class of the game is abstract.
    """
    known = known_options(name)
    game: GameBase
    if known is None:
        game = _make_pettingzoo(name, options)
    else:
        options = _checked_options(name, options, known)
        game = _make_known(name, options)
    note_options(game, {**(_ADAPTER_OPTIONS if known is None else known), **options})
    return cast(PlayableGame, game)


def make_game_as(kind: type[G], name: str, **options: Any) -> G:
    """Makes a game of a known class.

    Raises:
        UsageError: see `make_game`; or the game is of another class.
    """
    game = make_game(name, **options)
    if not isinstance(game, kind):
        raise UsageError(f"{name} is not a game of the class {kind.__name__}, which is needed here")
    return game


def _checked_options(name: str, options: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options, each as a value of its type."""
    for option in options:
        if option not in known:
            message = nearest(option, list(known), f"option of {name}")
            if name.startswith(OPENSPIEL):
                message += f"; parameters of OpenSpiel are part of the name: '{name.partition('(')[0]}({option}=...)'"
            raise UsageError(message)
    return {key: read(value, type(known[key]), f"option {key} of {name}") for key, value in options.items()}


def _make_known(name: str, options: Mapping[str, Any]) -> GameBase:
    """Makes a game whose options are known."""
    try:
        if name.startswith(OPENSPIEL):
            return OpenSpielGame(name.removeprefix(OPENSPIEL), name, **options)
        game = entry_of(name).make(**options)
    except (ModuleNotFoundError, ValueError) as error:
        raise UsageError(f"{name}: {error}") from None
    except TypeError as error:  # for example of a class that lacks an abstract method
        raise UsageError(f"{name}: the game cannot be made: {one_line(error)}") from error
    except RuntimeError as error:  # of OpenSpiel, whose game refuses its parameters at its first deal
        raise UsageError(f"{name}: {one_line(error)}") from None
    if (own := getattr(getattr(game, "spec", None), "name", name)) != name:
        raise UsageError(f"game {name}: spec.name is {own!r}, expected {name!r}, the name on the command line")
    return game


def read_options(name: str, settings: Mapping[str, Any] | Sequence[str]) -> dict[str, Any]:
    """Returns the options of a game, by name or from ``key=value`` settings; the latter have the types of the defaults.

    Raises:
        UsageError: the game or an option does not exist, an option is given twice, or a value has the wrong type.
    """
    if isinstance(settings, Mapping):
        return dict(settings)
    known = known_options(name)
    key, value = next(iter((known or {"max_plies": 100}).items()))
    types = None if known is None else {option: type(default) for option, default in known.items()}
    return parse_options(settings, types, name, f"{key}={show(value)}")


def known_options(name: str) -> Mapping[str, Any] | None:
    """Returns the options of a game with their defaults; None if the game accepts any option.

    Raises:
        UsageError: the game does not exist.
    """
    for prefix, example in _EXAMPLES.items():
        if name.strip() == prefix:
            raise UsageError(f"{prefix} requires a name after the colon, such as {example}")
    if name.startswith(PETTINGZOO):
        return None
    return _OPENSPIEL_OPTIONS if name.startswith(OPENSPIEL) else entry_of(name).options


def entry_of(name: str) -> GameRecord:
    """Returns the registry's entry of a game.

    Raises:
        UsageError: the game does not exist.
    """
    games = all_games()
    if name not in games:
        if (fault := _known_and_left_out()[1].get(name)) is not None:
            raise UsageError(fault)
        if name.startswith("pretrained:"):
            lists = "dancfr agents GAME lists the agents of a game, with --json their cards"
            raise UsageError(f"{name} is an agent, not a game: {lists}")
        spelled_otherwise = name.lower().replace("-", "_") in {known.replace("-", "_") for known in games}
        others = "" if spelled_otherwise else f" (or {PETTINGZOO}MODULE or {OPENSPIEL}GAME)"
        raise UsageError(f"{nearest(name, list(games), 'game')}{others}")
    return games[name]


def record_of(game: GameBase) -> GameRecord | None:
    """Returns the record of a game; None for a game that has none, such as one of another library.

    Raises:
        UsageError: see `all_games`.
    """
    return all_games().get(game.spec.name)


def is_registered(name: str) -> bool:
    """Returns whether a game can be made by a name, unlike one that is defined in a program only."""
    return name.startswith((PETTINGZOO, OPENSPIEL)) or name in all_games()


def rules_made_with(game: GameBase) -> dict[str, Any]:
    """Returns the options with which `make_game` would make a game of these rules; empty for games without a name."""
    name = game.spec.name
    known = known_options(name) if is_registered(name) else {}
    return {key: value for key, value in noted_options(game).items() if known is None or key in known}


def describe_rules(name: str, options: Mapping[str, Any]) -> str:
    """Describes the rules of a game by its name and the options that differ from its own and from those of matches, as
    in ``kuhn, cards=4``."""
    record = all_games().get(name)
    usual = (_ADAPTER_OPTIONS, _OPENSPIEL_OPTIONS) if record is None else (record.options, record.in_matches)
    told = (f"{key}={show(value)}" for key, value in options.items() if (key, value) not in [
        pair for each in usual for pair in each.items()])  # fmt: skip
    return ", ".join((name, *told))


def version_of(name: object) -> int | None:
    """Returns the version of a game's record; None for a game that has no record, or that is not installed.

    Raises:
        UsageError: see `all_games`.
    """
    record = all_games().get(name) if isinstance(name, str) else None
    return None if record is None else record.version


def refuse_other_version(path: str | os.PathLike[str], about: Mapping[str, Any]) -> None:
    """Raises UsageError if a file was made for another version of its game.

    Args:
        path: The file.
        about: Its metadata with the game's name as ``game`` and, in files since there are versions, ``game_version``.
    """
    made_for, current = about.get("game_version"), version_of(about.get("game"))
    if None not in (made_for, current) and made_for != current:
        raise UsageError(
            f"{path} was made for version {made_for} of {about['game']}, and this is version {current}: make it again, "
            "or use the version of the game's package that it was made with"
        )


def _make_pettingzoo(name: str, options: Mapping[str, Any]) -> Game:
    place = name.removeprefix(PETTINGZOO)
    module, makers, preset = _registered(name, place) if "/" in place else (place, _MAKERS, {})
    if "" in module.split("."):
        raise UsageError(f"{name}: write {PETTINGZOO}MODULE, e.g. {_EXAMPLES[PETTINGZOO]}")
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"{name}: cannot import {module!r} ({error}){_import_cure(error, module)}") from None
    except Exception as error:  # code of others
        raise UsageError(f"{name}: importing {module!r} failed: {one_line(error)}") from None
    if not any(hasattr(found, each) for each in makers):
        raise UsageError(f"{name}: {module} has no {', '.join(makers)}; write for example {_EXAMPLES[PETTINGZOO]}")
    adapter = {
        key: read(value, type(_ADAPTER_OPTIONS[key]), f"option {key} of {name}")
        for key, value in options.items()
        if key in _ADAPTER_OPTIONS
    }
    inner = tuple(sorted((preset | {key: each for key, each in options.items() if key not in adapter}).items()))
    try:
        return AecGame(PettingZooFactory(module, inner, makers), name, **adapter)
    except (TypeError, ValueError, AttributeError, ImportError) as error:
        cause = next(iter(str(error).splitlines()), type(error).__name__)
        raise UsageError(f"{name}: {cause.removeprefix(f'{name}: ')}") from None
    except UsageError:  # of one of our own games
        raise
    except Exception as error:  # code of others, such as an assert about an option
        raise UsageError(f"{name}: the environment cannot be made: {one_line(error)}") from error


def _registered(name: str, env_id: str) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Returns module, functions and options of an environment in PettingZoo's registry, one that moves in turn first.

    Workers import the module by its name, and therefore need not register the id.
    """
    import pettingzoo

    if not hasattr(pettingzoo, "spec"):
        raise UsageError(f"{name}: this PettingZoo has no registry: update it, or write {PETTINGZOO}MODULE")
    for kind in ("aec", "parallel"):
        try:
            found = pettingzoo.spec(kind, env_id)
        except Exception as error:  # of classes that differ between versions
            refused = one_line(error)
            continue
        if not isinstance(found.entry_point, str):
            raise UsageError(f"{name}: it is registered with a function: register it as 'module:function'")
        module, _, maker = found.entry_point.partition(":")
        return module, _MAKERS if maker in _MAKERS else (maker,), dict(found.kwargs)
    raise UsageError(f"{name}: PettingZoo has no such environment ({refused.partition(' Available environments')[0]})")


def _import_cure(error: ImportError, module: str) -> str:
    """Returns the cure for a module that cannot be imported, as the end of a sentence."""
    own, lacking = module.partition(".")[0], (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or not lacking:
        return ""
    if lacking != own:  # a package that the environment depends on
        return f"; install {lacking}"
    if Path(own).is_dir() or Path(f"{own}.py").is_file():
        return f'; {own} is in this folder, which is not searched: run PYTHONPATH="$PWD" dancfr ...'
    return "; install it, or add the folder in which it is to PYTHONPATH"


_EXAMPLES = {
    PETTINGZOO: f"{PETTINGZOO}pettingzoo.classic.leduc_holdem_v4",
    OPENSPIEL: f"{OPENSPIEL}kuhn_poker",
}


def describe_games() -> list[dict[str, Any]]:
    """Returns name, description, sizes and options of every game of the registry.

    Raises:
        UsageError: a game of an installed package cannot be made.
    """
    return [describe_game(name) for name in all_games()]


def describe_game(name: str) -> dict[str, Any]:
    """Returns name, description, sizes, options with their meanings and the page of the rules of a game.

    It may be of the registry or of another library.

    Raises:
        UsageError: the game does not exist, cannot be made, or its library is not installed.
    """
    options: Mapping[str, Any]
    if name.startswith(PETTINGZOO):
        text, options = "an environment of PettingZoo; further options go to the environment", _ADAPTER_OPTIONS
    elif name.startswith(OPENSPIEL):
        text, options = "a game of OpenSpiel", _OPENSPIEL_OPTIONS
    else:
        entry = entry_of(name)
        text, options = entry.description, entry.options
    try:
        game = make_game(name)
        spec, rules = game.spec, rules_of(game)
    except UsageError:
        raise
    except Exception as error:  # whatever an installed package raises
        raise UsageError(f"the game {name} cannot be made: {type(error).__name__}: {error}") from error
    return {
        "name": name,
        "description": text,
        "players": spec.num_players,
        "actions": spec.num_actions,
        "max_plies": spec.max_plies,
        "observation": {encoding: list(shape) for encoding, shape in spec.shapes.items()},
        "outputs": dict(spec.slots),
        "endings": list(spec.endings[1:]),
        "options": dict(options),
        "meanings": meanings_of(game, options),
        "rules": None if rules is None else str(rules),
    }
