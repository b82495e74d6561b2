"""Commands that play with other programs: GuanDan over websockets, Geister over plain TCP."""

from typing import Annotated, Any

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, app
from dancfr.errors import UsageError

_Game = Annotated[str, typer.Argument(metavar="GAME", help="The game: guandan or geister.")]


@app.command(cls=Command)
def serve(
    game: _Game = "guandan",
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Port to listen on; 0 is any free one. Default: 23456; geister: 10000, for the first player.",
        ),
    ] = None,
    second_port: Annotated[
        int | None, typer.Option(metavar="N", help="geister: port for the second player; default: the next one.")
    ] = None,
    matches: Annotated[
        int | None, typer.Option(metavar="N", help="guandan: matches at each table; default: 1.")
    ] = None,
    tables: Annotated[
        int | None, typer.Option(metavar="N", help="guandan: end after so many tables; default: never.")
    ] = None,
    games: Annotated[
        int | None, typer.Option(metavar="N", help="geister: end after so many games; default: never.")
    ] = None,
    agents: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="Agents at the last seats, or at those that are not -: greedy,greedy,greedy or -,planner,-,planner; "
            "geister: rush, or rush,- for one that moves first.",
        ),
    ] = "",
    clock: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time for a decision; default: 30; geister: 10, after --reserve."),
    ] = None,
    reserve: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="geister: time in all, before --clock counts; default: 600."),
    ] = None,
    records: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="geister: record games there, a file each.")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(metavar="N", help="guandan: messages a second that a user may send besides answers; default: 20."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.")] = 0,
    joker_bomb: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            help="guandan: how the bomb of four jokers is written: competition or recording; default: competition.",
        ),
    ] = None,
    option: GameOptions = None,
    as_json: Json = False,
) -> None:
    """Serve games to other programs; Ctrl-C ends.

    Messages are those of the game's competition: GuanDan over websockets, Geister as lines over TCP.
    """

    def compute() -> output.Result:
        from dancfr.serve.commands import check_game

        check_game(game)
        if game == "geister":
            from dancfr.serve.geister import commands as geister

            _refuse(game, {"--matches": matches, "--tables": tables, "--rate": rate, "--joker-bomb": joker_bomb})
            chosen = geister.ServeRequest(
                host=host,
                port=_or(port, 10_000),
                second_port=second_port,
                games=games,
                agents=agents,
                clock=_or(clock, 10.0),
                reserve=_or(reserve, 600.0),
                records=records,
                seed=seed,
                options=tuple(option or ()),
            )
            return geister.serve_command(chosen)
        from dancfr.serve.guandan import commands as guandan

        _refuse(game, {"--second-port": second_port, "--games": games, "--reserve": reserve, "--records": records})
        wanted = guandan.ServeRequest(
            game=game,
            host=host,
            port=_or(port, 23_456),
            matches=_or(matches, 1),
            tables=tables,
            agents=agents,
            clock=_or(clock, 30.0),
            rate=_or(rate, 20.0),
            seed=seed,
            joker_bomb=_or(joker_bomb, "competition"),
            options=tuple(option or ()),
        )
        return guandan.serve_command(wanted)

    def describe(result: output.Result) -> str:
        from dancfr.serve.geister import commands as geister
        from dancfr.serve.guandan import commands as guandan

        return geister.describe_served(result) if game == "geister" else guandan.describe_served(result)

    output.deliver(compute, as_json, describe)


@app.command(cls=Command)
def connect(
    game: _Game = "guandan",
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="guandan: the seat at a server, e.g. ws://127.0.0.1:23456/game/NAME."),
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="geister: address of the server; default: 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", help="geister: port of the seat; default: 10000, which moves first; 10001 second."),
    ] = None,
    agent: Annotated[
        str, typer.Option(metavar="AGENT", help="Who plays: a bot (see `dancfr agents GAME`) or a run.")
    ] = "random",
    games: Annotated[
        int | None, typer.Option(metavar="N", help="geister: games to play, a connection each; default: 1.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the agent's random draws.")] = 0,
    retry: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="How long to try to come back: when the connection drops; geister: for the next game.",
        ),
    ] = 30.0,
    as_json: Json = False,
) -> None:
    """Let an agent play at a server until that ends the game.

    Messages are those of the game's competition.
    """

    def compute() -> output.Result:
        from dancfr.serve.commands import check_game

        check_game(game)
        if game == "geister":
            from dancfr.serve.geister import commands as geister

            _refuse(game, {"--url": url})
            return geister.connect_command(_or(host, "127.0.0.1"), _or(port, 10_000), agent, _or(games, 1), seed, retry)
        from dancfr.serve.guandan import commands as guandan

        _refuse(game, {"--host": host, "--port": port, "--games": games})
        return guandan.connect_command(game, url or "", agent, seed, retry)

    def describe(result: output.Result) -> str:
        from dancfr.serve.geister import commands as geister
        from dancfr.serve.guandan import commands as guandan

        return geister.describe_stay(result) if game == "geister" else guandan.describe_stay(result)

    output.deliver(compute, as_json, describe)


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _refuse(game: str, options: dict[str, Any]) -> None:
    """Refuses options that another game has."""
    for option, value in options.items():
        if value is not None:
            raise UsageError(f"{option} means nothing for {game}: leave it out")
