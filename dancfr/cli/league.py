"""The command `dancfr league`, which lets agents play each other and rates them."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, RayAddress, app
from dancfr.cli.ratings_text import describe_league
from dancfr.errors import require_packages


@app.command(cls=Command)
def league(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the league, made at its first use.")],
    game: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of a game; default: the league's, the agents', or geister."),
    ] = None,
    option: GameOptions = None,
    add: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AGENT",
            help="Agent that enters the league, as in `dancfr evaluate`; may be repeated. Default for a new league: "
            "all bots.",
        ),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="AGENT", help="Member that leaves the league; may be repeated.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(metavar="N", help="Minutes of play; default: 5, unless --games is given.")
    ] = None,
    games: Annotated[
        int | None, typer.Option(metavar="N", help="Games to play, in whole batches; 0 shows the standings only.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="N", help="Games that a pair plays at a time, set at first use; default: 100.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of workers that play; default: the number of CPUs.")
    ] = None,
    address: RayAddress = None,
    inline: Annotated[bool, typer.Option("--inline", help="Play in this process, without Ray.")] = False,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of all games, set at first use; default: 0.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Rate agents by games between them, within a budget."""

    def compute() -> output.Result:
        from dancfr.agents.league.driver import play_league
        from dancfr.agents.league.membership import LeagueRequest
        from dancfr.methods.options import TrainOptions
        from dancfr.report.league import write_matrix

        require_packages("matplotlib")  # it draws the matrix, after the games
        request = LeagueRequest(
            folder=folder,
            game=game,
            settings=option or (),
            add=add or (),
            remove=remove or (),
            minutes=minutes,
            games=games,
            batch=batch,
            seed=seed,
            options=TrainOptions(workers=workers, address=address, inline=inline),
        )
        return play_league(request, write_matrix)

    output.deliver(compute, as_json, describe_league)
