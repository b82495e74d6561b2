"""The command `dancfr push`, which uploads a packed agent to the Hugging Face hub."""

from pathlib import Path
from typing import Annotated

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app


@app.command(cls=Command)
def push(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that `dancfr pack` has written.")],
    repository: Annotated[
        str, typer.Argument(metavar="OWNER/NAME", help="Repository on the hub; it is made if it does not exist.")
    ],
    private: Annotated[bool, typer.Option("--private", help="Make a repository that only its owner can read.")] = False,
    message: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Message of the commit; default: the agent's name.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Upload a packed agent to the Hugging Face hub."""

    def compute() -> output.Result:
        from dancfr.agents.hub.push import PushRequest
        from dancfr.agents.hub.push import push as push_agent

        return push_agent(PushRequest(folder, repository, private, message))

    output.deliver(compute, as_json, _describe)


def _describe(result: output.Result) -> str:
    who = "only its owner can read it" if result["private"] else "public"
    known = "" if result["changed"] else ", which has these files already"
    return "\n".join(
        [
            f"{result['url']}: {len(result['files'])} files, {result['bytes']:,} bytes; {who}",
            f"  {result['agent']} at commit {result['commit'][:12]}{known}",
        ]
    )
