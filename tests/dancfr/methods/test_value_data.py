"""Tests of folders of solved samples: reuse, and refusals in one line."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.errors import RunError, UsageError
from dancfr.methods.value_functions.data import MANIFEST, ValueData
from learners.samples import range_value_dtype
from learners.storage import save_state
from tests.dancfr.full_disk import small_disk

ABOUT: dict[str, Any] = {"game": "kuhn", "game_options": {"cards": 3}, "limit": "actions:1", "chunk": 8}
STATS = {"rows": 2, "gap": 1e-4, "seconds": 0.5}


def some(seed: int, count: int = 2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = np.zeros(count, range_value_dtype(6))
    rows["public"] = rng.integers(2, size=count)
    for name in ("ranges", "values", "sums"):
        rows[name] = rng.random(rows[name].shape)
    return rows


def told(caught: pytest.ExceptionInfo) -> str:
    (line,) = str(caught.value).splitlines()
    return line


def test_shards_are_known_by_seed_iteration_chunk_and_kind(tmp_path: Path) -> None:
    data = ValueData(tmp_path / "deep" / "data", ABOUT)
    keys = [((s, t, c), kind) for s in (1, 2) for t in (1, 2) for c in (0, 11) for kind in ("random", "asked")]
    for number, (seed, kind) in enumerate(keys):
        assert data.get(seed, kind) is None
        data.put(seed, kind, some(number), STATS | {"gap": number})
    assert len({data.path(*key) for key in keys}) == len(keys) == len(data.shards())
    again = ValueData(tmp_path / "deep" / "data", ABOUT)
    for number, (seed, kind) in enumerate(keys):
        found = again.get(seed, kind)
        assert found is not None
        np.testing.assert_array_equal(found[0], some(number))
        assert found[1] == STATS | {"gap": number}


def test_a_shard_that_is_made_twice_is_there_once(tmp_path: Path) -> None:
    data = ValueData(tmp_path, ABOUT)
    for _ in range(2):
        data.put((1, 1, 0), "random", some(1), STATS)
        before = data.path((1, 1, 0), "random").read_bytes()
    assert len(data.shards()) == 1
    data.put((1, 1, 0), "random", some(1), STATS)
    assert data.path((1, 1, 0), "random").read_bytes() == before, "byte for byte"
    assert sorted(os.listdir(tmp_path)) == [MANIFEST, data.path((1, 1, 0), "random").name]


def test_the_manifest_lists_what_is_there(tmp_path: Path) -> None:
    data = ValueData(tmp_path, ABOUT)
    assert json.loads((tmp_path / MANIFEST).read_text())["shards"] == []
    for chunk in (2, 0, 10_000, 1):
        data.put((7, 3, chunk), "asked", some(chunk), STATS)
    (tmp_path / "notes.txt").write_text("not a shard")
    data.write_manifest()
    content = json.loads((tmp_path / MANIFEST).read_text())
    assert content["about"] == ABOUT
    assert [(s["seed"], s["iteration"], s["chunk"], s["kind"]) for s in content["shards"]] == [
        (7, 3, chunk, "asked") for chunk in (0, 1, 2, 10_000)
    ]
    for shard in content["shards"]:
        assert shard["bytes"] == (tmp_path / shard["file"]).stat().st_size
    ValueData(tmp_path, ABOUT)  # and other files there do not matter


@pytest.mark.parametrize(
    ("key", "other"), [("game", "leduc"), ("game_options", {"cards": 4}), ("limit", "actions:2"), ("chunk", 9)]
)
def test_samples_of_something_else_are_refused_by_name(tmp_path: Path, key: str, other: Any) -> None:
    ValueData(tmp_path, ABOUT)
    with pytest.raises(UsageError) as caught:
        ValueData(tmp_path, ABOUT | {key: other})
    assert f"{key} is {ABOUT[key]} there and {other} here" in told(caught)
    ValueData(tmp_path, ABOUT)


def test_what_json_makes_of_it_is_no_difference(tmp_path: Path) -> None:
    ValueData(tmp_path, ABOUT | {"pair": (1, 2), "none": None})
    before = (tmp_path / MANIFEST).read_bytes()
    data = ValueData(tmp_path, ABOUT | {"pair": (1, 2), "none": None})
    data.put((1, 1, 0), "random", some(1), STATS)
    assert data.get((1, 1, 0), "random") is not None
    assert (tmp_path / MANIFEST).read_bytes() == before


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UsageError, match="other files than samples") as caught:
        ValueData(tmp_path, ABOUT)
    assert str(tmp_path) in told(caught)
    assert os.listdir(tmp_path) == ["thesis.tex"], "nothing was written"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    for folder in (tmp_path / "data", tmp_path / "data" / "inside"):
        with pytest.raises(UsageError, match="is not a folder") as caught:
            ValueData(folder, ABOUT)
        told(caught)


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", "null", "7", '"text"', "{}", "\x00\xff"),
        *('{"format": "dancfr-values-1"}', '{"format": 1, "about": 3}'),
        *('{"format": "dancfr-values-1", "about": []}', '{"format": "dancfr-values-1", "about": null}'),
    ],
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, content: str) -> None:
    ValueData(tmp_path, ABOUT)
    (tmp_path / MANIFEST).write_text(content, encoding="latin-1")
    with pytest.raises(UsageError) as caught:
        ValueData(tmp_path, ABOUT)
    assert str(tmp_path) in told(caught)


def test_a_manifest_of_another_format_is_refused(tmp_path: Path) -> None:
    ValueData(tmp_path, ABOUT)
    content = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps(content | {"format": "dancfr-values-9"}))
    with pytest.raises(UsageError, match="format is dancfr-values-9 there") as caught:
        ValueData(tmp_path, ABOUT)
    told(caught)


@pytest.mark.parametrize("damage", ["short", "flipped", "empty", "foreign", "without stats"])
def test_a_damaged_shard_is_refused(tmp_path: Path, damage: str) -> None:
    data, key = ValueData(tmp_path, ABOUT), ((1, 2, 3), "random")
    data.put(*key, some(1, 50), STATS)
    path = data.path(*key)
    whole = path.read_bytes()
    if damage == "short":
        path.write_bytes(whole[:-5])
    elif damage == "flipped":
        path.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "foreign":
        save_state(path, {"other": np.zeros(3)}, {"stats": {}})
    else:
        save_state(path, {"rows": some(1)}, {})
    with pytest.raises(UsageError, match=r"is not a shard|is damaged") as caught:
        data.get(*key)
    assert str(path) in told(caught)
    path.unlink()
    assert data.get(*key) is None, "as the message says: it is made again"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    data = ValueData(tmp_path, ABOUT)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RunError, match="make room and continue with --resume") as caught:
            data.put((1, 2, 3), "random", some(1), STATS)
        told(caught)
    finally:
        tmp_path.chmod(0o700)


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", mount=False) as fill:
        data = ValueData(tmp_path / "disk", ABOUT)
        for chunk in range(600):
            data.path((1, 1, chunk), "random").touch()
        before = (data.folder / MANIFEST).read_bytes()
        fill(True)
        with pytest.raises(RunError, match="File too large; make room") as caught:
            data.put((1, 2, 3), "random", some(1, 2000), STATS)
        told(caught)
        with pytest.raises(RunError, match=r"manifest\.json: File too large; make room") as caught:
            data.write_manifest()
        told(caught)
    assert (data.folder / MANIFEST).read_bytes() == before


def test_shards_without_a_manifest_are_taken_up_again(tmp_path: Path) -> None:
    data = ValueData(tmp_path, ABOUT)
    data.put((1, 1, 0), "random", some(1), STATS)
    (tmp_path / MANIFEST).unlink()
    (tmp_path / ".manifest.json.17.partial").write_text("another run is just writing it")
    again = ValueData(tmp_path, ABOUT)
    found = again.get((1, 1, 0), "random")
    assert found is not None
    assert (found[0] == some(1)).all()
    assert [shard["file"] for shard in again.shards()] == [data.path((1, 1, 0), "random").name]


def test_a_shard_under_another_name_or_of_other_samples_is_refused(tmp_path: Path) -> None:
    data = ValueData(tmp_path / "one", ABOUT)
    data.put((1, 1, 2), "random", some(1), STATS)
    data.path((1, 1, 0), "random").write_bytes(data.path((1, 1, 2), "random").read_bytes())
    other = ValueData(tmp_path / "two", ABOUT | {"game": "another"})
    other.put((1, 1, 1), "random", some(1), STATS)
    data.path((1, 1, 1), "random").write_bytes(other.path((1, 1, 1), "random").read_bytes())
    for chunk in (0, 1):
        with pytest.raises(UsageError, match="is not a shard of these samples") as caught:
            data.get((1, 1, chunk), "random")
        told(caught)
    assert data.get((1, 1, 2), "random") is not None
