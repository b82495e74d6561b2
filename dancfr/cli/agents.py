"""The command `dancfr agents`, which lists the agents of a game."""

from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app


@app.command(cls=Command)
def agents(
    game: Annotated[str, typer.Argument(metavar="GAME", help="Name of a game, see `dancfr games`.")] = "geister",
    as_json: Json = False,
) -> None:
    """List the agents that can play a game."""

    def compute() -> output.Result:
        """Lists bots and runs; raises UsageError if the game is unknown."""
        from dancfr.agents.by_name import list_agents
        from dancfr.games.registry import make_game

        return {"game": game, "agents": list_agents(make_game(game))}

    def describe(result: output.Result) -> str:
        found = result["agents"]
        return output.table(found, list(found[0])) if found else f"there are no agents for {game}"

    output.deliver(compute, as_json, describe)
