"""The registry of games, which maps names on the command line to games and their options."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from inspect import signature
from typing import Any

from dancfr.errors import UsageError, nearest, one_line
from dancfr.extensions import GAME_GROUP, load_extensions
from dancfr.values import describe_type, parse_options, show
from envs.aec import AecGame
from envs.cheat import Cheat
from envs.game import Game
from envs.geister import Geister
from envs.goofspiel import Goofspiel
from envs.guandan import GuanDan
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.openspiel import OpenSpielGame
from envs.oshi_zumo import OshiZumo

PETTINGZOO = "pettingzoo:"
"""Prefix of PettingZoo AEC environments, as in ``pettingzoo:pettingzoo.classic.leduc_holdem_v4``."""

OPENSPIEL = "openspiel:"
"""Prefix of OpenSpiel games, with parameters in OpenSpiel's syntax: ``openspiel:liars_dice(numdice=1)``."""

_OPENSPIEL_OPTIONS = {"compact": True, "reserve": 4096}  # by default the adapter determines whether the game is compact
_ADAPTER_OPTIONS = {
    key: each.default for key, each in signature(AecGame).parameters.items() if each.kind is each.KEYWORD_ONLY
}


Bots = Callable[[], Mapping[str, Callable[[], Any]]]
"""Function that returns a factory for each bot of a game, by name."""


@dataclass(frozen=True)
class GameEntry:
    """A game of the registry.

    Attributes:
        name: Name on the command line.
        make: Function that makes the game, a `Game` or `RaggedGame`, from its options.
        options: Default of each option, by name.
        description: Description in one line.
        bots: Function that returns a factory for each bot of the game, by name; None: `random` is the only bot.
    """

    name: str
    make: Callable[..., Any]
    options: Mapping[str, Any]
    description: str
    bots: Bots | None = None


@dataclass(frozen=True)
class PettingZooFactory:
    """A picklable function that makes environments of a PettingZoo module.

    Attributes:
        module: Import path of a module with a function `raw_env` or `env`.
        options: Keyword arguments of this function.
    """

    module: str
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self) -> Any:
        module = importlib.import_module(self.module)
        make = getattr(module, "raw_env", None) or module.env
        return make(**dict(self.options))


def _geister(size: int) -> Callable[..., Game]:
    """Returns a function that makes Geister; Mini Geister has a default limit of 30 plies (paper 002)."""

    def make(**options: Any) -> Game:
        limits = {} if size == 6 else {"ply_limit": 30, "observation_limit": 30}
        return Geister(size=size, **(limits | options))

    return make


def options_of(game: Any) -> dict[str, Any]:
    """Returns the options of a game that is a dataclass, with their defaults."""
    return {f.name: f.default for f in fields(game) if f.init}


def _geister_options(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in options_of(Geister).items() if name != "size"} | changes


def _named(
    name: str,
    rules: Callable[..., Any],
    description: str,
    fixed: Sequence[str] = (),
    bots: Bots | None = None,
    **changes: Any,
) -> GameEntry:
    """Returns the entry of a named variant of a game.

    Args:
        name: Name on the command line, passed to `rules` as the option ``name``.
        rules: Dataclass of the game.
        description: Description in one line.
        fixed: Options that define the variant and cannot be changed.
        bots: See `GameEntry`.
        changes: Defaults of the variant that differ from those of `rules`.
    """

    def make(**options: Any) -> Any:
        return rules(name=name, **(changes | options))

    options = {k: v for k, v in (options_of(rules) | changes).items() if k not in ("name", *fixed)}
    return GameEntry(name, make, options, description, bots)


def _bots_of(module: str) -> Bots:
    """Returns a function that imports a module with players and returns its bots."""

    def load() -> Mapping[str, Callable[[], Any]]:
        found: Mapping[str, Callable[[], Any]] = importlib.import_module(module).BOTS
        return found

    return load


_GEISTER_BOTS, _CHEAT_BOTS = _bots_of("envs.geister.players"), _bots_of("envs.cheat.players")

GAMES: dict[str, GameEntry] = {
    entry.name: entry
    for entry in (
        GameEntry("geister", _geister(6), _geister_options(), "Geister on 6x6, 8 ghosts a player", _GEISTER_BOTS),
        GameEntry(
            "mini-geister",
            _geister(4),
            _geister_options(ply_limit=30, observation_limit=30),
            "Mini Geister on 4x4, 2 ghosts a player",
            _GEISTER_BOTS,
        ),
        GameEntry(
            "guandan",
            GuanDan,
            options_of(GuanDan),
            "GuanDan, four players in two teams, rounds or matches",
            _bots_of("envs.guandan.players"),
        ),
        _named("cheat", Cheat, "Cheat with health points, 13 ranks of 4 cards, 2 to 6 players", bots=_CHEAT_BOTS),
        _named(
            "mini-cheat",
            Cheat,
            "Mini-Cheat of paper 001: 3 ranks of 2 cards, 2 cards a player",
            bots=_CHEAT_BOTS,
            ranks=3,
            copies=2,
            dealt=2,
            max_discard=2,
            discards="sets",
        ),
        GameEntry("kuhn", Kuhn, options_of(Kuhn), "Kuhn poker"),
        _named("leduc", Leduc, "Leduc hold'em, the standard game"),
        _named(
            "leduc_2b2r",
            Leduc,
            "Leduc hold'em with two sizes of bet and of up to two raises",
            sizes="2,4/4,8",
            raises=3,
            deal="ranks",
        ),
        _named("goofspiel", Goofspiel, "Goofspiel with hidden bids"),
        _named("goofspiel5", Goofspiel, "Goofspiel of paper 003: 5 cards, prizes descending", ("cards", "prizes")),
        _named("oshi_zumo", OshiZumo, "Oshi-zumo with hidden bids"),
        _named("oshi_zumo8_k1", OshiZumo, "Oshi-zumo of paper 003: 8 coins, 3 cells", ("coins", "size", "min_bid")),
        _named(
            "oshi_zumo8_k3",
            OshiZumo,
            "Oshi-zumo of paper 003: 8 coins, 7 cells",
            ("coins", "size", "min_bid"),
            size=3,
        ),
    )
}


@cache
def all_games() -> dict[str, GameEntry]:
    """Returns all games by name: those of this package, then of installed packages (entry point ``dancfr.games``).

    Raises:
        UsageError: an installed package registers an object that is not a `GameEntry`, or a name that exists already.
    """
    games = dict(GAMES)
    for source, entry in load_extensions(GAME_GROUP, GameEntry):
        if entry.name in games:
            raise UsageError(f"{source} registers the game {entry.name}, which exists already: rename it")
        games[entry.name] = entry
    return games


def make_game(name: str, **options: Any) -> Any:
    """Makes a game.

    Args:
        name: A name of `all_games`, or ``pettingzoo:`` followed by a module with a two-player AEC environment, or
            ``openspiel:`` followed by a game of OpenSpiel.
        options: Options of the game. For PettingZoo, the options of `envs.aec.AecGame` (`max_plies`, `max_return`,
            `scale`, `reserve`) are passed to the adapter and all others to the environment; for OpenSpiel, the
            options of `envs.openspiel.OpenSpielGame` (`compact`, `reserve`).

    Returns:
        An `envs.game.Game`, or an `envs.game.RaggedGame`.

    Raises:
        UsageError: the game or an option does not exist, a value is not valid, or the class of the game is abstract.
    """
    if name.startswith(PETTINGZOO):
        return _make_pettingzoo(name, options)
    known = known_options(name) or {}
    for option in options:
        if option not in known:
            raise UsageError(nearest(option, list(known), f"option of {name}"))
        default = known[option]
        if type(options[option]) is not type(default):
            expected = describe_type(type(default))
            raise UsageError(f"option {option} of {name} expects {expected}, got {options[option]!r}")
    try:
        if name.startswith(OPENSPIEL):
            return OpenSpielGame(name.removeprefix(OPENSPIEL), name, **options)
        return entry_of(name).make(**options)
    except (ModuleNotFoundError, ValueError) as error:
        raise UsageError(f"{name}: {error}") from None
    except TypeError as error:  # for example of a class that lacks an abstract method
        raise UsageError(f"{name}: the game cannot be made: {one_line(error)}") from error
    except RuntimeError as error:  # of OpenSpiel, whose game refuses its parameters at its first deal
        raise UsageError(f"{name}: {one_line(error)}") from None


def read_options(name: str, settings: Sequence[str]) -> dict[str, Any]:
    """Reads the options of a game from ``key=value`` settings; each value has the type of the option's default.

    Raises:
        UsageError: the game or an option does not exist, an option is given twice, or a value has the wrong type.
    """
    known = known_options(name)
    key, value = next(iter((known or {"max_plies": 100}).items()))
    types = None if known is None else {option: type(default) for option, default in known.items()}
    return parse_options(settings, types, name, f"{key}={show(value)}")


def known_options(name: str) -> Mapping[str, Any] | None:
    """Returns the options of a game with their defaults; None if the game accepts any option.

    Raises:
        UsageError: the game does not exist.
    """
    if name.startswith(PETTINGZOO):
        return None
    return _OPENSPIEL_OPTIONS if name.startswith(OPENSPIEL) else entry_of(name).options


def entry_of(name: str) -> GameEntry:
    """Returns the registry's entry of a game.

    Raises:
        UsageError: the game does not exist.
    """
    games = all_games()
    if name not in games:
        raise UsageError(f"{nearest(name, list(games), 'game')} (or {PETTINGZOO}MODULE or {OPENSPIEL}GAME)")
    return games[name]


def _make_pettingzoo(name: str, options: Mapping[str, Any]) -> Game:
    module = name.removeprefix(PETTINGZOO)
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        lacking = (error.name or "").partition(".")[0]  # a package that the environment depends on
        cure = f"; install {lacking}" if lacking and lacking != module.partition(".")[0] else ""
        raise UsageError(f"{name}: cannot import {module!r} ({error}){cure}") from None
    except (TypeError, ValueError):
        raise UsageError(f"{name}: write {PETTINGZOO}MODULE, e.g. {_EXAMPLE}") from None
    if not (hasattr(found, "raw_env") or hasattr(found, "env")):
        raise UsageError(f"{name}: {module} has no raw_env or env; write for example {_EXAMPLE}")
    adapter = {key: value for key, value in options.items() if key in _ADAPTER_OPTIONS}
    inner = tuple(sorted((key, value) for key, value in options.items() if key not in adapter))
    try:
        return AecGame(PettingZooFactory(module, inner), name, **adapter)
    except (TypeError, ValueError, AttributeError, ImportError) as error:
        raise UsageError(f"{name}: {str(error).splitlines()[0].removeprefix(f'{name}: ')}") from None


_EXAMPLE = f"{PETTINGZOO}pettingzoo.classic.leduc_holdem_v4"


def describe_games() -> list[dict[str, Any]]:
    """Returns name, description, sizes and options of every game of the registry.

    Raises:
        UsageError: a game of an installed package cannot be made.
    """
    return [describe_game(name) for name in all_games()]


def describe_game(name: str) -> dict[str, Any]:
    """Returns name, description, sizes and options of a game, of the registry or of another library.

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
        spec = make_game(name).spec
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
    }
