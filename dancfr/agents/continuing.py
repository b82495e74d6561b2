"""Checks of requests whose work has a limit of time and may be continued later: those for responses and leagues."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from dancfr.errors import UsageError
from dancfr.games.registry import known_options, read_options
from dancfr.values import show, split_settings

MONTH = 60 * 24 * 30


def check_minutes(option: str, minutes: float | None) -> None:
    """Raises UsageError if a limit of time is not positive, or more than a month."""
    if minutes is not None and not 0 < minutes <= MONTH:
        raise UsageError(f"{option} must be more than 0 and at most a month ({MONTH}), got {minutes:g}")


def refuse_fixed(settings: Sequence[str], fixed: Container[str], game: str) -> None:
    """Raises UsageError if a setting of a response's training is fixed, or has an option of the command.

    Args:
        settings: ``key=value`` settings of the request.
        fixed: Such keys, up to a dot.
        game: Name of the game.
    """
    for key in split_settings(settings):
        if key.partition(".")[0] in fixed:
            raise UsageError(
                f"{key} is not a setting of a response in {game}: leave it out, or use the command's options"
            )


def options_kept(
    game: str, stored: Mapping[str, Any], settings: Sequence[str]
) -> tuple[dict[str, Any], dict[str, tuple[Any, Any]]]:
    """Returns the options of a stored game with their defaults, and by ``--option KEY`` the values that a request asks
    for, each with the stored one.

    Args:
        game: Name of the game.
        stored: The options that are stored.
        settings: ``key=value`` options of the request.

    Raises:
        UsageError: a setting is not valid.
    """
    options = {**(known_options(game) or {}), **stored}
    given = read_options(game, settings)
    return options, {f"--option {key}": (value, options.get(key)) for key, value in given.items()}


def refuse_differences(given: Mapping[str, tuple[Any, Any]], work: str, folder: Path, cure: str) -> None:
    """Raises UsageError if a request differs from the work that it continues.

    Args:
        given: By option the value that the request asks for, None if it asks for none, and the stored one.
        work: The work that is continued, such as ``the league``.
        folder: Its folder.
        cure: The choice for those who want something else, such as ``another folder``.
    """
    for option, (asked, kept) in given.items():
        if asked is not None and asked != kept:
            raise UsageError(
                f"{option} {show(asked)} differs from that of {work} in {folder}, {show(kept)}: leave it out, or "
                f"choose {cure}"
            )
