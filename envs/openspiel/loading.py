"""Games of OpenSpiel by their text, checked: two players, zero-sum, chance that can be listed, one move at a time."""

import difflib
from types import ModuleType
from typing import Any

from envs.extensive import CHANCE, OVER

EFG = "EFG "
"""How a game in Gambit's format begins."""

Spiel = Any
"""A game, state or policy of OpenSpiel, which has no types that could be checked."""


def import_pyspiel() -> ModuleType:
    """The module `pyspiel`.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
    """
    try:
        import pyspiel
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "games of OpenSpiel need the package open_spiel: pip install dancfr[openspiel]"
        ) from None
    return pyspiel


def load_openspiel(game: Any) -> Spiel:
    """An OpenSpiel game in which one player moves at a time.

    Args:
        game: As OpenSpiel writes it, ``leduc_poker`` or ``goofspiel(imp_info=True,num_cards=4)``; a text in Gambit's
            extensive-form format; or a `pyspiel.Game`. Simultaneous moves become moves in turn, the later ones made
            without seeing the earlier, by OpenSpiel's own conversion.

    Raises:
        ModuleNotFoundError: OpenSpiel is not installed.
        ValueError: no such game or parameter; a game that is not for two players, not zero-sum, or hides its chance.
    """
    pyspiel = import_pyspiel()
    loaded = _load(pyspiel, game) if isinstance(game, str) else game
    if not isinstance(loaded, pyspiel.Game):
        raise ValueError(f"an OpenSpiel game is a text or a pyspiel.Game, not {type(game).__name__}")
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
    """The text that a game was loaded from, unless it is long or in Gambit's format: then OpenSpiel's name."""
    text = str(game).strip().removesuffix("()")
    return str(loaded.get_type().short_name) if "\n" in text or len(text) > 200 else text


def mover_of(state: Spiel) -> int:
    """Who moves: a player, `CHANCE` or `OVER`."""
    if state.is_terminal():
        return OVER
    return CHANCE if state.is_chance_node() else int(state.current_player())


def moves_of(state: Spiel) -> list[tuple[int, float]]:
    """What can follow, by number, with the probability of an outcome of chance, or 1."""
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
    """Raises ValueError for the usual mistakes, of which OpenSpiel itself would print pages on standard error."""
    name, bracket, rest = text.strip().partition("(")
    specifications = {kind.short_name: kind.parameter_specification for kind in pyspiel.registered_games()}
    if name not in specifications:
        raise ValueError(f"OpenSpiel has no game {name!r}{_meant(name, specifications)}")
    if text.count("(") != text.count(")") or (bracket and not rest.endswith(")")):
        raise ValueError(f"{text!r} is no text of an OpenSpiel game: its brackets do not match")
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
