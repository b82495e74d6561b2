"""The command `dancfr version`, which prints versions."""

from typing import Annotated

import typer

import dancfr
from dancfr.cli import output
from dancfr.cli.app import Command, Json, app


def _show(wanted: bool) -> None:
    """Prints the version of dancfr alone, and ends."""
    if wanted:
        typer.echo(f"dancfr {dancfr.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(cls=Command)
def version(as_json: Json = False) -> None:
    """Print the versions of dancfr, Python and its main packages."""

    def compute() -> output.Result:
        """Returns the versions of the program, Python and the packages."""
        from dancfr.runs.provenance import provenance

        return provenance()

    def describe(result: output.Result) -> str:
        revision = f" ({result['git_revision']})" if result["git_revision"] else ""
        versions = ", ".join(f"{name} {number}" for name, number in result["packages"].items())
        return f"dancfr {result['version']}{revision}, Python {result['python']}\n{versions}"

    output.deliver(compute, as_json, describe)
