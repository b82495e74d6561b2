"""The command `dancfr export`, which writes the nets of an agent as ONNX."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app


@app.command(cls=Command)
def export(
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="A run of policy-gradient, best-response, dream, dmc or candidate-policy, or what it is packed into.",
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write, new or empty.")],
    as_json: Json = False,
) -> None:
    """Write the nets of an agent as ONNX, for other programs."""

    def compute() -> output.Result:
        from dancfr.agents.export import export as export_agent

        return export_agent(agent, folder)

    output.deliver(compute, as_json, _describe)


def _describe(result: output.Result) -> str:
    nets = len(result["nets"])
    return (
        f"{result['folder']}: {nets} net{'s' * (nets != 1)}, within {result['difference']:.1g} of {result['agent']} on "
        f"{result['infostates']:,} infostates"
    )
