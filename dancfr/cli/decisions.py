"""The command `dancfr decisions`, which shows where two agents decide differently and who was right."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, app


@app.command(cls=Command)
def decisions(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Whose decisions are judged, as in `dancfr evaluate`.")],
    beside: Annotated[str, typer.Option(metavar="AGENT", help="Opponent whose decisions are compared.")] = "planner",
    game: Annotated[
        str, typer.Option(metavar="NAME", help="A game that sorts decisions by situation: guandan.")
    ] = "guandan",
    games: Annotated[int, typer.Option(metavar="N", help="Rounds that they play, half of them on each side.")] = 200,
    judged: Annotated[int, typer.Option(metavar="N", help="Decisions of each situation that are judged.")] = 100,
    deals: Annotated[int, typer.Option(metavar="N", help="Random deals in which each of these is judged.")] = 32,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of all random draws.")] = 0,
    option: GameOptions = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with examples, such as x.html.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show where two agents decide differently, and who was right."""

    def compute() -> output.Result:
        from dancfr.agents.decisions import decisions_command

        return decisions_command(agent, beside, game, games, judged, deals, seed, option or (), out)

    output.deliver(compute, as_json, output.describe_decisions)
