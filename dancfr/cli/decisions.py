"""The command `dancfr decisions`, which shows where two agents decide differently and who was right."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, app


@app.command(cls=Command)
def decisions(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Agent to judge; names as in `dancfr evaluate`.")],
    beside: Annotated[str, typer.Option(metavar="AGENT", help="Opponent to compare with.")] = "planner",
    game: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A game that sorts decisions by situation, such as guandan; default: the agents' game, or guandan.",
        ),
    ] = None,
    games: Annotated[int, typer.Option(metavar="N", help="Number of rounds, half of them on each side.")] = 200,
    judged: Annotated[int, typer.Option(metavar="N", help="Number of decisions to judge in each situation.")] = 100,
    deals: Annotated[int, typer.Option(metavar="N", help="Number of random deals that judge a decision.")] = 32,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all random draws.")] = 0,
    option: GameOptions = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with examples, such as x.html.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare decisions of two agents, and judge the differences."""

    def compute() -> output.Result:
        from dancfr.agents.decisions import decisions_command

        return decisions_command(agent, beside, game, games, judged, deals, seed, option or (), out)

    output.deliver(compute, as_json, output.describe_decisions)
