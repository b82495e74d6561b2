"""Loads games of OpenSpiel and checks them: two or more players, listed chance, sequential moves."""

import difflib
import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from envs.extensive import CHANCE, OVER
from envs.openspiel.gambit import EFG, BadGambit, for_openspiel

Spiel = Any
"""A game, state or policy of OpenSpiel, whose package has no type annotations."""


def import_pyspiel() -> ModuleType:
    """Imports `pyspiel`.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
    """
    try:
        import pyspiel
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "games of OpenSpiel need the package open_spiel: run make setup, or pip install open_spiel"
        ) from None
    loaded: ModuleType = pyspiel
    return loaded


def load_openspiel(game: str | Spiel) -> Spiel:
    """Loads an OpenSpiel game with sequential moves.

    Args:
        game: OpenSpiel's text, such as ``leduc_poker``, ``goofspiel(imp_info=True,num_cards=4)``, or
            ``python_kuhn_poker``, one of its games in Python; text in Gambit's extensive-form format, or
            ``efg_game(filename=PATH)``, both of which `envs.openspiel.gambit` reads; or a `pyspiel.Game`. OpenSpiel
            converts simultaneous moves to sequential ones, of which the later player does not see the earlier move.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: unknown game or parameter; or the game has a single player or moves of a mean field, or samples
            chance implicitly.
    """
    pyspiel = import_pyspiel()
    loaded = _load(pyspiel, game) if isinstance(game, str) else game
    if not isinstance(loaded, pyspiel.Game):
        raise ValueError(f"an OpenSpiel game must be a string or a pyspiel.Game, got {type(game).__name__}")
    kind, name = loaded.get_type(), loaded.get_type().short_name
    if loaded.num_players() < 2:
        raise ValueError(
            f"OpenSpiel's {name} has {loaded.num_players()} player here; only games of 2 or more are adapted"
        )
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(f"OpenSpiel's {name} draws chance by itself; only games that list its outcomes can be adapted")
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(loaded)
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ValueError(
            f"OpenSpiel's {name} is {_words(kind.dynamics)}; only games with moves of players can be adapted"
        )
    return loaded


def name_of(game: str | Spiel, loaded: Spiel) -> str:
    """Returns the text of a game, or OpenSpiel's name if the text is long or in Gambit's format."""
    text = str(game).strip().removesuffix("()")
    return str(loaded.get_type().short_name) if "\n" in text or len(text) > 200 else text


def has_constant_sum(game: Spiel) -> bool:
    """Returns whether the players' returns have a constant sum."""
    kinds = import_pyspiel().GameType.Utility
    return game.get_type().utility in (kinds.ZERO_SUM, kinds.CONSTANT_SUM)


def sum_of(game: Spiel) -> float:
    """Returns the sum of the returns of a game that has a constant one."""
    return float(game.utility_sum() or 0.0)


def mover_of(state: Spiel) -> int:
    """Returns the player to move, `CHANCE` or `OVER`."""
    if state.is_terminal():
        return OVER
    return CHANCE if state.is_chance_node() else int(state.current_player())


def moves_of(state: Spiel) -> list[tuple[int, float]]:
    """Lists legal actions with 1, or outcomes of chance with their probabilities, by number."""
    if state.is_terminal():
        return []
    if state.is_chance_node():
        return sorted((outcome, chance) for outcome, chance in state.chance_outcomes() if chance > 0)
    return [(action, 1.0) for action in sorted(state.legal_actions())]


def _load(pyspiel: ModuleType, text: str) -> Spiel:
    with refusing(text):
        if text.lstrip().startswith(EFG):
            return pyspiel.load_efg_game(for_openspiel(text))
        parameters = _checked(pyspiel, text)
        if parameters["name"] == "efg_game":
            return pyspiel.load_efg_game(for_openspiel(Path(parameters["filename"]).read_text()))
        return pyspiel.load_game(text)


@contextmanager
def refusing(text: str) -> Iterator[None]:
    """Converts errors of OpenSpiel to a ValueError in one line, in place of its own lines on standard error."""
    shown = " ".join((text if len(text) <= 80 else text[:77] + "...").split())
    try:
        with _silent():
            yield
    except (AttributeError, IndexError, KeyError) as error:  # not a refusal, but a fault of a game in Python
        cause = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise ValueError(
            f"OpenSpiel's own code of {shown!r} fails ({cause}), so it cannot be played: take another game, or try "
            "other parameters"
        ) from None
    except (BadGambit, LookupError, OSError, RuntimeError, TypeError, UnicodeError) as error:
        cause = re.sub(r"^\S+\.(cc|h):\d+ ", "", " ".join(str(error).split()) or "no reason given")
        raise ValueError(f"OpenSpiel refuses {shown!r}: {cause[:300]}") from None


@contextmanager
def _silent() -> Iterator[None]:
    """Drops the lines that C++ code writes to standard error."""
    kept = None
    with suppress(OSError):  # it is closed
        kept = os.dup(2)
    if kept is not None:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        if kept is not None:
            os.dup2(kept, 2)
            os.close(kept)


def _checked(pyspiel: ModuleType, text: str) -> dict[str, Any]:
    """Returns the parameters of a game; raises a ValueError for common mistakes, for which OpenSpiel prints pages."""
    name, bracket, rest = text.strip().partition("(")
    specifications = _specifications(pyspiel)
    if name not in specifications:
        with suppress(ImportError):  # of a package that a game in Python wants
            importlib.import_module("open_spiel.python.games")  # registers them
        specifications = _specifications(pyspiel)
    if name not in specifications:
        raise ValueError(f"OpenSpiel has no game {name!r}{_meant(name, specifications)}")
    if text.count("(") != text.count(")") or (bracket and not rest.endswith(")")):
        raise ValueError(f"the brackets of the OpenSpiel game {text!r} do not match")
    known = specifications[name]
    parameters: dict[str, Any] = pyspiel.game_parameters_from_string(text.strip())
    for parameter, value in parameters.items():
        if parameter != "name" and parameter not in known:
            listed = _meant(parameter, known) or f"; there are: {', '.join(sorted(known)) or 'none'}"
            raise ValueError(f"OpenSpiel's {name} has no parameter {parameter!r}{listed}")
        if parameter.endswith(("file", "filename")) and value and not Path(str(value)).is_file():
            raise ValueError(f"OpenSpiel's {name} reads {parameter}={value}, and there is no such file")
    if "filename" in known and not parameters.get("filename"):
        raise ValueError(f"OpenSpiel's {name} needs a file: write {name}(filename=PATH)")
    return parameters


def _specifications(pyspiel: ModuleType) -> dict[str, Any]:
    """Returns the parameters of all games of OpenSpiel with their defaults."""
    return {kind.short_name: kind.parameter_specification for kind in pyspiel.registered_games()}


def _meant(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""


def _words(kind: Any) -> str:
    return str(kind.name).lower().replace("_", "-")


__all__ = [
    "Spiel",
    "has_constant_sum",
    "import_pyspiel",
    "load_openspiel",
    "mover_of",
    "moves_of",
    "name_of",
    "refusing",
    "sum_of",
]
