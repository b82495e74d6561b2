"""The records of papers 001 and 002 are whole, and the pages quote them."""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.dancfr.papers.pages import split_row, table

ROOT = Path(__file__).resolve().parents[3]
RECORDS = {path.stem: path for paper in ("paper001", "paper002") for path in (ROOT / "docs/records" / paper).iterdir()}
REPRODUCTIONS = (ROOT / "docs" / "results" / "reproductions.md").read_text()
CHEAT = (ROOT / "docs" / "results" / "cheat.md").read_text()
BELIEFS = (ROOT / "docs" / "results" / "belief-search.md").read_text()

Cells = Mapping[str, Mapping[str, Any]]
BOTS = ("random", "heuristic", "rush")
AGENTS = ("Memoryless", "HP-Aware", "History-Aware", "General")


def _cells(name: str) -> Cells:
    record = json.loads(RECORDS[name].read_text())
    assert (record["experiment"], record["scale"]) == (name, "paper")
    return {row["cell"]: row for row in record["rows"]}


def _mean(row: Mapping[str, Any]) -> str:
    """A mean, with its standard deviation over seeds if there are several."""
    return f"{row['ours']:.1f}" + ("" if row["sd"] is None else f" ({row['sd']:.1f})")


def _interval(row: Mapping[str, Any]) -> str:
    found = re.search(r"interval ([\d.]+) to ([\d.]+) over", row["note"])
    assert found
    return f"{row['ours']:.1f} % [{found[1]}, {found[2]}]"


def _table1(cells: Cells) -> list[str]:
    seconds = [cells[f"{agent} Cheat-5, seconds"]["ours"] for agent in AGENTS]
    gaps = {}
    for agent in AGENTS:
        rows = [cells[f"{agent} Cheat-{n}, infosets"] for n in (3, 4, 5)]
        gaps[agent] = [100 * (row["ours"] / row["paper"] - 1) for row in rows]
    near = math.ceil(max(abs(gap) for agent in AGENTS[:2] for gap in gaps[agent]))
    spans = [f"{agent} {min(gaps[agent]):+.0f} to {max(gaps[agent]):+.0f} %" for agent in AGENTS[2:]]
    return [f"{min(seconds):.1f} to {max(seconds):.1f} s", f"Memoryless and HP-Aware within {near} %", *spans]


def _table2(cells: Cells) -> list[str]:
    seconds = [cells[f"{agent}† Cheat-5, seconds"]["ours"] for agent in AGENTS]
    infosets = [[f"{cells[f'{agent}† Cheat-{n}, infosets']['ours']:,.0f}" for n in (3, 4, 5)] for agent in AGENTS]
    counts = "; ".join(", ".join(dict.fromkeys(each)) if agent == 0 else ", ".join(each) for agent, each in
                       enumerate(infosets))  # fmt: skip
    return [counts, f"{min(seconds):.2f} to {max(seconds):.2f} s for Cheat-5"]


def _fig1(cells: Cells) -> list[str]:
    def cell(agent: str, bot: str) -> Mapping[str, Any]:
        return cells[f"{agent} average vs {bot}"]

    bots = ("random", "heuristic")
    others = [sorted(f"{cell(f'{agent}-3', bot)['ours']:.1f}" for agent in AGENTS[1:]) for bot in bots]
    gains = [cell(f"{agent}-3†", bot)["ours"] - cell(f"{agent}-3", bot)["ours"] for agent in AGENTS for bot in bots]
    return [
        "Memoryless " + ", ".join(_mean(cell("Memoryless-3", bot)) for bot in bots),
        "the others " + ", ".join(f"{found[0]} to {found[-1]}" for found in others),
        f"abstraction: {min(gains):.0f} to {max(gains):+.0f} points",
        f"the baseline is {cells['heuristic vs random']['ours']:.1f} %",
        f"has {cells['heuristic-tracking vs random']['ours']:.1f} %",
    ]


def _fig2(cells: Cells) -> list[str]:
    def cell(agent: str, bot: str, game: int) -> Mapping[str, Any]:
        return cells[f"{agent}-3† vs {bot} in Cheat-{game}"]

    order = ("HP-Aware", "General", "Memoryless", "History-Aware")
    random = [f"{agent} " + ", ".join(_mean(cell(agent, "random", n)) for n in (3, 100)) for agent in order]
    pairs = [", ".join(f"{cell(agent, 'heuristic', n)['ours']:.1f}" for n in (3, 100)) for agent in order]
    return ["; ".join(random) + ". Against `heuristic` " + "; ".join(pairs)]


def _fig3(cells: Cells) -> list[str]:
    def cell(agent: str, start: str, t: int) -> float:
        return float(cells[f"{agent}-4†{start} vs random after {t} iterations"]["ours"])

    def pair(agent: str, t: int) -> str:
        return f"{cell(agent, '', t):.1f} and {cell(agent, '-from-3', t):.1f}"

    copied = {
        agent: f"({cell(agent, '-from-3-copied', 5):.1f}, {cell(agent, '-from-3-copied', 100):.1f})" for agent in AGENTS
    }
    return [
        "; ".join(f"{agent} {pair(agent, 5)}, {pair(agent, 100)}" for agent in AGENTS),
        f"General gains as in the paper {copied['General']}, and so does HP-Aware {copied['HP-Aware']}",
    ]


def _fig1_challenged(cells: Cells) -> list[str]:
    means = [cells[f"Memoryless-3 average vs {bot}"] for bot in ("random", "heuristic")]
    others = [
        f"{agent} "
        + ", ".join(f"{cells[f'{agent}-3 average vs {bot}']['ours']:.1f}" for bot in ("random", "heuristic"))
        for agent in AGENTS[1:]
    ]
    return ["; ".join([", ".join(map(_mean, means)), *others])]


def _fig2_challenged(cells: Cells) -> list[str]:
    pairs = {agent: [cells[f"{agent}-3† vs random in Cheat-{n}"] for n in (3, 100)] for agent in AGENTS}
    others = [f"{agent} " + ", ".join(f"{row['ours']:.1f}" for row in pairs[agent]) for agent in AGENTS[1:]]
    return ["; ".join([", ".join(map(_mean, pairs["Memoryless"])), *others])]


def _fig3_challenged(cells: Cells) -> list[str]:
    def cell(agent: str, start: str) -> str:
        return f"{cells[f'{agent}-4†{start} vs random after 100 iterations']['ours']:.1f}"

    pairs = [f"{agent} {cell(agent, '')} and {cell(agent, '-from-3')}" for agent in AGENTS]
    return [f"{', '.join(pairs)} ({cell('General', '-from-3-copied')} with copies)"]


QUOTES: dict[str, Callable[[Cells], list[str]]] = {
    "cheat-table1": _table1,
    "cheat-table2": _table2,
    "cheat-fig1": _fig1,
    "cheat-fig2": _fig2,
    "cheat-fig3": _fig3,
    "cheat-fig1-challenged": _fig1_challenged,
    "cheat-fig2-challenged": _fig2_challenged,
    "cheat-fig3-challenged": _fig3_challenged,
    "cheat-challenges": lambda cells: [
        "bots' games have {:.1f} and {:.1f} challenges".format(
            *(cells[f"last discard challenged: {bot} v random"]["ours"] for bot in ("heuristic", "heuristic-tracking"))
        )
    ],
    "mini-geister-fig5": lambda cells: [_interval(cells["heuristic/random"])],
    "mini-geister-fig6": lambda cells: [", ".join(_mean(cells[f"full/{bot}"]) for bot in ("random", "heuristic"))],
    "mini-geister-fig7": lambda cells: [", ".join(_mean(cells[f"no-belief/{bot}"]) for bot in ("random", "heuristic"))],
    "mini-geister-fig8": lambda cells: [_mean(cells["no-baseline/heuristic"])],
    "mini-geister-fig13": lambda cells: [_interval(next(iter(cells.values())))],
    "mini-geister-fig9-12": lambda cells: [
        ", ".join(_mean(cells[f"{name}/heuristic"]) for name in OTHERS),
        "{}, {}, {} and {} %".format(*(f"{cells[f'{name}/random']['ours']:.1f}" for name in OTHERS)),
    ],
}  # fmt: skip
"""Texts that the row of an experiment in docs/results/reproductions.md must have."""

OTHERS = ("dream", "dream-no-belief", "outcome-sampling", "outcome-sampling-no-belief")
IN_TABLE = {
    "mini-geister-fig6": ("full", "exact-belief"),
    "mini-geister-fig7": ("no-belief",),
    "mini-geister-fig8": ("no-baseline",),
    "mini-geister-fig9-12": OTHERS,
}


def test_every_record_is_quoted() -> None:
    assert set(RECORDS) == {*QUOTES, "cheat-averages", "cheat-histories"}


def test_the_page_of_cheat_agrees_with_the_record_of_averages() -> None:
    cells = _cells("cheat-averages")
    names = {name.partition(", ")[2].partition(" vs ")[0] for name in cells}
    assert len(names) == 6
    for name in names:
        wanted = [
            ", ".join(_mean(cells[f"{rules}, {name} vs {bot}"]) for bot in (*BOTS[:2], "heuristic-tracking"))
            for rules in ("as here", "last discard challenged")
        ]
        assert f"| {name} | {' | '.join(wanted)} |" in CHEAT


def test_the_page_of_cheat_agrees_with_the_record_of_histories() -> None:
    """Each reading that the page shows, in each game and table that it shows it for."""
    heads = {False: "| history | History-Aware in", True: "| history | History-Aware† in"}
    shown_rows = {
        abstracted: {name.removesuffix(" (ours)"): counts for name, *counts in table(head, CHEAT)[1:]}
        for abstracted, head in heads.items()
    }
    seen = 0
    for name, row in _cells("cheat-histories").items():
        who, _, reading = name.partition(", ")
        agent = who.split(" ")[0]
        rows = shown_rows["†" in agent]
        if reading in rows:
            counts = rows[reading][agent.startswith("General")]
            shown = re.search(rf"\b{row['ours']:,.0f} \(([+-]\d+) %\)", counts)
            assert shown, (name, counts)
            assert abs(int(shown[1]) - 100 * (row["ours"] / row["paper"] - 1)) < 0.52, name
            seen += 1
    assert seen > 80


@pytest.mark.parametrize("name", QUOTES)
def test_the_page_of_reproductions_quotes_a_record(name: str) -> None:
    (row,) = [line for line in REPRODUCTIONS.splitlines() if line.startswith("| ") and f"`{name}`" in line]
    for text in QUOTES[name](_cells(name)):
        assert text in row


@pytest.mark.parametrize(("name", "variant"), [(name, each) for name, them in IN_TABLE.items() for each in them])
def test_the_page_of_belief_states_agrees_with_a_record(name: str, variant: str) -> None:
    cells = _cells(name)
    (row,) = [line for line in BELIEFS.splitlines() if f"(`{variant}`)" in line]
    shown = split_row(row)
    assert [shown[2], shown[4], shown[5]] == [_mean(cells[f"{variant}/{bot}"]) for bot in BOTS]
