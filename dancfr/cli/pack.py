"""The command `dancfr pack`, which makes a small folder of an agent, with a card."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from dancfr.cli import output
from dancfr.cli.app import Command, Json, app


@app.command(cls=Command)
def pack(
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="A run, also with an iteration and options (runs/x@40, 'runs/x?average=weights'), a strategy of "
            "`dancfr solve --out`, or a packed agent.",
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write, new or empty.")],
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Name of the packed agent; default: that of the folder.")
    ] = None,
    nets: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Nets of a mixture or of DREAM to keep, of each player, evenly spread; default: all."
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="half|single",
            help="Precision of the stored nets; default: half; single where small differences change the play.",
        ),
    ] = None,
    against: Annotated[
        list[str] | None, typer.Option(metavar="AGENT", help="Opponent of a match for the card; may be repeated.")
    ] = None,
    games: Annotated[int, typer.Option(metavar="N", help="Games of each match.")] = 2000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the matches and of the response.")] = 11,
    response_minutes: Annotated[
        float | None,
        typer.Option(metavar="N", help="CPU minutes to train a response that bounds the agent's exploitability."),
    ] = None,
    response_start: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Start a response from the net of this agent, or from a `fresh` one; repeatable. Default: the agent's "
            "own net and a fresh one.",
        ),
    ] = None,
    readable: Annotated[
        bool, typer.Option("--readable", help="Measure, by games with itself, what its play gives away.")
    ] = False,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="One line that describes the agent.")] = None,
    note: Annotated[str, typer.Option(metavar="TEXT", help="Note about the training, for the card.")] = "",
    as_json: Json = False,
) -> None:
    """Pack an agent into a small folder, with a card of its figures."""

    def compute() -> output.Result:
        from dancfr.agents.pack import PackRequest
        from dancfr.agents.pack import pack as pack_agent

        return pack_agent(
            PackRequest(
                agent,
                folder,
                name,
                nets,
                against=tuple(against or ()),
                games=games,
                seed=seed,
                response_minutes=response_minutes,
                response_starts=tuple(response_start or ()),
                readable=readable,
                description=description,
                note=note,
                precision=cast(Any, precision),  # checked there
            )
        )

    output.deliver(compute, as_json, _describe)


def _describe(result: output.Result) -> str:
    from dancfr.agents.cards import Card, summary

    card = Card.from_json(result["card"], result["folder"])
    lines = [f"{result['folder']}: {result['bytes']:,} bytes", f"  {summary(card)}"]
    if (bound := card.exploitability) is not None and bound.kind == "exact":
        origin = "as in the record of the run" if result["exploitability"] == "record" else "computed for this card"
        lines.append(f"  exploitability {bound.value:.6g}, {origin}")
    if (read := card.readability) is not None and read.plies:
        last = read.plies[-1]
        right, chance = f"{100 * last.accuracy:.1f} %", f"{100 * last.chance:.1f} %"
        lines.append(f"  {read.secret} read right after {last.ply} plies: {right}, by chance {chance}")
    if (found := card.precision) is not None:
        lines.append(f"  acts as in single precision in {found.same:,} of {found.decisions:,} decisions")
    return "\n".join(lines)
