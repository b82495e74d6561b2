"""Default depth limits of the registered games."""

from typing import Any

from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from learners.value_functions.limit import Limit

LIMITS = {
    "goofspiel": "actions:4",
    "goofspiel5": "actions:4",
    "kuhn": "actions:1",
    "leduc": "chances:3",
    "leduc_2b2r": "chances:2",
    "oshi_zumo": "actions:6",
    "oshi_zumo8_k1": "actions:6",
    "oshi_zumo8_k3": "actions:6",
}
"""Default depth limits (paper 003, table 2): the start of round 3 of goofspiel, 4 of oshi-zumo, 2 of Leduc hold'em."""
BY_DEAL = {"cards": "leduc", "ranks": "leduc_2b2r"}
"""Whose limit Leduc hold'em has by its option `deal`: the board follows two chance events, or one that deals both
hands."""


def limit_of(game: str, options: dict[str, Any], text: str | None) -> Limit:
    """Reads a depth limit.

    Args:
        game: Name of the game.
        options: Options of the game.
        text: The limit, see `Limit.parse`; None stands for the game's default.

    Raises:
        UsageError: the text is not a limit, or it is None and the game has no default.
    """
    made = make_game(game, **options)
    name = made.spec.name if made.spec.name in LIMITS else game
    if name in BY_DEAL.values():
        name = BY_DEAL[made.deal]  # type: ignore[attr-defined]
    own = LIMITS.get(name)
    if text is None and own is None:
        raise UsageError(f"{game} has no default depth limit: give limit=actions:N or limit=chances:N")
    try:
        return Limit.parse(own if text is None else text)  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(str(error)) from None
