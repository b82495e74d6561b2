"""`dancfr version`."""

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app


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
