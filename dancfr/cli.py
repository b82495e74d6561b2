"""The command line: parses and calls. Heavy imports stay inside the commands, so that help and version are quick."""

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dancfr import output
from dancfr.errors import DancfrError, UsageError, nearest, warn

app = typer.Typer(
    help="Train and evaluate agents for games of hidden information: DREAM on Geister with Ray.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _Command(TyperCommand):
    """A command whose help has the names of arguments only: typer would put Python's types beside them."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """``RUN...`` for what typer writes as ``{RUN}...``; brackets stay, since they mean what may be left out."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options."""
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            rows = []
            for parameter in self.get_params(ctx):
                record = parameter.get_help_record(ctx) if parameter.param_type_name == kind else None
                if record is not None:
                    name = record[0].split(" <")[0] if kind == "argument" else record[0]
                    rows.append((f"{name}..." if kind == "argument" and parameter.nargs == -1 else name, record[1]))
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


GameOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of the game, see `dancfr games`; repeat for more."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]


@app.command(cls=_Command)
def train(
    preset: Annotated[str, typer.Argument(metavar="PRESET", help="Name of a preset, see `dancfr presets`.")],
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
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in --run-dir.")] = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Workers that play; default: as many as CPUs.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Ray to join (auto, host:port); default: starts one here.")
    ] = None,
    device: Annotated[str, typer.Option(metavar="DEVICE", help="Where nets are trained: cpu, cuda or auto.")] = "auto",
    wandb: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="W&B: online, offline or off; default: online if a key is configured."),
    ] = None,
    inline: Annotated[bool, typer.Option("--inline", help="Everything in this process, without Ray.")] = False,
    as_json: Json = False,
) -> None:
    """Train a preset; Ctrl-C writes a checkpoint and ends."""
    _choose("--device", device, ("cpu", "cuda", "auto"))
    if wandb is not None:
        _choose("--wandb", wandb, ("online", "offline", "off"))

    def compute() -> output.Result:
        from dancfr.launch import TrainRequest
        from dancfr.launch import train as launch
        from dancfr.options import TrainOptions

        options = TrainOptions(workers, address, device, inline, resume)
        return launch(TrainRequest(preset, overrides or (), run_dir, wandb, options))

    output.deliver(compute, as_json, output.describe_training)


@app.command(cls=_Command)
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
    as_json: Json = False,
) -> None:
    """Play an agent against another one."""
    if games < 1:
        raise UsageError(f"--games must be at least 1, not {games}")
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, not {seed}")

    def compute() -> output.Result:
        from dancfr.evaluation import evaluate_command

        return evaluate_command(agent, game, against, games, seed, ply_limit, option or ())

    output.deliver(compute, as_json, output.describe_match)


@app.command(cls=_Command)
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
        from dancfr.evaluation import tournament_command

        return tournament_command(agents, game, games, seed, option or ())

    output.deliver(compute, as_json, output.describe_tournament)


@app.command(cls=_Command)
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs; several are compared.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of the report; default: that of the first run.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write an HTML page and figures of one or more runs."""

    def compute() -> output.Result:
        from dancfr.evaluation import report_command

        return report_command(runs, out)

    output.deliver(compute, as_json, output.describe_files)


@app.command(cls=_Command)
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
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Workers that play; default: as many as CPUs.")
    ] = None,
    inline: Annotated[bool, typer.Option("--inline", help="Everything in this process, without Ray.")] = False,
    as_json: Json = False,
) -> None:
    """Repeat an experiment of a paper and compare its figures."""
    _choose("--scale", scale, ("quick", "paper"))
    chosen = None if seeds is None else _integers("--seeds", seeds)

    def compute() -> output.Result:
        from dancfr.evaluation.reproduce import EXPERIMENTS
        from dancfr.evaluation.reproduce import reproduce as run_experiment

        if name is None:
            return {
                "experiments": [{"name": key, "description": each.description} for key, each in EXPERIMENTS.items()]
            }
        if name not in EXPERIMENTS:
            raise UsageError(nearest(name, list(EXPERIMENTS), "experiment"))
        return run_experiment(name, scale, out, chosen, workers, overrides or (), inline)

    def describe(result: output.Result) -> str:
        if "experiments" in result:
            return output.table(result["experiments"], ["name", "description"])
        return output.describe_files(result)

    output.deliver(compute, as_json, describe)


@app.command(cls=_Command)
def bench(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of a benchmark; none lists them.")] = None,
    as_json: Json = False,
) -> None:
    """Measure a part of the program beside what limits it."""

    def compute() -> output.Result:
        from dancfr.bench import BENCHES

        if name is None:
            return {"benches": [{"name": key, "description": each.description} for key, each in BENCHES.items()]}
        if name not in BENCHES:
            raise UsageError(nearest(name, list(BENCHES), "benchmark"))
        return BENCHES[name]()

    def describe(result: output.Result) -> str:
        if "benches" in result:
            return output.table(result["benches"], ["name", "description"])
        return output.describe_bench(result)

    output.deliver(compute, as_json, describe)


@app.command(cls=_Command)
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


@app.command(cls=_Command)
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


@app.command(cls=_Command)
def games(as_json: Json = False) -> None:
    """List the games and their options."""

    def compute() -> output.Result:
        from dancfr.registry import PETTINGZOO, describe_games

        return {"games": describe_games(), "prefixes": [PETTINGZOO]}

    def describe(result: output.Result) -> str:
        listed = output.table(result["games"], ["name", "players", "actions", "max_plies", "description"])
        return f"{listed}\nand {result['prefixes'][0]}MODULE for any two-player AEC environment of PettingZoo"

    output.deliver(compute, as_json, describe)


@app.command(cls=_Command)
def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show all settings of this preset and what they mean.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the presets, or the settings of one and what they mean."""

    def compute() -> output.Result:
        from dancfr.config import flatten
        from dancfr.keys import describe_keys
        from dancfr.launch import find_preset
        from dancfr.presets import PRESETS

        chosen = list(PRESETS.values()) if name is None else [find_preset(name)]
        return {
            "presets": [
                {
                    "name": preset.name,
                    "method": preset.method,
                    "description": preset.description,
                    "config": {key: _jsonable(value) for key, value in flatten(preset.config)},
                    "descriptions": describe_keys(preset.config),
                }
                for preset in chosen
            ]
        }

    def describe(result: output.Result) -> str:
        if name is None:
            return output.table(result["presets"], ["name", "method", "description"])
        from dancfr.keys import describe_settings

        (preset,) = result["presets"]
        width = min(100, shutil.get_terminal_size((100, 24)).columns)
        return describe_settings(preset["config"], preset["descriptions"], width)

    output.deliver(compute, as_json, describe)


@app.command(cls=_Command)
def agents(
    game: Annotated[str, typer.Argument(metavar="GAME", help="Name of a game, see `dancfr games`.")] = "geister",
    as_json: Json = False,
) -> None:
    """List the agents that can play a game."""

    def compute() -> output.Result:
        from dancfr.evaluation.agents import list_agents
        from dancfr.registry import make_game

        return {"game": game, "agents": list_agents(make_game(game))}

    def describe(result: output.Result) -> str:
        found = result["agents"]
        return output.table(found, list(found[0])) if found else f"no agent can play {game}"

    output.deliver(compute, as_json, describe)


@app.command(cls=_Command)
def version(as_json: Json = False) -> None:
    """Tell the versions of dancfr and of what it stands on."""

    def compute() -> output.Result:
        from dancfr.provenance import provenance

        return provenance()

    def describe(result: output.Result) -> str:
        revision = f" ({result['git_revision']})" if result["git_revision"] else ""
        versions = ", ".join(f"{name} {number}" for name, number in result["packages"].items())
        return f"dancfr {result['version']}{revision}, Python {result['python']}\n{versions}"

    output.deliver(compute, as_json, describe)


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and ends the process: exit code 0 done, 1 failed, 2 wrong use."""
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        code = app(arguments, prog_name="dancfr", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except DancfrError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("aborted; what the last checkpoint holds is kept", 1)
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


def _choose(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{option} is {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}")


def _integers(option: str, text: str) -> list[int]:
    from dancfr.values import parse_value

    try:
        values: list[int] = parse_value(text, list[int])
    except ValueError:
        values = []
    if len(values) != text.count(",") + 1 or min(values) < 0:  # parse_value passes over what is empty: 1,,2
        raise UsageError(f"{option} takes integers from 0, such as 1,2,3, not {text!r}")
    return values


def _jsonable(value: object) -> object:
    return str(value) if not isinstance(value, (str, int, float, bool, list, tuple, dict, type(None))) else value
