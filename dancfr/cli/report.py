"""The command `dancfr report`, which writes an HTML report on runs."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app


@app.command(cls=Command)
def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Folders of runs to report on and compare, or of several seeds.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of the report; default: the first RUN.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write an HTML report with figures on one or more runs."""

    def compute() -> output.Result:
        from dancfr.report.report import report as write_report

        return write_report(runs, out)

    output.deliver(compute, as_json, output.describe_files)
