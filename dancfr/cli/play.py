"""The commands `dancfr play` and `dancfr replay`, which show games in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, app

Host = Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")]
Port = Annotated[int, typer.Option(metavar="N", help="Port to listen on; 0 is any free one.")]
Pace = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Least time between moves of agents.  [default: 0.5, or 1 if all are agents]"),
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")]
Tables = Annotated[int, typer.Option(metavar="N", help="Games at the same time, at most.")]
Idle = Annotated[float, typer.Option(metavar="MINUTES", help="Close a game that no page has shown for this long.")]

PublicUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="Address of the page behind a reverse proxy, see docs/how-to/play.md.")
]


@app.command(cls=Command)
def play(
    game: Annotated[str, typer.Argument(metavar="GAME", help="Name of the game, see `dancfr games`.")],
    agent: Annotated[
        str | None,
        typer.Option(metavar="AGENT", help="Your opponent, see `dancfr agents GAME`; default: pretrained."),
    ] = None,
    seat: Annotated[int | None, typer.Option(metavar="N", help="Your seat; 0 moves first.")] = None,
    agents: Annotated[
        str,
        typer.Option(metavar="A,B,...", help="Agents by seat, instead of --agent; - is a user. With no -, you watch."),
    ] = "",
    study: Annotated[bool, typer.Option("--study", help="Show what the agent thinks while you play.")] = False,
    records: Annotated[
        str, typer.Option(metavar="FOLDER", help="Record games in this folder, a file for each; none: nowhere.")
    ] = "runs/games",
    host: Host = "127.0.0.1",
    port: Port = 0,
    public_url: PublicUrl = None,
    pace: Pace = None,
    tables: Tables = 64,
    idle_minutes: Idle = 60.0,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of all random draws.  [default: a new one each time]")
    ] = None,
    open_browser: Open = True,
    option: GameOptions = None,
    as_json: Json = False,
) -> None:
    """Play in the browser against agents, or watch them."""
    from dancfr.serve.browser import commands

    page = commands.PageOptions(
        host=host,
        port=port,
        pace=pace,
        tables=tables,
        idle_minutes=idle_minutes,
        open_browser=open_browser,
        public_url=public_url,
    )
    folder = None if records == "none" else Path(records)
    options = commands.PlayOptions(
        game=game,
        agent=agent,
        seat=seat,
        agents=agents,
        study=study,
        records=folder,
        seed=seed,
        options=tuple(option or ()),
        page=page,
    )
    output.deliver(lambda: commands.play(options), as_json, commands.describe)
    commands.leave_agents()


@app.command(cls=Command)
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A game recorded by `dancfr play` or `dancfr serve`.")],
    host: Host = "127.0.0.1",
    port: Port = 0,
    public_url: PublicUrl = None,
    pace: Pace = None,
    tables: Tables = 64,
    idle_minutes: Idle = 60.0,
    open_browser: Open = True,
    as_json: Json = False,
) -> None:
    """Show a recorded game in the browser; Ctrl-C ends."""
    from dancfr.serve.browser import commands

    page = commands.PageOptions(
        host=host,
        port=port,
        pace=pace,
        tables=tables,
        idle_minutes=idle_minutes,
        open_browser=open_browser,
        public_url=public_url,
    )
    output.deliver(lambda: commands.replay(file, page), as_json, commands.describe)
    commands.leave_agents()
