"""The command `dancfr presets`, which lists presets and their settings."""

import shutil
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app

LIMITS = """\
A training ends at the first limit. Minutes are by the clock, without start-up, evaluations and checkpoints: a slower
machine reaches less in them, and takes longer for a number of iterations or samples. Those of best-response are CPU
time."""
"""Stands below the list."""


@app.command(cls=Command)
def presets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of a preset; default: list all."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the presets, or the settings of a preset."""

    def compute() -> output.Result:
        """Returns the requested presets with their settings; raises UsageError if the name is unknown."""
        from dancfr.methods import all_presets, find_preset, method_of
        from dancfr.runs.config import flatten
        from dancfr.runs.keys import describe_keys

        chosen = list(all_presets().values()) if name is None else [find_preset(name)]
        return {
            "presets": [
                {
                    "name": preset.name,
                    "method": method_of(preset).name,
                    "description": preset.description,
                    "ends_after": method_of(preset).describe_limits(preset.config),
                    "config": {key: _jsonable(value) for key, value in flatten(preset.config)},
                    "descriptions": describe_keys(preset.config),
                }
                for preset in chosen
            ]
        }

    def describe(result: output.Result) -> str:
        if name is None:
            rows = [{**preset, "ends after": preset["ends_after"]} for preset in result["presets"]]
            return f"{output.table(rows, ['name', 'method', 'ends after', 'description'])}\n\n{LIMITS}"
        from dancfr.runs.keys import describe_settings

        (preset,) = result["presets"]
        width = min(100, shutil.get_terminal_size((100, 24)).columns)
        return describe_settings(preset["config"], preset["descriptions"], width)

    output.deliver(compute, as_json, describe)


def _jsonable(value: object) -> object:
    return str(value) if not isinstance(value, (str, int, float, bool, list, tuple, dict, type(None))) else value
