"""Run folders: refusals, runs that are found again, and who may write."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dancfr.errors import RunError, UsageError
from dancfr.runs import checkpoints
from dancfr.runs.config import Config
from dancfr.runs.folder import default_run_dir, find_runs
from dancfr.runs.metrics import MetricsLog
from dancfr.runs.run import Run
from dancfr.watch.tracking import Tracker
from tests.dancfr.full_disk import small_disk
from tests.dancfr.outcomes import Command


class Settings(Config):
    iterations: int = 5
    width: int = 64


class Other(Config):
    depth: int = 1


def create(path: Path, preset: str = "quick", method: str = "dream") -> Run:
    return Run.create(path, preset, method, Settings())


def test_the_configuration_file_says_what_made_the_run(tmp_path: Path) -> None:
    create(tmp_path / "a").close()
    info = json.loads((tmp_path / "a" / "config.json").read_text())
    assert (info["name"], info["preset"], info["method"]) == ("a", "quick", "dream")
    assert info["config"] == {"iterations": 5, "width": 64}
    assert {"version", "git_revision", "created", "python", "packages"} <= set(info)
    assert info["packages"]["numpy"] == np.__version__
    run = Run.open(tmp_path / "a")
    assert run.config_as(Settings) == Settings()
    with pytest.raises(UsageError, match=r"a/config.json does not fit.*depth|a/config.json does not fit"):
        run.config_as(Other)


def test_a_fresh_run_wants_an_empty_folder(tmp_path: Path) -> None:
    create(tmp_path / "a").close()
    with pytest.raises(UsageError, match=r"already holds a run: continue it with --resume"):
        create(tmp_path / "a")
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.tex").write_text("x")
    with pytest.raises(UsageError, match=r"thesis is not empty: choose another folder"):
        create(foreign)
    assert [path.name for path in foreign.iterdir()] == ["chapter.tex"]
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="file is a file: choose another folder"):
        create(tmp_path / "file")
    with pytest.raises(UsageError, match="cannot write to the run folder"):
        create(tmp_path / "file" / "below")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "holds no run"),
        ("{", "is damaged: it is not JSON"),
        ("[]", "is not the configuration of a run"),
        ('{"name": "a"}', "is not the configuration of a run"),
    ],
)
def test_a_folder_without_a_sound_configuration_is_no_run(tmp_path: Path, content: str | None, expected: str) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(UsageError, match=expected) as caught:
        Run.open(tmp_path, writing=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run.lock").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"config": None},
        {"config": [1]},
        {"preset": 5},
        {"method": None},
        {"name": []},
        {"resumed": 5},
        {"resumed": "abc"},
    ],
)
def test_a_configuration_of_wrong_kinds_is_no_run(tmp_path: Path, changes: dict) -> None:
    create(tmp_path / "a").close()
    file = tmp_path / "a" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    with pytest.raises(UsageError, match=r"a/config.json is not the configuration of a run of dancfr"):
        Run.open(tmp_path / "a")


@pytest.mark.parametrize("folder", ["checkpoints", "strategies"])
def test_a_file_in_the_place_of_a_folder_is_named_before_anything_starts(tmp_path: Path, folder: str) -> None:
    create(tmp_path / "a").close()
    (tmp_path / "a" / folder).rmdir()
    (tmp_path / "a" / folder).write_text("x")
    with pytest.raises(UsageError, match=f"a/{folder} is a file where a folder belongs: move it away"):
        Run.open(tmp_path / "a", writing=True)


def test_a_run_of_another_preset_or_configuration_is_not_resumed(tmp_path: Path) -> None:
    create(tmp_path / "a").close()
    before = (tmp_path / "a" / "config.json").read_bytes()
    with Run.open(tmp_path / "a", writing=True) as run:
        with pytest.raises(UsageError, match=r"holds a run of quick \(dream\), not of paper \(dream\)"):
            run.resume_as("paper", "dream", Settings())
        with pytest.raises(UsageError, match=r"not of quick \(dmc\)"):
            run.resume_as("quick", "dmc", Settings())
        with pytest.raises(UsageError, match=r"width: 64 -> 128"):
            run.resume_as("quick", "dream", Settings(width=128))
        assert (tmp_path / "a" / "config.json").read_bytes() == before
        run.resume_as("quick", "dream", Settings(iterations=50))
        assert (tmp_path / "a" / "config.json").read_bytes() == before, "not before the checkpoint is found to fit"
        run.confirm_resume()
        run.resume_as("quick", "dream", Settings(iterations=50, width=128), allow_changes=True)
        run.confirm_resume()
    info = Run.open(tmp_path / "a").info
    assert info["config"]["iterations"] == 50
    assert [entry["changes"] for entry in info["resumed"]] == [["iterations: 5 -> 50"], ["width: 64 -> 128"]]


HOLDER = """
import sys
from dancfr.runs.run import Run
with Run.open(sys.argv[1], writing=True):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_train_one_run(tmp_path: Path) -> None:
    path = tmp_path / "a"
    create(path).close()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match=rf"a is in use by process {holder.pid} on"):
            Run.open(path, writing=True)
        with pytest.raises(UsageError, match="is in use by process"):
            create(path)
        assert Run.open(path).preset == "quick", "anyone may read"
    finally:
        holder.kill()
        holder.communicate()
    Run.open(path, writing=True).close()  # the lock went with the process


@pytest.mark.parametrize("moved", ["folder", "lock"])
def test_a_training_whose_folder_was_moved_writes_nothing_into_the_one_in_its_place(tmp_path: Path, moved: str) -> None:
    """Two trainings would share a folder if the folder of the first, or only its lock, was moved away or removed."""
    path = tmp_path / "a"
    with create(path) as first:
        first.append_metrics({"kind": "train", "iteration": 1})
        if moved == "folder":
            path.rename(tmp_path / "b")
        else:
            (path / "run.lock").unlink()
        with create(path) if moved == "folder" else Run.open(path, writing=True) as second:
            second.append_metrics({"kind": "train", "iteration": 1})
            before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
            writes: list[Callable[[], object]] = [
                lambda: first.append_metrics({"kind": "train", "iteration": 2}),
                lambda: first.save_strategy(0, 2, {"w": np.zeros(2)}, {}),
                lambda: checkpoints.writing(first, 2).__enter__(),
            ]
            for write in writes:
                with pytest.raises(RunError, match="a now holds another training") as caught:
                    write()
                assert not isinstance(caught.value, checkpoints.CheckpointFailed), "which a training survives"
            first.close()
            assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_waiting_rows_are_not_written_into_the_record_of_another_training(tmp_path: Path) -> None:
    path = tmp_path / "disk" / "a"
    with small_disk(tmp_path / "disk", mount=False) as fill, create(path) as first:
        with Tracker(first, "off") as tracker:
            fill(True)
            tracker.log({"iteration": 1, "text": "x" * 100_000})
            fill(False)
            path.rename(tmp_path / "b")
            create(path).close()
        with pytest.raises(RunError, match="a now holds another training"):
            first.truncate_metrics(1)
    assert first.metrics.waiting == 1
    assert Run.open(path).read_metrics() == []


def test_a_link_to_a_folder_still_to_be_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "run")
    create(tmp_path / "link").close()
    assert Run.open(tmp_path / "disk" / "run").name == "run"
    assert (tmp_path / "link").is_symlink()


def test_a_training_that_cannot_start_leaves_no_run_behind_a_link(command: Command, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("disk")
    words = ("train", "leduc-dream-quick", "--inline", "--run-dir", "link", "--wandb", "off")
    assert "the buffers would take" in command(*words, "reservoir=1e15").err
    assert (tmp_path / "link").is_symlink()
    assert not (tmp_path / "disk").exists(), "else the next attempt would be refused"


def test_metrics_are_there_as_soon_as_they_are_logged(tmp_path: Path) -> None:
    with create(tmp_path / "a") as run:
        run.append_metrics({"kind": "train", "iteration": 1, "loss": np.float32(0.5), "nan": float("nan")})
        run.append_metrics({"kind": "evaluation", "iteration": 1, "ci95": (np.int64(0), 1)})
        assert Run.open(tmp_path / "a").read_metrics() == [
            {"kind": "train", "iteration": 1, "loss": 0.5, "nan": None},
            {"kind": "evaluation", "iteration": 1, "ci95": [0, 1]},
        ]
        assert len(run.read_metrics("evaluation")) == 1
        with pytest.raises(TypeError, match="object"):
            run.append_metrics({"iteration": object()})


def test_a_torn_last_line_is_passed_over_and_closed(tmp_path: Path) -> None:
    with create(tmp_path / "a") as run:
        for iteration in (1, 2, 3):
            run.append_metrics({"iteration": iteration})
        with run.metrics.path.open("a") as file:
            file.write('{"iteration": 4, "lo')
        assert [row["iteration"] for row in run.read_metrics()] == [1, 2, 3]
        run.append_metrics({"iteration": 5})
        assert [row["iteration"] for row in run.read_metrics()] == [1, 2, 3, 5]
        assert run.truncate_metrics(2) == 2
        assert run.metrics.path.read_text() == '{"iteration":1}\n{"iteration":2}\n'
        with run.metrics.path.open("a") as file:
            file.write('{"iteration":2}')  # whole, but for the end of its line
        assert [row["iteration"] for row in run.read_metrics()] == [1, 2]
        assert run.truncate_metrics(2) == 0
        assert run.metrics.path.read_text() == '{"iteration":1}\n{"iteration":2}\n'
        assert [path.name for path in run.path.glob(".*")] == []


def test_waiting_rows_outlast_a_checkpoint_and_a_return_to_it(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", mount=False) as fill, create(tmp_path / "disk" / "a") as run:
        fill(True)
        for iteration in (1, 2):
            run.append_metrics({"iteration": iteration, "text": "x" * 100_000})
        with pytest.raises(OSError, match=r"2 rows of metrics\.jsonl could not be written"):
            run.metrics.sync()
        run.truncate_metrics(1)
        assert run.metrics.waiting == 1
        fill(False)
        run.metrics.sync()
        assert [row["iteration"] for row in run.read_metrics()] == [1]
        fill(True)
        run.append_metrics({"iteration": 2, "text": "x" * 100_000})
        fill(False)
        assert run.truncate_metrics(1) == 1
        assert [row["iteration"] for row in run.read_metrics()] == [1]


def test_rows_are_whole_while_others_read_them(tmp_path: Path) -> None:
    log, done = MetricsLog(tmp_path / "metrics.jsonl"), threading.Event()
    seen: list[int] = []

    def read() -> None:
        while not done.is_set():
            seen.append(len(log.rows()))

    reader = threading.Thread(target=read)
    reader.start()
    for iteration in range(300):
        log.append({"iteration": iteration, "text": "x" * 500})
    done.set()
    reader.join()
    assert seen == sorted(seen)
    assert [row["iteration"] for row in log.rows()] == list(range(300))


def test_strategies_are_listed_loaded_and_discarded(tmp_path: Path) -> None:
    with create(tmp_path / "a") as run:
        for iteration in (2, 1, 3):
            for player in (0, 1):
                run.save_strategy(player, iteration, {"w": np.full(3, iteration)}, {"count": iteration})
        (run.path / "strategies" / "notes.txt").write_text("x")
        assert [(f.player, f.iteration) for f in run.list_strategies()] == [
            (0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)
        ]  # fmt: skip
        assert [f.iteration for f in run.list_strategies(1)] == [1, 2, 3]
        arrays, meta = run.load_strategy(1, 2)
        assert (arrays["w"] == 2).all()
        assert meta == {"count": 2, "player": 1, "iteration": 2}
        for iteration in (1, 2):
            run.save_strategy(0, iteration, {"w": np.zeros(3)}, {}, average=True)
        assert run.discard_strategies_after(1) == 5
        assert [(f.player, f.iteration) for f in run.list_strategies()] == [(0, 1), (1, 1)]
        assert [(f.player, f.iteration) for f in run.list_strategies(average=True)] == [(0, 1)]
        with pytest.raises(UsageError, match="no strategy of player 0 at iteration 3; it has 1 to 1"):
            run.load_strategy(0, 3)
        path = run.list_strategies(0)[0].path
        path.write_bytes(path.read_bytes()[:-3])
        with pytest.raises(UsageError, match=r"p0-000001.safetensors is damaged"):
            run.load_strategy(0, 1)
        (run.path / "strategies").rename(run.path / "gone")
        (run.path / "strategies").write_text("no folder")
        with pytest.raises(RunError, match="make room and continue with --resume"):
            run.save_strategy(0, 9, {}, {})


def test_the_strategy_of_an_earlier_end_is_discarded_unless_it_cannot_be_read(tmp_path: Path) -> None:
    with create(tmp_path / "a") as run:
        assert not run.discard_final_strategy_before(9)
        for iteration in (1, 2, 3):
            run.save_strategy(0, iteration, {"w": np.zeros(3)}, {"final": iteration > 1})
        assert not run.discard_final_strategy_before(2), "of those before, none is the last of a run"
        assert [file.iteration for file in run.list_strategies()] == [1, 2, 3]
        assert run.discard_final_strategy_before(4)
        os.truncate(run.list_strategies()[-1].path, 30)
        assert not run.discard_final_strategy_before(4)
        assert [file.iteration for file in run.list_strategies()] == [1, 2]


def test_a_strategy_of_another_iteration_or_player_is_refused(tmp_path: Path) -> None:
    with create(tmp_path / "a") as run:
        for player, iteration in ((0, 1), (1, 2)):
            run.save_strategy(player, iteration, {"w": np.zeros(3, np.float32)}, {})
        folder = run.path / "strategies"
        (folder / "p1-000002.safetensors").write_bytes((folder / "p0-000001.safetensors").read_bytes())
        with pytest.raises(UsageError, match=r"p1-000002.safetensors contains player 0 at iteration 1; restore it"):
            run.load_strategy(1, 2)
        os.truncate(folder / "p0-000001.safetensors", 30)
        with pytest.raises(UsageError, match=r"p0-000001.safetensors is damaged.*; restore it from a copy, or play"):
            run.load_strategy(0, 1)


def test_missing_strategies_are_named(tmp_path: Path) -> None:
    with create(tmp_path / "a") as run:
        for iteration in (1, 4):
            run.save_strategy(0, iteration, {"w": np.zeros(3, np.float32)}, {})
        run.require_strategies({(1, 0), (4, 0)})
        with pytest.raises(UsageError, match=r"lacks p0-000002.safetensors and 1 more, .* or play .*a@1$"):
            run.require_strategies({(t, 0) for t in (1, 2, 3, 4)})


def test_rows_of_another_kind_are_passed_over(tmp_path: Path) -> None:
    with create(tmp_path / "a") as run:
        run.append_metrics({"kind": "train", "iteration": 1})
        with run.metrics.path.open("a") as file:
            file.write('{"kind": "train", "iteration": "x"}\n[1]\n{"kind": "train", "iteration": 1.5}\n')
        run.append_metrics({"kind": "train", "iteration": 2})
        assert [row["iteration"] for row in run.read_metrics()] == [1, 2]
        assert run.truncate_metrics(1) == 1
        assert [row["iteration"] for row in run.read_metrics()] == [1]
        run.metrics.path.unlink()
        run.metrics.path.mkdir()
        with pytest.raises(UsageError, match=r"cannot read .*metrics.jsonl: Is a directory"):
            run.read_metrics()


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (["seed=2", "game=one-card"], "leduc-dream-one-card"),
        (["game = openspiel:kuhn_poker(players=3) "], "leduc-dream-openspiel-kuhn_poker-players-3"),
        (["game=kuhn", "game=leduc"], "leduc-dream"),
        (["game=../x"], "leduc-dream-x"),
        (["game_options.cards=4", "game="], "leduc-dream"),
    ],
)
def test_default_folders_name_another_game(settings: list[str], name: str) -> None:
    path = default_run_dir("leduc-dream", settings)
    assert path.parent == Path("runs")
    assert path.name.rpartition("-")[0].rpartition("-")[0] == name


def test_default_folders_do_not_collide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = []
    for _ in range(3):
        path = default_run_dir("quick")
        create(path).close()
        made.append(path)
    assert len(set(made)) == 3
    assert all(path.parent == Path("runs") and path.name.startswith("quick-2") for path in made)
    create(Path("runs/other"), preset="other").close()
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "config.json").write_text("{")
    assert sorted(find_runs("quick")) == sorted(made)
