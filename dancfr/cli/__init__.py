"""The command line: parses and calls. Heavy imports stay inside the commands, so that help and version are quick.

Commands that list things are in `dancfr.cli.lists`, those that talk to a server in `dancfr.cli.serve`.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from actors.cluster import THREADS
from dancfr.cli import output
from dancfr.cli.app import (
    AllowChanges,
    Command,
    Device,
    GameOptions,
    Json,
    Preset,
    Resume,
    app,
    check_training,
    choose,
)
from dancfr.errors import DancfrError, UsageError, nearest, warn

_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""


@app.command(cls=Command)
def train(
    preset: Preset,
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE",
            help="Settings that differ from the preset's; `dancfr presets PRESET` lists all keys with their meaning.",
        ),
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of the run; default: runs/PRESET-TIME.")
    ] = None,
    resume: Resume = False,
    allow_changes: AllowChanges = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Workers that play; default: as many as CPUs.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Ray to join (auto, host:port); default: starts one here.")
    ] = None,
    device: Device = "auto",
    wandb: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="W&B: online, offline or off; default: online if a key is configured."),
    ] = None,
    inline: Annotated[bool, typer.Option("--inline", help="Everything in this process, without Ray.")] = False,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Serve Ray's dashboard, on 127.0.0.1 only.")] = False,
    as_json: Json = False,
) -> None:
    """Train a preset; Ctrl-C writes a checkpoint and ends."""
    check_training(device, wandb)
    if dashboard and (inline or address is not None):
        raise UsageError("--dashboard is that of a Ray which is started here: leave out --inline and --address")

    def compute() -> output.Result:
        from dancfr.methods.launch import TrainRequest
        from dancfr.methods.launch import train as launch
        from dancfr.methods.options import TrainOptions

        options = TrainOptions(workers, address, device, inline, resume, dashboard=dashboard)
        result = launch(TrainRequest(preset, overrides or (), run_dir, wandb, options, allow_changes))
        if result["stopped"]:
            done = f"after iteration {result['iterations']}" if result["iterations"] else "before the first iteration"
            warn(f"stopped {done}; go on with: dancfr train {preset} --run-dir {result['run_dir']} --resume")
        return result

    output.deliver(compute, as_json, output.describe_training)


@app.command(cls=Command)
def evaluate(
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="A bot (see `dancfr agents`) or a run: random, rush, runs/x, runs/x@40, 'runs/x?average=exact'.",
        ),
    ],
    game: Annotated[str, typer.Option(metavar="NAME", help="Name of a game, see `dancfr games`.")] = "geister",
    against: Annotated[str, typer.Option(metavar="AGENT", help="The other agent.")] = "random",
    games: Annotated[int, typer.Option(metavar="N", help="Games, half of them in each seat.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.")] = 0,
    ply_limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="End games after so many plies; default: 300 in geister, elsewhere that of the run or of the game.",
        ),
    ] = None,
    option: GameOptions = None,
    exploitability: Annotated[
        bool, typer.Option("--exploitability", help="Also compute exactly what a best response would win.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Play an agent against another one."""
    if games < 1:
        raise UsageError(f"--games must be at least 1, not {games}")
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, not {seed}")

    def compute() -> output.Result:
        from dancfr.agents.commands import evaluate_command

        return evaluate_command(agent, game, against, games, seed, ply_limit, option or (), exploitability)

    output.deliver(compute, as_json, output.describe_match)


@app.command(cls=Command)
def tournament(
    agents: Annotated[
        list[str],
        typer.Argument(metavar="AGENT", help="Two or more bots or runs: random, greedy, runs/x, runs/x@40."),
    ],
    game: Annotated[str, typer.Option(metavar="NAME", help="Name of a game, see `dancfr games`.")] = "geister",
    games: Annotated[int, typer.Option(metavar="N", help="Games of each pair, half of them in each seat.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all that is random.")] = 0,
    option: GameOptions = None,
    as_json: Json = False,
) -> None:
    """Play every pair of agents; a table of win rates, and ratings."""
    if games < 1:
        raise UsageError(f"--games must be at least 1, not {games}")

    def compute() -> output.Result:
        from dancfr.agents.commands import tournament_command

        return tournament_command(agents, game, games, seed, option or ())

    output.deliver(compute, as_json, output.describe_tournament)


@app.command(cls=Command)
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs; several are compared.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of the report; default: that of the first run.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write an HTML page and figures of one or more runs."""

    def compute() -> output.Result:
        from dancfr.report.report import report as write_report

        return write_report(runs, out)

    output.deliver(compute, as_json, output.describe_files)


@app.command(cls=Command)
def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of an experiment; none lists them.")] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings for all its trainings.")
    ] = None,
    scale: Annotated[str, typer.Option(metavar="SCALE", help="quick (minutes) or paper (as published).")] = "quick",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of runs and report; what is there already is not trained again."),
    ] = None,
    seeds: Annotated[str | None, typer.Option(metavar="N,N,...", help="Seeds of each setting, e.g. 1,2,3.")] = None,
    game: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of an experiment of several games: which. Default: the first.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Workers that play; default: as many as CPUs.")
    ] = None,
    inline: Annotated[bool, typer.Option("--inline", help="Everything in this process, without Ray.")] = False,
    as_json: Json = False,
) -> None:
    """Repeat an experiment of a paper and compare its figures."""
    choose("--scale", scale, ("quick", "paper"))
    chosen = None if seeds is None else _integers("--seeds", seeds)

    def compute() -> output.Result:
        from dancfr.papers.reproduce import EXPERIMENTS
        from dancfr.papers.reproduce import reproduce as run_experiment

        if name is None:
            return {
                "experiments": [{"name": key, "description": each.description} for key, each in EXPERIMENTS.items()]
            }
        if name not in EXPERIMENTS:
            raise UsageError(nearest(name, list(EXPERIMENTS), "experiment"))
        return run_experiment(name, scale, out, chosen, workers, overrides or (), inline, game)

    def describe(result: output.Result) -> str:
        if "experiments" in result:
            return output.table(result["experiments"], ["name", "description"])
        return output.describe_files(result)

    output.deliver(compute, as_json, describe)


from dancfr.cli import exploit, jobs, lists, serve, solve, status  # noqa: E402, F401 (listed after those above)


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and ends the process: exit code 0 done, 1 failed, 2 wrong use."""
    _limit_threads()
    sys.exit(_run(arguments))


def _limit_threads() -> None:
    """Makes NumPy, torch and Numba compute on one thread, unless the environment asks for more.

    Every command computes on one core, or in Ray's actors, which have a core each. BLAS would otherwise start a thread
    for every core, whose waiting costs more than they compute where other processes need the cores too. Must run before
    NumPy is imported.
    """
    wanted = os.environ.get("OMP_NUM_THREADS", "1")  # which BLAS libraries use where their own variable is not set
    for name in THREADS:
        os.environ.setdefault(name, wanted)


def _run(arguments: list[str] | None) -> int:
    try:
        code = app(arguments, prog_name="dancfr", standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except DancfrError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("aborted; of a run, what the last checkpoint holds is kept", 1)
    except BrokenPipeError:  # whoever read the output has gone, as in `dancfr presets | head -1`
        sys.stderr.close()
        return 1
    except Exception as error:
        if hasattr(error, "format_message"):  # wrong use that the parser found; help, where nothing was said
            text = error.format_message()
            warn(text if "\n" in text else f"dancfr: {text.removesuffix('.')} (see dancfr --help)")
            return 2
        raise


def _fail(message: str, code: int) -> int:
    warn(f"dancfr: {' '.join(message.split())}")
    return code


def _integers(option: str, text: str) -> list[int]:
    from dancfr.values import parse_value

    try:
        values: list[int] = parse_value(text, list[int])
    except ValueError:
        values = []
    if len(values) != text.count(",") + 1 or min(values) < 0:  # parse_value passes over what is empty: 1,,2
        raise UsageError(f"{option} takes integers from 0, such as 1,2,3, not {text!r}")
    return values
