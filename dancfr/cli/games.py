"""The command `dancfr games`, which lists games and their options."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, app
from dancfr.errors import UsageError

_PAGES = {"pettingzoo:": "docs/reference/environments.md", "openspiel:": "docs/reference/openspiel.md"}
"""Documents about games of other libraries, by prefix."""


@app.command(cls=Command)
def games(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of a game, of PettingZoo or OpenSpiel too; default: list all."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Play random games and check the game against its interface, its record (page, display, beliefs, "
            "adapter), and its tree if it has one.",
        ),
    ] = False,
    option: GameOptions = None,
    as_json: Json = False,
) -> None:
    """List the games, show the options of a game, or check it."""
    if option and not check:
        raise UsageError("--option is the option of a game to --check: give --check too")
    if check:
        if name is None:
            raise UsageError("--check needs the NAME of a game, see `dancfr games`")
        output.deliver(lambda: _check(name, option or []), as_json, _describe_check)
        return

    def compute() -> output.Result:
        """Returns the games with their options, and the prefixes of games of other libraries."""
        from dancfr.games.registry import OPENSPIEL, PETTINGZOO, describe_game, describe_games

        chosen = describe_games() if name is None else [describe_game(name)]
        return {"games": chosen, "prefixes": [PETTINGZOO, OPENSPIEL]}

    def describe(result: output.Result) -> str:
        if name is not None:
            return _describe_game(result["games"][0])
        listed = output.table(result["games"], ["name", "players", "actions", "max_plies", "description"])
        zoo, spiel = result["prefixes"]
        return (
            f"{listed}\nand {zoo}MODULE for any two-player environment of PettingZoo, "
            f"{spiel}GAME for any game of OpenSpiel with two or more players (docs/reference/openspiel.md)\n"
            "rules and options of one: dancfr games NAME"
        )

    output.deliver(compute, as_json, describe)


def _describe_game(game: output.Result) -> str:
    """Describes a game, each of its options, and where its rules are."""
    from dancfr.runs.keys import describe_settings

    parts = [game["description"]]
    if game["options"]:
        width = min(100, shutil.get_terminal_size((100, 24)).columns)
        parts.append(f"options and their defaults:\n\n{describe_settings(game['options'], game['meanings'], width)}")
    else:
        parts[0] += "; no options"
    if game["rules"] is not None:
        path = Path(game["rules"])
        shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        parts.append(f"rules, infostates, actions and options: {shown}")
    parts += [f"more: {page}" for prefix, page in _PAGES.items() if game["name"].startswith(prefix)]
    return "\n\n".join(parts)


def _check(name: str, settings: list[str]) -> output.Result:
    from dancfr.games.check import check

    return check(name, settings).as_dict()


def _describe_check(result: output.Result) -> str:
    from dancfr.games.check import GameCheck

    return repr(GameCheck(result))
