"""Commands that play over websockets."""

from typing import Annotated

import typer

from dancfr import output
from dancfr.cli_app import Command, GameOptions, Json, app


@app.command(cls=Command)
def serve(
    game: Annotated[str, typer.Argument(metavar="GAME", help="The game: guandan.")] = "guandan",
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Port to listen on; 0 is any free one.")] = 23456,
    matches: Annotated[int, typer.Option(metavar="N", help="Matches at each table.")] = 1,
    tables: Annotated[int | None, typer.Option(metavar="N", help="End after so many tables; default: never.")] = None,
    agents: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="Agents at the last seats, or at those that are not -: greedy,greedy,greedy or -,planner,-,planner.",
        ),
    ] = "",
    clock: Annotated[float, typer.Option(metavar="SECONDS", help="Time for a decision.")] = 30.0,
    rate: Annotated[
        float, typer.Option(metavar="N", help="Messages a second that a user may send besides answers.")
    ] = 20.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.")] = 0,
    joker_bomb: Annotated[
        str, typer.Option(metavar="FORM", help="How the bomb of four jokers is written: competition or recording.")
    ] = "competition",
    option: GameOptions = None,
    as_json: Json = False,
) -> None:
    """Serve tables over websockets; Ctrl-C ends.

    Messages are those of the competition.
    """

    def compute() -> output.Result:
        from dancfr.serve.commands import ServeRequest, serve_command

        wanted = ServeRequest(
            game, host, port, matches, tables, agents, clock, rate, seed, joker_bomb, tuple(option or ())
        )
        return serve_command(wanted)

    def describe(result: output.Result) -> str:
        from dancfr.serve.commands import describe_served

        return describe_served(result)

    output.deliver(compute, as_json, describe)


@app.command(cls=Command)
def connect(
    game: Annotated[str, typer.Argument(metavar="GAME", help="The game: guandan.")] = "guandan",
    url: Annotated[
        str, typer.Option(metavar="URL", help="The seat at a server, e.g. ws://127.0.0.1:23456/game/NAME.")
    ] = "",
    agent: Annotated[
        str, typer.Option(metavar="AGENT", help="Who plays: a bot (see `dancfr agents guandan`) or a run.")
    ] = "random",
    seed: Annotated[int, typer.Option(metavar="N", help="Of the agent's random draws.")] = 0,
    retry: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to try to come back when the connection drops.")
    ] = 30.0,
    as_json: Json = False,
) -> None:
    """Let an agent play at a server until that ends the game.

    Messages are those of the competition.
    """

    def compute() -> output.Result:
        from dancfr.serve.commands import connect_command

        return connect_command(game, url, agent, seed, retry)

    def describe(result: output.Result) -> str:
        from dancfr.serve.commands import describe_stay

        return describe_stay(result)

    output.deliver(compute, as_json, describe)
