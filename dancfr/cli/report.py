"""`dancfr report`."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app


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
