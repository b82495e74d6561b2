"""The command `dancfr solve`, which solves games that have a tree."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, GameOptions, Json, app
from dancfr.errors import UsageError


@app.command(cls=Command)
def solve(
    game: Annotated[str, typer.Argument(metavar="GAME", help="Game that has a tree: kuhn, leduc, goofspiel5, ...")],
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Options of the algorithm, e.g. epsilon=0.5.")
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="cfr, cfr+, linear-cfr, dcfr, dcfr+, pcfr+ or pdcfr+ (predictive), mmd (magnetic mirror descent), "
            "chance-sampled, external-sampling, outcome-sampling, vr-mccfr, dl-cfr+ or cfr-d (both depth-limited), or "
            "lp (linear program).",
        ),
    ] = "cfr+",
    iterations: Annotated[int, typer.Option(metavar="N", help="Iterations.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of sampling algorithms.")] = 0,
    option: GameOptions = None,
    warm_start: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Strategy to start from, as written by --out.")
    ] = None,
    warm_weight: Annotated[
        float | None, typer.Option(metavar="N", help="Weight of that strategy, in iterations; default: 1.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the average strategy to this file, which can play as an agent."),
    ] = None,
    max_nodes: Annotated[int, typer.Option(metavar="N", help="Maximum number of nodes of the tree.")] = 20_000_000,
    as_json: Json = False,
) -> None:
    """Solve a small game by CFR, MMD or a linear program."""
    if max_nodes < 1:
        raise UsageError(f"--max-nodes must be at least 1, got {max_nodes}")

    def compute() -> output.Result:
        """Returns the result of `dancfr.agents.solving.solve`."""
        from dancfr.agents.solving import solve as run_solver

        solution = run_solver(
            game,
            algorithm,
            iterations,
            seed,
            options=option or (),
            settings=settings or (),
            warm_start=warm_start,
            warm_weight=warm_weight,
            out=out,
            most_nodes=max_nodes,
        )
        return solution.as_dict()

    output.deliver(compute, as_json, output.describe_solution)
