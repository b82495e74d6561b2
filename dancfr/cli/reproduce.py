"""The command `dancfr reproduce`, which repeats experiments of papers."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app, choose, integers
from dancfr.errors import UsageError, nearest


@app.command(cls=Command)
def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of an experiment; default: list all.")
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings for all trainings of the experiment.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="SCALE", help="quick (minutes) or paper (as published); default: quick.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the runs and the report; complete runs in it are reused."),
    ] = None,
    seeds: Annotated[str | None, typer.Option(metavar="N,N,...", help="Seeds of each setting, e.g. 1,2,3.")] = None,
    game: Annotated[
        str | None, typer.Option(metavar="NAME", help="Game, for experiments on several; default: the first.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Compare this run, or the runs in this folder, finished or not, and train nothing; may be repeated.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of workers that play; default: the number of CPUs.")
    ] = None,
    inline: Annotated[bool, typer.Option("--inline", help="Run everything in this process, without Ray.")] = False,
    as_json: Json = False,
) -> None:
    """Repeat an experiment of a paper and compare the results."""
    if name is None and any((scale, out, seeds, game, runs, workers is not None, inline)):
        raise UsageError("the options are those of an experiment: give its NAME, or leave them out for a list of all")
    size = "quick" if scale is None else scale
    choose("--scale", size, ("quick", "paper"))
    chosen = None if seeds is None else integers("--seeds", seeds)

    def compute() -> output.Result:
        from dancfr.papers.reproduce import EXPERIMENTS
        from dancfr.papers.reproduce import reproduce as run_experiment

        if name is None:
            return {
                "experiments": [{"name": key, "description": each.description} for key, each in EXPERIMENTS.items()]
            }
        if name not in EXPERIMENTS:
            raise UsageError(nearest(name, list(EXPERIMENTS), "experiment"))
        return run_experiment(name, size, out, chosen, workers, overrides or (), inline, game, runs or ())

    def describe(result: output.Result) -> str:
        if "experiments" in result:
            return output.table(result["experiments"], ["name", "description"])
        return output.describe_files(result)

    output.deliver(compute, as_json, describe)
