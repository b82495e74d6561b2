"""`python -m dancfr.papers.guandan_beliefs_page FILE...`: records the output of `guandan_beliefs measure`, from files,
in docs/records/guandan-beliefs.json, and writes the tables and the figure of docs/results/guandan-beliefs.md."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dancfr.generated import with_part
from dancfr.report.plots import COLOURS, DASHES, MARKERS, finish, frame, grid, png_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
"""The documents of the source tree; an installed package has none."""

RECORD, PAGE = DOCS / "records" / "guandan-beliefs.json", DOCS / "results" / "guandan-beliefs.md"
FIGURE = DOCS / "images" / "guandan-beliefs.png"

Measured = Mapping[str, Any]

NAMES = {"uniform": "uniform deals", "tributes": "tributes alone", "learned": "learned"}


def opponent(measured: Measured) -> str:
    """The agent that the observed seats play against: itself, or a bot."""
    settings = measured["settings"]
    return "itself" if settings["against"] == settings["agent"] else f"`{settings['against']}`"


def placements(records: Sequence[Measured]) -> str:
    """Formats losses and cards placed right as a Markdown table, a row for each opponent and number of plays."""
    lines = [
        "| opponent | plays and passes | positions | unseen cards | loss per card: uniform | tributes alone | learned "
        "| placed right: uniform | learned |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for measured in records:
        for group, found in measured["groups"].items():
            losses = [found[name]["loss"] for name in NAMES]
            shares = [found[name]["right"] for name in ("uniform", "learned")]
            cells = [f"{loss[0]:.3f}" for loss in losses[:2]]
            cells.append("{:.3f} [{:.3f}, {:.3f}]".format(*losses[2]))
            cells.append(f"{shares[0][0]:.1%}".replace("%", " %"))
            low, high = shares[1][1:]
            cells.append(f"{100 * shares[1][0]:.1f} % [{100 * low:.1f}, {100 * high:.1f}]")
            count = f"{found['positions']:,}"
            lines.append(f"| {opponent(measured)} | {group} | {count} | {found['cards']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def values(records: Sequence[Measured]) -> str:
    """Formats the errors of values averaged over deals as a Markdown table."""
    lines = [
        "| opponent | deals | squared error to the return | beyond uniform deals | to the value of the true hands |",
        "|---|---|---|---|---|",
    ]
    for measured in records:
        for name, shown in (*NAMES.items(), ("true", "the true hands")):
            errors = measured["values"][name]
            cells = ["{:.2f} [{:.2f}, {:.2f}]".format(*errors["from_return"])]
            cells.append("" if name == "uniform" else "{:+.2f} [{:+.2f}, {:+.2f}]".format(*errors["beyond_uniform"]))
            cells.append("" if name == "true" else "{:.2f} [{:.2f}, {:.2f}]".format(*errors["from_true"]))
            lines.append(f"| {opponent(measured)} | {shown} | {' | '.join(cells)} |")
    return "\n".join(lines)


def figure(records: Sequence[Measured]) -> bytes:
    """Draws reliability, and losses by the number of plays, as a PNG image."""
    drawn, (reliability, losses) = grid(2)
    reliability.plot([0, 100], [0, 100], ":", color="#666666", lw=1, label="calibrated")
    for i, measured in enumerate(records):
        predicted, observed = ([100 * row[part] for row in measured["reliability"]] for part in (0, 1))
        label = f"against {opponent(measured).strip('`')}"
        reliability.plot(predicted, observed, DASHES[i], color=COLOURS[i], marker=MARKERS[i], ms=4, lw=1.2, label=label)
        groups = [each for name, each in measured["groups"].items() if name != "all"]
        starts = [int(name.split("-")[0]) for name in measured["groups"] if name != "all"]
        for k, (name, shown) in enumerate(NAMES.items()):
            parts = [each[name]["loss"] for each in groups]
            mean, low, high = zip(*parts, strict=True)
            text, colour = f"{shown}, {label}", COLOURS[k]
            losses.plot(starts, mean, DASHES[i], label=text, color=colour, marker=MARKERS[i], ms=4, lw=1.2)
            losses.fill_between(starts, low, high, color=COLOURS[k], alpha=0.15, lw=0)
    finish(reliability, "Reliability", "predicted probability, %", "how often it was so, %")
    finish(losses, "Loss of the true deal", "plays and passes in the round, from", "nats per unseen card")
    losses.set_ylim(bottom=0)
    frame(drawn, [reliability, losses], "Beliefs about the hidden hands of GuanDan", "")
    return png_of(drawn)


def with_tables(text: str, records: Sequence[Measured]) -> str:
    """Returns the page `text` with the tables between the marks of ``placements`` and ``values``."""
    return with_part(with_part(text, "placements", placements(records)), "values", values(records))


def main(files: Sequence[str]) -> None:
    """Adds measurements to the record, one for each opponent, and writes tables and figure."""
    records = [] if not RECORD.exists() else json.loads(RECORD.read_text())
    new = [json.loads(Path(file).read_text()) for file in files]
    kept = {opponent(measured): measured for measured in (*records, *new)}
    RECORD.write_text("[\n" + ",\n".join(json.dumps(each) for each in kept.values()) + "\n]\n")
    PAGE.write_text(with_tables(PAGE.read_text(), list(kept.values())))
    FIGURE.write_bytes(figure(list(kept.values())))


if __name__ == "__main__":
    main(sys.argv[1:])
