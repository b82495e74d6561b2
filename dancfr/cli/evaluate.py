"""`dancfr evaluate`."""

from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, app
from dancfr.errors import UsageError


@app.command(cls=Command)
def evaluate(
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="A bot (see `dancfr agents`) or a run: random, rush, runs/x, runs/x@40, 'runs/x?average=exact'.",
        ),
    ],
    game: Annotated[str, typer.Option(metavar="NAME", help="Name of a game, see `dancfr games`.")] = "geister",
    against: Annotated[str, typer.Option(metavar="AGENT", help="The other agent.")] = "random",
    games: Annotated[int, typer.Option(metavar="N", help="Games, half of them in each seat.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.")] = 0,
    ply_limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="End games after so many plies; default: 300 in geister, elsewhere that of the run or of the game.",
        ),
    ] = None,
    option: GameOptions = None,
    exploitability: Annotated[
        bool, typer.Option("--exploitability", help="Also compute exactly what a best response would win.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Play an agent against another one."""
    if games < 1:
        raise UsageError(f"--games must be at least 1, not {games}")
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, not {seed}")

    def compute() -> output.Result:
        from dancfr.agents.commands import evaluate_command

        return evaluate_command(agent, game, against, games, seed, ply_limit, option or (), exploitability)

    output.deliver(compute, as_json, output.describe_match)
