"""The page of each game agrees with its record and its spec, and its examples run."""

import contextlib
import io
import re
from math import prod
from pathlib import Path
from typing import Any

import pytest

from dancfr.evaluation.bots import bots
from dancfr.games.registry import _ROOMS, GAMES, make_game, read_options
from dancfr.games.trees import make_tree
from dancfr.values import show

PAGES = {Path(room.__file__).parent: [record.name for record in room.GAMES] for room in _ROOMS}
ROOMS = pytest.mark.parametrize("room", PAGES, ids=lambda room: room.name)
HEADINGS = [
    "Usage",
    "Rules",
    "Infostate",
    "Actions",
    "Rewards",
    "End",
    "Options",
    "Bots",
    "Tree",
    "Tests of the rules",
    "Version",
]
LARGE = 10**5
"""Nodes of trees that other tests build."""

Table = list[list[str]]


def sections(room: Path) -> dict[str, str]:
    """The text below each heading of a page, in order; that of the title is named ``""``."""
    title, *parts = re.split(r"^## (.*)\n", (room / "README.md").read_text(), flags=re.MULTILINE)
    return {"": title, **dict(zip(parts[::2], parts[1::2], strict=True))}


def tables(text: str) -> list[Table]:
    """The tables of a text: rows of cells, the names of the columns first, without the marks of code."""
    found = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    return [[cells(line) for line in table.splitlines() if "|---" not in line] for table in found]


def cells(line: str) -> list[str]:
    return [cell.strip().replace("`", "") for cell in line[1:-1].split("|")]


def specs(room: Path) -> dict[str, Any]:
    """The games of the table at the top of a page, made with the options that its columns name."""
    labels = [label.split() for label in tables(sections(room)[""])[0][0][1:]]
    return {" ".join(label): make_game(label[0], **read_options(label[0], label[1:])).spec for label in labels}


@ROOMS
def test_page_has_all_headings_in_order(room: Path) -> None:
    found = sections(room)
    assert list(found) == ["", *HEADINGS]
    assert re.match(r"# .+\n\n[A-Z].+\.\n", found[""])
    assert all(text.strip() for text in found.values())


@ROOMS
def test_page_states_the_sizes_of_the_game(room: Path) -> None:
    found, (table, *_) = specs(room), tables(sections(room)[""])
    assert set(PAGES[room]) <= set(found)
    for column, (label, spec) in enumerate(found.items(), 1):
        said = {row[0]: row[column].replace(",", "") for row in table[1:] if row[column]}
        assert said == {
            "players": f"{spec.num_players}",
            "actions": f"{spec.num_actions}",
            "packed bytes": f"{spec.packed_size}",
            **{f"inputs of {name}": " x ".join(map(str, shape)) for name, shape in spec.shapes.items()},
            **{
                f"inputs of an action beside {name}": f"{spec.action_inputs(name)}"
                for name in spec.shapes
                if not spec.slots
            },
            **{f"outputs of {name}": f"{outputs}" for name, outputs in spec.slots.items()},
            "largest return": f"{spec.max_return:g}",
            "decisions at most": f"{spec.max_plies}",
        }, label


@ROOMS
def test_page_lists_every_byte_and_input_once(room: Path) -> None:
    found, listed = specs(room), set()
    for table in tables(sections(room)["Infostate"] + sections(room)["Actions"]):
        for column, title in enumerate(table[0]):
            what, _, label = title.partition(" of ")
            spec = found[label or next(iter(found))]
            of_action = what.removeprefix("action beside ")
            if what == "bytes":
                size = spec.packed_size
            elif what in spec.shapes:
                size = spec.shapes[what][0] if len(spec.shapes[what]) > 1 else prod(spec.shapes[what])
            elif of_action != what:
                size = spec.action_inputs(of_action)
            else:
                continue
            listed.add(what)
            spans = [row[column].partition("-") for row in table[1:] if row[column]]
            following = 0
            for first, _, last in spans:
                assert int(first) == following, (title, first)
                following = int(last or first) + 1
            assert following == size, title
    assert listed >= {"bytes", *next(iter(found.values())).shapes}


@ROOMS
def test_page_lists_the_options_of_the_record(room: Path) -> None:
    (table,) = tables(sections(room)["Options"])
    assert table[0] == ["option", *PAGES[room], "meaning"]
    for column, name in enumerate(PAGES[room], 1):
        cells = {row[0]: row[column] for row in table[1:]}
        free = {option: cell for option, cell in cells.items() if not cell.endswith(", fixed")}
        assert free == {option: show(default) for option, default in GAMES[name].options.items()}
        made = make_game(name)
        for option in cells.keys() - free.keys():
            assert cells[option] == f"{show(getattr(made, option))}, fixed"


@ROOMS
def test_page_names_endings_bots_and_version(room: Path) -> None:
    found = sections(room)
    for name in PAGES[room]:
        game = make_game(name)
        assert [row[0] for row in tables(found["End"])[0][1:]] == list(game.spec.endings[1:])
        assert [row[0] for row in tables(found["Bots"])[0][1:]] == list(bots(game))
        version = GAMES[name].version
        assert found["Version"].startswith(f"\nVersion {version};")
        assert f"`{game.raw_env().metadata['name']}`" in found["Version"]
        assert game.raw_env().metadata["name"].endswith(f"_v{version}")


@ROOMS
def test_page_counts_the_tree(room: Path) -> None:
    rows = [row for table in tables(sections(room)["Tree"]) for row in table[1:]]
    for name, nodes, infosets in rows:
        if int(nodes.replace(",", "")) < LARGE:
            tree = make_tree(name)
            assert nodes == f"{tree.num_nodes:,}"
            assert {infosets} == {f"{count:,}" for count in tree.num_infosets}
    assert rows or "no tree" in sections(room)["Tree"]


@ROOMS
def test_page_example_prints_what_it_shows(room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"^```python\n((?:.*\n)+?)```\n\n((?: {4}.*\n)+)", sections(room)["Usage"], re.MULTILINE)
    assert programs
    for code, expected in programs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(room), "exec"), {})
        assert printed.getvalue().splitlines() == [line[4:] for line in expected.splitlines()]
