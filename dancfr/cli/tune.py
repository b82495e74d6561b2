"""The command `dancfr tune`, which searches settings of a preset."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Device, Json, Preset, RayAddress, app, check_training


@app.command(cls=Command)
def tune(
    preset: Preset,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Settings of all trials, e.g. their budget: minutes=2."),
    ] = None,
    space: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML file with the range or the choices of each setting to search."),
    ] = None,
    trials: Annotated[int | None, typer.Option(metavar="N", help="Number of trials.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="exploitability (NashConv, minimised) or wins:BOT (maximised); default: exploitability, if the "
            "preset evaluates it.",
        ),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(metavar="N", help="Begin no trial after so many minutes; default: no limit.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", help="Runs per trial, whose mean is its value; default: 1.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of the search; default: 0.")] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            metavar="PERCENT",
            help="Trials that an evaluation keeps; the others end early. Default: 50, the better half; 100: all.",
        ),
    ] = None,
    report_seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Runs with new seeds of the best settings, and of the preset's own, at the end; default: 3; 0: none.",
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of the search; default: runs/tune-PRESET.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the search in --folder.")] = False,
    parallel: Annotated[
        int, typer.Option(metavar="N", help="Trials at the same time, each in one process of Ray; default: 1.")
    ] = 1,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of workers that play; default: the number of CPUs.")
    ] = None,
    address: RayAddress = None,
    device: Device = "auto",
    inline: Annotated[bool, typer.Option("--inline", help="Run everything in this process, without Ray.")] = False,
    as_json: Json = False,
) -> None:
    """Search the best settings of a preset, with Optuna."""
    check_training(device, None)

    def compute() -> output.Result:
        from dancfr.methods.options import TrainOptions
        from dancfr.tuning.search import SearchRequest
        from dancfr.tuning.search import tune as search

        options = TrainOptions(workers=workers, address=address, device=device, inline=inline, resume=resume)
        request = SearchRequest(
            preset=preset,
            folder=folder or Path("runs") / f"tune-{preset}",
            overrides=overrides or (),
            space=space,
            trials=trials,
            metric=metric,
            minutes=minutes,
            seeds=seeds,
            seed=seed,
            keep=keep,
            report_seeds=report_seeds,
            parallel=parallel,
            options=options,
        )
        return search(request)

    output.deliver(compute, as_json, describe)


def describe(result: output.Result) -> str:
    """Formats the result of `dancfr tune`."""
    from dancfr.tuning.metric import Metric

    metric = Metric(result["metric"])
    states = [trial["state"] for trial in result["trials"]]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    best, lines = result["best"], [f"{result['folder']}: {counts}" if counts else f"{result['folder']}: no trial yet"]
    if best is None:
        return lines[0]
    over = f"mean of {len(result['seeds'])} seeds" if len(result["seeds"]) > 1 else "1 seed"
    lines.append(f"best: trial {best['number']}, {metric.label} {metric.format(best['value'])} ({over})")
    lines.append(f"  {best['command']}")
    if result["importance"]:
        shares = ", ".join(f"{key} {100 * share:.0f} %" for key, share in result["importance"].items())
        lines.append(f"importance: {shares}")
    if (comparison := result["comparison"]) is not None:
        new = len(comparison["seeds"])
        lines.append(f"trained again with {new} new seed{'s' * (new > 1)} and the same budget, {metric.label}:")
        for each, name in (("best", "best settings"), ("preset", "preset's own settings")):
            found = comparison[each]
            interval = ""
            if found["ci95"] is not None:
                low, high = map(metric.format, found["ci95"])
                interval = f" (95 % interval {low} to {high})"
            lines.append(f"  {name}: {metric.format(found['mean'])}{interval}")
    return "\n".join([*lines, *result["files"]])
