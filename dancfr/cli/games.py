"""The command `dancfr games`, which lists games and their options."""

from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, app
from dancfr.errors import UsageError


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
            options = [{"option": key, "default": value} for key, value in result["games"][0]["options"].items()]
            text = result["games"][0]["description"]
            return f"{text}\n\n{output.table(options, ['option', 'default'])}" if options else f"{text}; no options"
        listed = output.table(result["games"], ["name", "players", "actions", "max_plies", "description"])
        zoo, spiel = result["prefixes"]
        return (
            f"{listed}\nand {zoo}MODULE for any two-player environment of PettingZoo, "
            f"{spiel}GAME for any game of OpenSpiel with two or more players (docs/reference/openspiel.md)"
        )

    output.deliver(compute, as_json, describe)


def _check(name: str, settings: list[str]) -> output.Result:
    from dancfr.games.check import check

    return check(name, settings).as_dict()


def _describe_check(result: output.Result) -> str:
    from dancfr.games.check import GameCheck

    return repr(GameCheck(result))
