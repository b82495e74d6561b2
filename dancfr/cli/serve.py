"""The commands that play with other programs: `dancfr serve GAME` and `dancfr connect GAME`, a sub-command per game."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, app, choose
from dancfr.errors import UsageError, nearest


class Games(TyperGroup):
    """A command for each game. Without the name of a game the first one is used, as in `dancfr serve --port 0`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["GAME", "[OPTIONS]"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            from dancfr.games.registry import all_games  # loads the rules of all games

            if args[0] in all_games():
                named = " and ".join(sorted(self.commands))
                raise UsageError(
                    f"only {named} are served to other programs: dancfr play {args[0]} opens the page of {args[0]}"
                )
            raise UsageError(nearest(args[0], list(self.commands), "game that can be served"))
        return super().resolve_command(ctx, args)


serve = typer.Typer(
    cls=Games,
    help="Serve Geister or GuanDan to other programs; Ctrl-C ends.",
    rich_markup_mode=None,
)
connect = typer.Typer(
    cls=Games,
    help="Connect an agent to a game server.",
    rich_markup_mode=None,
)
app.add_typer(serve, name="serve")
app.add_typer(connect, name="connect")

Host = Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of all random draws.")]
Agent = Annotated[str, typer.Option(metavar="AGENT", help="The agent: a bot (see `dancfr agents GAME`) or a run.")]


@serve.command("guandan", cls=Command)
def serve_guandan(
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Port to listen on; 0 is any free one.")] = 23_456,
    public_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Web page that may play here, or address of the server behind a proxy."),
    ] = None,
    matches: Annotated[int, typer.Option(metavar="N", help="Matches at each table.")] = 1,
    tables: Annotated[
        int | None, typer.Option(metavar="N", help="End after this number of tables; default: never.")
    ] = None,
    agents: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="Agents in the last seats, or in those that are not -: greedy,greedy,greedy or -,planner,-,planner.",
        ),
    ] = "",
    clock: Annotated[float, typer.Option(metavar="SECONDS", help="Time for a decision.")] = 30.0,
    rate: Annotated[
        float, typer.Option(metavar="N", help="Messages a second that a user may send in addition to answers.")
    ] = 20.0,
    seed: Seed = 0,
    joker_bomb: Annotated[
        str,
        typer.Option(metavar="FORM", help="How the bomb of four jokers is written: competition or recording."),
    ] = "competition",
    records: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Record matches in this folder, a file for each.")
    ] = None,
    option: GameOptions = None,
    as_json: Json = False,
) -> None:
    """Serve GuanDan over WebSockets; Ctrl-C ends.

    Messages are those of the GuanDan competition, in JSON.
    """
    choose("--joker-bomb", joker_bomb, ("competition", "recording"))
    from dancfr.serve.guandan import commands
    from dancfr.serve.thread import leave_agents

    form: Any = joker_bomb
    options = commands.ServeOptions(
        host=host,
        port=port,
        matches=matches,
        tables=tables,
        agents=agents,
        clock=clock,
        rate=rate,
        seed=seed,
        joker_bomb=form,
        options=tuple(option or ()),
        records=records,
        public_url=public_url,
    )
    output.deliver(lambda: commands.serve(options), as_json, commands.describe_served)
    leave_agents()


@serve.command("geister", cls=Command)
def serve_geister(
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Port for the first player; 0 is any free one.")] = 10_000,
    second_port: Annotated[
        int | None, typer.Option(metavar="N", help="Port for the second player; default: the one after --port.")
    ] = None,
    games: Annotated[
        int | None, typer.Option(metavar="N", help="End after this number of games; default: never.")
    ] = None,
    agents: Annotated[
        str,
        typer.Option(metavar="A,B", help="Agents by seat, - for a user: rush or -,rush; rush,- moves first."),
    ] = "",
    clock: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time for a decision once --reserve is used up.")
    ] = 10.0,
    reserve: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time for a whole game, before --clock counts.")
    ] = 600.0,
    pace: Annotated[
        float | None,
        typer.Option(
            metavar="MS",
            help="Least milliseconds between two lines to a player; default: 20 against an agent of --agents, else 0.",
        ),
    ] = None,
    records: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Record games in this folder, a file for each.")
    ] = None,
    seed: Seed = 0,
    option: GameOptions = None,
    as_json: Json = False,
) -> None:
    """Serve Geister over TCP; Ctrl-C ends.

    Messages are the lines of the Geister competition.
    """
    from dancfr.serve.geister import commands
    from dancfr.serve.thread import leave_agents

    options = commands.ServeOptions(
        host=host,
        port=port,
        second_port=second_port,
        games=games,
        agents=agents,
        clock=clock,
        reserve=reserve,
        records=records,
        seed=seed,
        pace=pace,
        options=tuple(option or ()),
    )
    output.deliver(lambda: commands.serve(options), as_json, commands.describe_served)
    leave_agents()


@connect.command("guandan", cls=Command)
def connect_guandan(
    url: Annotated[
        str, typer.Option(metavar="URL", help="The seat at a server, e.g. ws://127.0.0.1:23456/game/NAME.")
    ] = "",
    agent: Agent = "random",
    seed: Seed = 0,
    retry: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to try to reconnect after the connection drops.")
    ] = 30.0,
    as_json: Json = False,
) -> None:
    """Connect an agent to a GuanDan server, until the server ends.

    Messages are those of the GuanDan competition, over WebSockets.
    """
    from dancfr.serve.guandan import commands

    output.deliver(lambda: commands.connect(url, agent, seed, retry), as_json, commands.describe_connected)


@connect.command("geister", cls=Command)
def connect_geister(
    host: Annotated[str, typer.Option(metavar="HOST", help="Address of the server.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", help="Port of the seat; 10000 usually moves first, 10001 second.")
    ] = 10_000,
    agent: Agent = "random",
    games: Annotated[int, typer.Option(metavar="N", help="Games to play, a connection for each.")] = 1,
    seed: Seed = 0,
    retry: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to try to connect for the next game.")
    ] = 30.0,
    as_json: Json = False,
) -> None:
    """Connect an agent to a Geister server.

    Messages are the lines of the Geister competition, over TCP.
    """
    from dancfr.serve.geister import commands

    output.deliver(
        lambda: commands.connect(host, port, agent, games, seed, retry), as_json, commands.describe_connected
    )
