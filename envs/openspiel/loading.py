"""Loads games of OpenSpiel and checks them: two players, zero-sum, explicit chance, sequential moves."""

import difflib
from types import ModuleType
from typing import Any

from envs.extensive import CHANCE, OVER

EFG = "EFG "
"""Prefix of a game in Gambit's format."""

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
    return pyspiel


def load_openspiel(game: Any) -> Spiel:
    """Loads an OpenSpiel game with sequential moves.

    Args:
        game: OpenSpiel's text, such as ``leduc_poker`` or ``goofspiel(imp_info=True,num_cards=4)``; text in Gambit's
            extensive-form format; or a `pyspiel.Game`. OpenSpiel converts simultaneous moves to sequential ones, of
            which the later player does not see the earlier move.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: unknown game or parameter; or the game does not have two players, is not zero-sum, or samples chance
            implicitly.
    """
    pyspiel = import_pyspiel()
    loaded = _load(pyspiel, game) if isinstance(game, str) else game
    if not isinstance(loaded, pyspiel.Game):
        raise ValueError(f"an OpenSpiel game must be a string or a pyspiel.Game, got {type(game).__name__}")
    kind, name = loaded.get_type(), loaded.get_type().short_name
    if loaded.num_players() != 2:
        raise ValueError(f"OpenSpiel's {name} has {loaded.num_players()} players here; only games of 2 can be adapted")
    if kind.utility != pyspiel.GameType.Utility.ZERO_SUM:
        raise ValueError(f"OpenSpiel's {name} is {_words(kind.utility)}; only zero-sum games can be adapted")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise ValueError(f"OpenSpiel's {name} draws chance by itself; only games that list its outcomes can be adapted")
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(loaded)
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ValueError(
            f"OpenSpiel's {name} is {_words(kind.dynamics)}; only games with moves of players can be adapted"
        )
    return loaded


def name_of(game: Any, loaded: Spiel) -> str:
    """Returns the text of a game, or OpenSpiel's name if the text is long or in Gambit's format."""
    text = str(game).strip().removesuffix("()")
    return str(loaded.get_type().short_name) if "\n" in text or len(text) > 200 else text


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
    try:
        if text.lstrip().startswith(EFG):
            return pyspiel.load_efg_game(text)
        _check_text(pyspiel, text)
        return pyspiel.load_game(text)
    except (RuntimeError, LookupError, TypeError) as error:
        shown = text if len(text) <= 80 else text[:77] + "..."
        cause = next(iter(str(error).splitlines()), "no reason given")
        raise ValueError(f"OpenSpiel refuses {' '.join(shown.split())!r}: {cause}") from None


def _check_text(pyspiel: ModuleType, text: str) -> None:
    """Raises a ValueError for common mistakes, for which OpenSpiel would print pages to standard error."""
    name, bracket, rest = text.strip().partition("(")
    specifications = {kind.short_name: kind.parameter_specification for kind in pyspiel.registered_games()}
    if name not in specifications:
        raise ValueError(f"OpenSpiel has no game {name!r}{_meant(name, specifications)}")
    if text.count("(") != text.count(")") or (bracket and not rest.endswith(")")):
        raise ValueError(f"the brackets of the OpenSpiel game {text!r} do not match")
    known = specifications[name]
    for parameter in pyspiel.game_parameters_from_string(text.strip()):
        if parameter != "name" and parameter not in known:
            listed = _meant(parameter, known) or f"; there are: {', '.join(sorted(known)) or 'none'}"
            raise ValueError(f"OpenSpiel's {name} has no parameter {parameter!r}{listed}")


def _meant(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""


def _words(kind: Any) -> str:
    return str(kind.name).lower().replace("_", "-")


__all__ = ["Spiel", "import_pyspiel", "load_openspiel", "mover_of", "moves_of", "name_of"]
