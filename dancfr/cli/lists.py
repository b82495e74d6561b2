"""Commands that list what there is, and `bench`, which measures it."""

import shutil
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app
from dancfr.errors import UsageError, nearest


@app.command(cls=Command)
def bench(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of a benchmark; none lists them.")] = None,
    as_json: Json = False,
) -> None:
    """Measure a part of the program beside what limits it."""

    def compute() -> output.Result:
        """What the benchmark measured, or all there are. Raises a UsageError for an unknown name."""
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


@app.command(cls=Command)
def games(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show the options of this game.")] = None,
    as_json: Json = False,
) -> None:
    """List the games, or the options of one."""

    def compute() -> output.Result:
        """The games with their options, and the prefixes of further ones."""
        from dancfr.games.registry import OPENSPIEL, PETTINGZOO, describe_games

        described = describe_games()
        if name is not None and name not in (known := [game["name"] for game in described]):
            raise UsageError(nearest(name, known, "game"))
        chosen = [game for game in described if name in (None, game["name"])]
        return {"games": chosen, "prefixes": [PETTINGZOO, OPENSPIEL]}

    def describe(result: output.Result) -> str:
        if name is not None:
            options = [{"option": key, "default": value} for key, value in result["games"][0]["options"].items()]
            told = result["games"][0]["description"]
            return f"{told}\n\n{output.table(options, ['option', 'default'])}" if options else f"{told}; no options"
        listed = output.table(result["games"], ["name", "players", "actions", "max_plies", "description"])
        zoo, spiel = result["prefixes"]
        return (
            f"{listed}\nand {zoo}MODULE for any two-player AEC environment of PettingZoo, "
            f"{spiel}GAME for any two-player zero-sum game of OpenSpiel"
        )

    output.deliver(compute, as_json, describe)


@app.command(cls=Command)
def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show all settings of this preset and what they mean.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the presets, or the settings of one and what they mean."""

    def compute() -> output.Result:
        """The presets asked for, with their keys. Raises a UsageError for an unknown name."""
        from dancfr.methods.launch import find_preset
        from dancfr.methods.presets import PRESETS
        from dancfr.runs.config import flatten
        from dancfr.runs.keys import describe_keys

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
        from dancfr.runs.keys import describe_settings

        (preset,) = result["presets"]
        width = min(100, shutil.get_terminal_size((100, 24)).columns)
        return describe_settings(preset["config"], preset["descriptions"], width)

    output.deliver(compute, as_json, describe)


@app.command(cls=Command)
def agents(
    game: Annotated[str, typer.Argument(metavar="GAME", help="Name of a game, see `dancfr games`.")] = "geister",
    as_json: Json = False,
) -> None:
    """List the agents that can play a game."""

    def compute() -> output.Result:
        """Bots and runs. Raises a UsageError for an unknown game."""
        from dancfr.agents.by_name import list_agents
        from dancfr.games.registry import make_game

        return {"game": game, "agents": list_agents(make_game(game))}

    def describe(result: output.Result) -> str:
        found = result["agents"]
        return output.table(found, list(found[0])) if found else f"no agent can play {game}"

    output.deliver(compute, as_json, describe)


@app.command(cls=Command)
def version(as_json: Json = False) -> None:
    """Tell the versions of dancfr and of what it stands on."""

    def compute() -> output.Result:
        """Of the program, of Python and of the packages."""
        from dancfr.runs.provenance import provenance

        return provenance()

    def describe(result: output.Result) -> str:
        revision = f" ({result['git_revision']})" if result["git_revision"] else ""
        versions = ", ".join(f"{name} {number}" for name, number in result["packages"].items())
        return f"dancfr {result['version']}{revision}, Python {result['python']}\n{versions}"

    output.deliver(compute, as_json, describe)


def _jsonable(value: object) -> object:
    return str(value) if not isinstance(value, (str, int, float, bool, list, tuple, dict, type(None))) else value
