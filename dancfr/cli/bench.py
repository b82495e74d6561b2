"""The command `dancfr bench`, which runs or lists benchmarks."""

from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app
from dancfr.errors import UsageError, nearest


@app.command(cls=Command)
def bench(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of a benchmark; default: list all.")] = None,
    as_json: Json = False,
) -> None:
    """Measure the speed of a component, and its limit."""

    def compute() -> output.Result:
        """Returns the measurements of a benchmark, or the list of benchmarks; raises UsageError for an unknown name."""
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
