"""Strategy files: every command that takes one names a damaged file, a foreign one or one without a policy."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from dancfr.games.registry import all_games
from envs.openspiel import openspiel_tree
from learners.storage import FORMAT, load_state, save_state
from tests.dancfr.outcomes import Command, refused

KUHN = ("--game", "kuhn", "--games", "2", "--exploitability")


def test_a_strategy_of_another_game_or_other_rules_is_refused(
    command: Command, solved: Callable[..., dict[str, Any]], strategy: Path
) -> None:
    name, other = str(strategy), "was made for other rules of kuhn:"
    solved("kuhn", "--option", "cards=4", "--iterations", "1", "--out", "four.safetensors")
    for arguments, says in {
        ("solve", "leduc", "--warm-start", name): f"{name} is a strategy of kuhn, not of leduc",
        (
            "solve",
            "kuhn",
            "--option",
            "cards=4",
            "--warm-start",
            name,
        ): f"{name} {other} cards=3, but this game has cards=4",
        (
            "solve",
            "kuhn",
            "--warm-start",
            "four.safetensors",
        ): f"four.safetensors {other} cards=4, but this game has cards=3",
        ("evaluate", name, "--game", "leduc"): f"{name} is a strategy of kuhn, not of leduc",
        ("evaluate", "pretrained:leduc", "--game", "kuhn"): "pretrained:leduc is a strategy of leduc, not of kuhn",
        ("evaluate", name, "--game", "kuhn", "--option", "cards=4"): "cards=3, but this game has cards=4",
        ("evaluate", "four.safetensors", "--game", "kuhn", "--option", "cards=3"): "cards=4, but this game has cards=3",
        ("evaluate", f"{name}@3", "--game", "kuhn"): "is one strategy: it has no iterations and no options",
    }.items():
        assert says in refused(command(*arguments))


def test_a_strategy_of_another_version_of_the_game_is_refused(
    command: Command, strategy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays, about = load_state(strategy)
    assert about["game_version"] == 0
    monkeypatch.setitem(all_games(), "kuhn", replace(all_games()["kuhn"], version=1))
    says = f"{strategy} was made for version 0 of kuhn, and this is version 1: make it again"
    assert says in refused(command("evaluate", str(strategy), *KUHN))
    assert says in refused(command("solve", "kuhn", "--warm-start", str(strategy)))
    before = strategy.with_name("before.safetensors")  # there were versions
    save_state(before, arrays, {key: value for key, value in about.items() if key != "game_version"})
    assert command("evaluate", str(before), *KUHN).code == 0


def _header(entries: dict[str, Any]) -> bytes:
    notes = json.dumps({"format": FORMAT, "meta": {}, "records": {}})
    text = json.dumps({"__metadata__": {"state": f"unchecked {notes}"}, **entries}).encode()
    return len(text).to_bytes(8, "little") + text


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda raw: b"",
    "cut short": lambda raw: raw[:-9],
    "a flipped bit": lambda raw: raw[:-30] + bytes([raw[-30] ^ 8]) + raw[-29:],
    "a flipped bit in the header": lambda raw: raw[:40] + bytes([raw[40] ^ 8]) + raw[41:],
    "a huge header": lambda raw: (2**63).to_bytes(8, "little") + raw[8:],
    "a header to the end": lambda raw: (len(raw) - 8).to_bytes(8, "little") + raw[8:],
    "a deep header": lambda raw: (200_000).to_bytes(8, "little") + b"[" * 200_000,
    "an infinite array": lambda raw: _header({"a": {"dtype": "F64", "shape": [float("inf")], "data_offsets": [0, 0]}}),
    "a vast array": lambda raw: _header({"a": {"dtype": "F64", "shape": [2**62, 0], "data_offsets": [0, 0]}}),
    "something else": lambda raw: b"{}" * 1000,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named(command: Command, strategy: Path, damage: str) -> None:
    Path("bad.safetensors").write_bytes(DAMAGES[damage](strategy.read_bytes()))
    for arguments in (("solve", "kuhn", "--warm-start", "bad.safetensors"), ("evaluate", "bad.safetensors", *KUHN)):
        assert "bad.safetensors is damaged: " in refused(command(*arguments))


Arrays = dict[str, np.ndarray]


def _with(arrays: Arrays, row: list[float]) -> np.ndarray:
    policy = arrays["policy"].copy()
    policy[2] = row
    return policy


CHANGES: dict[str, tuple[Callable[[Arrays], Arrays], str]] = {
    "not a number": (
        lambda a: {"policy": _with(a, [np.nan, 1])},
        "infoset 2 is not a distribution: [nan, 1.0]",
    ),
    "infinite": (lambda a: {"policy": _with(a, [np.inf, 0])}, "policy at infoset 2"),
    "negative": (lambda a: {"policy": _with(a, [-0.5, 1.5])}, "infoset 2 is not a distribution: [-0.5, 1.5]"),
    "less than 1": (lambda a: {"policy": _with(a, [0.5, 0.4])}, "infoset 2 is not a distribution: [0.5, 0.4]"),
    "float32": (
        lambda a: {"policy": a["policy"].astype(np.float32)},
        "its arrays have other names or types",
    ),
    "flat": (lambda a: {"policy": a["policy"].ravel()}, "not a strategy: the shapes"),
    "a number": (lambda a: {"player": np.array(1, np.int8)}, "not a strategy: the shapes"),
    "no rows": (lambda a: {k: v[:0] for k, v in a.items()}, "not a strategy: the shapes"),
    "another action": (lambda a: {"policy": np.pad(a["policy"], ((0, 0), (0, 1)))}, "other rules of kuhn"),
    "fewer infosets": (lambda a: {k: v[:7] for k, v in a.items()}, "has no policy for infostate "),
    "one infoset": (lambda a: {"observed": np.repeat(a["observed"][:1], 12, 0)}, "an infostate is listed twice"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_holds_no_policy_is_refused(command: Command, strategy: Path, change: str) -> None:
    arrays, about = load_state(strategy)
    altered, says = CHANGES[change]
    save_state("odd.safetensors", arrays | altered(arrays), about)
    for arguments in (("solve", "kuhn", "--warm-start", "odd.safetensors"), ("evaluate", "odd.safetensors", *KUHN)):
        line = refused(command(*arguments))
        assert "odd.safetensors" in line
        assert says in line


@pytest.mark.parametrize("about", [None, [1], {"kind": "net"}, {"kind": "tabular strategy", "game": "kuhn"}])
def test_a_file_of_something_else_is_refused(command: Command, strategy: Path, about: Any) -> None:
    arrays, right = load_state(strategy)
    save_state("other.safetensors", arrays, right)
    raw = Path("other.safetensors").read_bytes()
    if isinstance(about, dict):
        save_state("other.safetensors", arrays, about)
    else:
        _rewrite_meta(Path("other.safetensors"), about)
    assert Path("other.safetensors").read_bytes() != raw
    line = refused(command("solve", "kuhn", "--warm-start", "other.safetensors"))
    assert "other.safetensors is not a strategy" in line


def _rewrite_meta(path: Path, meta: Any) -> None:
    """A state file without arrays whose metadata is not a dictionary."""
    save_file({}, path, {"state": f"unchecked {json.dumps({'format': FORMAT, 'meta': meta, 'records': {}})}"})


def test_a_pipe_or_a_folder_is_no_strategy(command: Command) -> None:
    os.mkfifo("pipe.safetensors")
    os.mkdir("folder.safetensors")
    for name in ("pipe", "folder"):
        for arguments in (
            ("solve", "kuhn", "--warm-start", f"{name}.safetensors"),
            ("evaluate", f"{name}.safetensors"),
        ):
            assert f"{name}.safetensors is not a file" in refused(command(*arguments))
    assert "folder.safetensors is a folder" in refused(command("solve", "kuhn", "--out", "folder.safetensors"))


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_files_that_may_not_be_read_or_written_are_named(command: Command, strategy: Path) -> None:
    Path("closed.safetensors").write_bytes(strategy.read_bytes())
    os.chmod("closed.safetensors", 0)
    os.mkdir("closed", 0o500)
    assert "Permission denied" in refused(command("solve", "kuhn", "--warm-start", "closed.safetensors"))
    assert "may not be written to" in refused(command("solve", "kuhn", "--out", "closed/x.safetensors"))


def test_a_policy_of_illegal_actions_is_named(command: Command, solved: Callable[..., dict[str, Any]]) -> None:
    solved("leduc", "--iterations", "1", "--out", "leduc.safetensors")
    arrays, about = load_state("leduc.safetensors")
    save_state("leduc.safetensors", arrays | {"policy": np.full_like(arrays["policy"], 1 / 3)}, about)
    arguments = ("evaluate", "leduc.safetensors", "--game", "leduc", "--games", "20")
    assert "not a distribution at infoset 0 of leduc" in refused(command(*arguments, "--exploitability"))
    outcome = command(*arguments)
    assert outcome.code == 1
    (line,) = outcome.err.splitlines()
    assert "agent leduc.safetensors chose action 0, which is not legal here" in line


def test_an_agent_without_a_policy_somewhere_ends_a_match_in_one_line(command: Command, strategy: Path) -> None:
    arrays, about = load_state(strategy)
    save_state("few.safetensors", {name: array[:7] for name, array in arrays.items()}, about)
    outcome = command("evaluate", "few.safetensors", "--game", "kuhn", "--games", "50")
    assert outcome.code == 1
    (line,) = outcome.err.splitlines()
    assert line.startswith("dancfr: agent few.safetensors has no policy for infostate ")


@pytest.mark.parametrize(
    "game",
    [
        "kuhn_poker",
        "hex(board_size=2)",
        "dark_hex(board_size=2)",
        "nim(pile_sizes=1;2;3)",
        "clobber(rows=2,columns=3)",
        "dots_and_boxes(num_rows=1,num_cols=1)",
    ],
)
def test_a_strategy_of_openspiel_is_played_as_it_was_solved(
    command: Command, solved: Callable[..., dict[str, Any]], game: str
) -> None:
    """Also where OpenSpiel's tensor is coarser than its information state string, which defines infosets."""
    pytest.importorskip("pyspiel")
    name = f"openspiel:{game}"
    found = solved(name, "--iterations", "7", "--out", "s.safetensors")
    arrays, about = load_state("s.safetensors")
    assert about["infostates"] == "digests"
    assert len({row.tobytes() for row in arrays["observed"]}) == len(arrays["observed"])
    outcome = command(
        "evaluate", "s.safetensors", "--against", "s.safetensors", "--games", "50", "--exploitability", "--json"
    )
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["exploitability"] == found["exploitability"]
    again = solved(name, "--iterations", "1", "--warm-start", "s.safetensors", "--warm-weight", "1e6")
    assert again["exploitability"] == pytest.approx(found["exploitability"], abs=1e-4)


def test_a_strategy_that_could_not_be_read_is_refused_before_it_is_computed(command: Command) -> None:
    """In Geister the board does not show past observations, which infosets of perfect recall tell apart."""
    short = ("mini-geister", "--option", "random_setup=false", "--option", "ply_limit=4")
    line = refused(command("solve", *short, "--iterations", "1000000000", "--out", "g.safetensors"))
    assert "a strategy of mini-geister cannot be stored or played: its players know more than `observe` shows" in line
    assert os.listdir() == []


def test_a_strategy_of_an_earlier_version_by_tensors_is_still_read(
    command: Command, solved: Callable[..., dict[str, Any]]
) -> None:
    pytest.importorskip("pyspiel")
    found = solved("openspiel:kuhn_poker", "--iterations", "7", "--out", "new.safetensors")
    arrays, about = load_state("new.safetensors")
    del about["infostates"]
    save_state("old.safetensors", arrays | {"observed": openspiel_tree("kuhn_poker").observed}, about)
    outcome = command("evaluate", "old.safetensors", "--games", "50", "--exploitability", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["exploitability"] == found["exploitability"]
    warm = solved("openspiel:kuhn_poker", "--iterations", "1", "--warm-start", "old.safetensors")
    assert warm["iterations"] == 2
