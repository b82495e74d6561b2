"""The command `dancfr tournament`, which plays all pairs of agents."""

from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, app
from dancfr.cli.ratings_text import describe_tournament
from dancfr.errors import UsageError


@app.command(cls=Command)
def tournament(
    agents: Annotated[
        list[str],
        typer.Argument(metavar="AGENT", help="Two or more bots or runs: random, greedy, runs/x, runs/x@40."),
    ],
    game: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Game, see `dancfr games`; default: that of the agents, or geister."),
    ] = None,
    games: Annotated[int, typer.Option(metavar="N", help="Games per pair, half of them in each seat.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all random draws.")] = 0,
    option: GameOptions = None,
    as_json: Json = False,
) -> None:
    """Play all pairs of agents; print win rates and ratings."""
    if games < 1:
        raise UsageError(f"--games must be at least 1, got {games}")

    def compute() -> output.Result:
        from dancfr.agents.by_name import game_of
        from dancfr.agents.tournament import tournament as play_tournament

        return play_tournament(agents, game_of(agents, game), games, seed, options=option or ()).as_dict()

    output.deliver(compute, as_json, describe_tournament)
