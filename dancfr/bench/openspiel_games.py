"""`python -m dancfr.bench.openspiel_games [GAME ...]`: tries all games of OpenSpiel, or some, each in a process of its
own with a time limit, and writes the list of what works into docs/reference/openspiel.md."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyspiel

from dancfr.bench.openspiel_probe import MOST_NODES, probe, train
from dancfr.errors import warn
from dancfr.generated import with_part

DOCS = Path(__file__).resolve().parents[2] / "docs"
"""The documents of the source tree; an installed package has none."""

RECORD, PAGE = DOCS / "records" / "openspiel-games.json", DOCS / "reference" / "openspiel.md"

SECONDS = 40
"""CPU time of a game, at most."""

SMALLER = (
    "bargaining(max_turns=1)",
    "dark_hex(board_size=2)",
    "first_sealed_auction(max_value=4)",
    "first_sealed_auction(players=3,max_value=4)",
    "goofspiel(imp_info=true,num_cards=4)",
    "goofspiel(imp_info=true,num_cards=3,players=3)",
    "hanabi(colors=1,ranks=2,hand_size=1,max_life_tokens=1,max_information_tokens=1)",
    "hanabi(colors=1,ranks=2,hand_size=1,max_life_tokens=1,max_information_tokens=1,players=3)",
    "kuhn_poker(players=3)",
    "kuhn_poker(players=4)",
    "leduc_poker(players=3,suit_isomorphism=true)",
    "liars_dice(dice_sides=3)",
    "oshi_zumo(coins=5,min_bid=1)",
    "pig(horizon=4,winscore=4)",
    "trade_comm(num_items=2)",
)
"""Games with other parameters than by default, most of them smaller, which are listed too."""

Row = dict[str, Any]


def names() -> list[str]:
    """Returns all games of OpenSpiel, those in Python too, and the smaller ones."""
    import open_spiel.python.games  # noqa: F401 (registers them)

    return sorted({*(kind.short_name for kind in pyspiel.registered_games()), *SMALLER})


def table(rows: Iterable[Row]) -> str:
    """Formats the list as a Markdown table with a row for each game."""
    lines = [
        "| game | players | returns | nets see | infosets by | matches | policy gradients | tree | solvers | why not |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (
            f"`{row['name']}`",
            row.get("players", ""),
            row.get("returns", ""),
            f"{row['inputs']}, {row['numbers']:,}" if "inputs" in row else "",
            row.get("infosets", ""),
            "yes" if "plies" in row else "no",
            "yes" if row.get("trained") else "no",
            f"{row['nodes']:,}" if "nodes" in row else "no",
            "yes" if "solved" in row else "no",
            "; ".join(_limits(row)),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _limits(row: Row) -> list[str]:
    """Lists why something does not work, each reason once."""
    failed: Mapping[str, str] = row["failed"]
    reasons = list(dict.fromkeys(failed.values()))
    if "nodes" in row and "solved" not in row:
        reasons.append("solvers need two players and a constant sum")
    return [reason.replace("|", "\\|").replace("<", "&lt;") for reason in reasons]


def counts(rows: Sequence[Row]) -> str:
    """Summarises the rows of OpenSpiel's games with their default parameters."""
    plain = [row for row in rows if "(" not in row["name"]]
    kinds = (("plies", "matches"), ("trained", "policy gradients"), ("nodes", "tree"), ("solved", "solvers"))
    parts = ", ".join(f"{what} {sum(key in row for row in plain)}" for key, what in kinds)
    return (
        f"OpenSpiel {pyspiel.__version__ if hasattr(pyspiel, '__version__') else ''}".strip()
        + f" has {len(plain)} games. With their default parameters: {parts}. A tree counts up to {MOST_NODES:,} nodes."
    )


def main(chosen: Sequence[str]) -> None:
    """Tries games, and writes the record and the page; games that are not chosen keep their rows."""
    rows: dict[str, Row] = {}
    known = names()  # which also registers games in Python, for those that are chosen
    if chosen and RECORD.exists():
        rows = {row["name"]: row for row in json.loads(RECORD.read_text())}
    train("kuhn_poker")  # imports, and compiles, what all of them need
    for name in chosen or known:
        rows[name] = probe(name, SECONDS)
        warn(f"{name}: {'; '.join(_limits(rows[name])) or 'everything works'}")
    ordered = [rows[name] for name in sorted(rows)]
    RECORD.write_text("[\n" + ",\n".join(json.dumps(row) for row in ordered) + "\n]\n")
    PAGE.write_text(with_part(PAGE.read_text(), "games", f"{counts(ordered)}\n\n{table(ordered)}"))


if __name__ == "__main__":
    main(sys.argv[1:])
