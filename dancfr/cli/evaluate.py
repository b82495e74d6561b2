"""The command `dancfr evaluate`, which plays a match between two agents."""

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
            help="A bot (see `dancfr agents`) or a run: runs/x, runs/x@40, 'runs/x?average=exact', 'runs/x?ms=50'; or "
            "hf:OWNER/NAME of the Hugging Face hub.",
        ),
    ],
    game: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Game, see `dancfr games`; default: that of the agents, or geister."),
    ] = None,
    against: Annotated[str | None, typer.Option(metavar="AGENT", help="Opponent; default: random.")] = None,
    games: Annotated[
        int, typer.Option(metavar="N", help="Number of games, half of them in each seat; 0: only --exploitability.")
    ] = 1000,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of all random draws; default: 0.")] = None,
    ply_limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Draw games after N plies; default: 300 in geister, otherwise the limit of the run or of the game.",
        ),
    ] = None,
    option: GameOptions = None,
    exploitability: Annotated[
        bool, typer.Option("--exploitability", help="Also compute the exact exploitability of the agent.")
    ] = False,
    readable: Annotated[
        bool,
        typer.Option(
            "--readable",
            help="Also measure how much of what the agent hides can be read from its play, by ply, in twice as many "
            "further games.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Play a match between two agents."""
    if games < 0 or (games == 0 and (readable or not exploitability)):
        alone = "" if games else "; 0 games leave the match out, for --exploitability alone"
        raise UsageError(f"--games must be at least 1, got {games}{alone}")
    if games == 0 and not (against is None and seed is None):
        raise UsageError("--games 0 plays no match: leave out --against and --seed")
    if seed is not None and seed < 0:
        raise UsageError(f"--seed must be at least 0, got {seed}")

    def compute() -> output.Result:
        from dancfr.agents.by_name import game_of
        from dancfr.agents.exact import exact_result
        from dancfr.agents.match import play

        if not games:
            return exact_result(agent, game_of((agent,), game), option or (), ply_limit)
        opponent = "random" if against is None else against
        match = play(
            agent,
            opponent,
            game_of((agent, opponent), game),
            games,
            seed or 0,
            options=option or (),
            ply_limit=ply_limit,
            exploitability=exploitability,
            readable=readable,
        )
        return match.as_dict()

    output.deliver(compute, as_json, output.describe_match)
