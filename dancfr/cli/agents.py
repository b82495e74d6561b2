"""The command `dancfr agents`, which lists the agents of a game."""

from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app


@app.command(cls=Command)
def agents(
    game: Annotated[
        str | None, typer.Argument(metavar="GAME", help="Name of a game, see `dancfr games`; default: geister.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the agents that can play a game."""

    def compute() -> output.Result:
        """Lists bots and runs; raises UsageError if the game is unknown."""
        from dancfr.agents.by_name import list_agents
        from dancfr.games.registry import DEFAULT, make_game

        name = DEFAULT if game is None else game
        return {"game": name, "agents": list_agents(make_game(name))}

    def describe(result: output.Result) -> str:
        found = result["agents"]
        if not found:
            return f"there are no agents for {result['game']}"
        told = output.table(found, list(found[0]), wrap=True)
        if game is None:
            told += f"\n\nthese are for {result['game']}; for another game: dancfr agents GAME"
        return told

    output.deliver(compute, as_json, describe)
