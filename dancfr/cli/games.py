"""The command `dancfr games`, which lists games and their options."""

from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app


@app.command(cls=Command)
def games(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of a game, of PettingZoo or OpenSpiel too; default: list all."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the games, or the options of a game."""

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
            f"{listed}\nand {zoo}MODULE for any two-player AEC environment of PettingZoo, "
            f"{spiel}GAME for any two-player zero-sum game of OpenSpiel"
        )

    output.deliver(compute, as_json, describe)
