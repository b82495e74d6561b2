"""Games by the name they have on the command line."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from dancfr.errors import UsageError, nearest
from dancfr.extensions import load_extensions
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
"""Prefix of any PettingZoo AEC environment: ``pettingzoo:pettingzoo.classic.leduc_holdem_v4``."""

OPENSPIEL = "openspiel:"
"""Prefix of any game of OpenSpiel, parameters as OpenSpiel writes them: ``openspiel:liars_dice(numdice=1)``."""

_OPENSPIEL_OPTIONS = {"compact": True, "reserve": 4096}  # of the adapter; unless said, it finds out whether compact
_ADAPTER_OPTIONS = ("max_plies", "max_return", "scale", "reserve")


Bots = Callable[[], Mapping[str, Callable[[], Any]]]
"""Returns what makes each bot of a game, by name."""


@dataclass(frozen=True)
class GameEntry:
    """A game of the registry.

    Attributes:
        name: On the command line.
        make: Makes the game from options: a `Game`, or a `RaggedGame`.
        options: Names of the options and their defaults.
        description: One line.
        bots: Returns what makes each bot that comes with the game, by name; None where there is only `random`.
    """

    name: str
    make: Callable[..., Any]
    options: Mapping[str, Any]
    description: str
    bots: Bots | None = None


@dataclass(frozen=True)
class PettingZooFactory:
    """Makes environments of a module; may be sent to other processes.

    Attributes:
        module: Import path of a module that has `raw_env` or `env`.
        options: Keyword arguments of that function.
    """

    module: str
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self) -> Any:
        module = importlib.import_module(self.module)
        make = getattr(module, "raw_env", None) or module.env
        return make(**dict(self.options))


def _geister(size: int) -> Callable[..., Game]:
    """Plies of Mini Geister are at most 30 (paper 002), and its observations count them by that."""

    def make(**options: Any) -> Game:
        limits = {} if size == 6 else {"ply_limit": 30, "observation_limit": 30}
        return Geister(size=size, **(limits | options))

    return make


def options_of(game: Any) -> dict[str, Any]:
    """The options of a game that is a dataclass, with their defaults."""
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
    """A game with options of its own under a name of its own.

    Args:
        name: On the command line, and of the game.
        rules: A dataclass with an option ``name``.
        description: One line.
        fixed: Options that make this game what it is, and cannot be chosen.
        bots: See `GameEntry`.
        changes: Values of options that are not the defaults of the rules.
    """

    def make(**options: Any) -> Any:
        return rules(name=name, **(changes | options))

    options = {k: v for k, v in (options_of(rules) | changes).items() if k not in ("name", *fixed)}
    return GameEntry(name, make, options, description, bots)


def _bots_of(module: str) -> Bots:
    """The bots of a module with players, which is imported when they are wanted."""

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
        _named("oshi_zumo8_k3", OshiZumo, "The same with 7 cells", ("coins", "size", "min_bid"), size=3),
    )
}


@cache
def all_games() -> dict[str, GameEntry]:
    """Every game by its name: those of this package, then those of installed packages (entry point ``dancfr.games``).

    Raises:
        UsageError: an installed package offers something else than a `GameEntry`, or a name that is taken.
    """
    games = dict(GAMES)
    for source, entry in load_extensions("dancfr.games", GameEntry):
        if entry.name in games:
            raise UsageError(f"{source} offers {entry.name}, but there is such a game already")
        games[entry.name] = entry
    return games


def make_game(name: str, **options: Any) -> Any:
    """The game of that name.

    Args:
        name: One of `all_games`, or ``pettingzoo:`` and a module with a two-player AEC environment, or
            ``openspiel:`` and a game of OpenSpiel.
        options: Options of the game. For PettingZoo, those of `envs.aec.AecGame` go to the adapter
            (`max_plies`, `max_return`, `scale`, `reserve`), all others to the environment;
            for OpenSpiel, those of `envs.openspiel.OpenSpielGame` (`compact`, `reserve`).

    Returns:
        An `envs.game.Game`, or an `envs.game.RaggedGame`.

    Raises:
        UsageError: no such game, no such option, or a value that it refuses.
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


def read_options(name: str, settings: Sequence[str]) -> dict[str, Any]:
    """Options of a game from ``key=value`` settings, each of the type of its default.

    Raises:
        UsageError: no such game or option, an option given twice, or a value of another type.
    """
    known = known_options(name)
    key, value = next(iter((known or {"max_plies": 100}).items()))
    types = None if known is None else {option: type(default) for option, default in known.items()}
    return parse_options(settings, types, name, f"{key}={show(value)}")


def known_options(name: str) -> Mapping[str, Any] | None:
    """Options of a game and their defaults; None where it takes any.

    Raises:
        UsageError: there is no game of that name.
    """
    if name.startswith(PETTINGZOO):
        return None
    return _OPENSPIEL_OPTIONS if name.startswith(OPENSPIEL) else entry_of(name).options


def entry_of(name: str) -> GameEntry:
    """The entry of a game.

    Raises:
        UsageError: there is none of that name.
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
        lacking = (error.name or "").partition(".")[0]  # a package that the environment itself needs
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
    """Name, description, sizes and options of every game of the registry."""
    described = []
    for name, entry in all_games().items():
        spec = entry.make().spec
        described.append(
            {
                "name": name,
                "description": entry.description,
                "players": spec.num_players,
                "actions": spec.num_actions,
                "max_plies": spec.max_plies,
                "observation": {encoding: list(shape) for encoding, shape in spec.shapes.items()},
                "outputs": dict(spec.slots),
                "endings": list(spec.endings[1:]),
                "options": dict(entry.options),
            }
        )
    return described
