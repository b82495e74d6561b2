"""The command for machines with a GPU, from its tests to its tables, on nets and games of seconds."""

import json
import subprocess
import sys
from pathlib import Path
from time import monotonic

import pytest

from dancfr.bench.gpu import FULL, Plan, Session, Training, tables
from dancfr.errors import RunError, UsageError
from dancfr.methods import find_preset
from dancfr.runs.config import apply_overrides
from dancfr.runs.run import Run
from tests.dancfr.methods.small_runs import SMALL

DREAM = tuple(SMALL["dream"][1:])
POLICY = tuple(SMALL["policy-gradient"][1:])
TINY = Plan(
    rates=(Training("leduc-dream", DREAM), Training("geister-policy-gradient-quick", POLICY)),
    rate_minutes=0.1,
    trainings=(Training("leduc-dream", (*DREAM, "evaluation.games=4", "iterations=4"), 0.05),),
    tests=("-m", "cuda", "tests/learners/networks/test_q_inference.py"),
    size=64,
)


def test_every_part_is_done_once_and_in_the_tables(gpu: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(tmp_path / "gpu", TINY, 10)
    session.run()
    names = ["tests", "product", *(f"rates {each.preset} {on}" for each in TINY.rates for on in ("cuda", "cpu"))]
    assert list(session.parts) == [*names, "train leduc-dream"]
    assert all(part["complete"] for part in session.parts.values())
    assert set(session.parts["product"]["flops"]) == {"cuda float32", "cuda bfloat16", "cpu float32"}
    on_gpu, on_cpu = (session.parts[f"rates leduc-dream {on}"]["rates"] for on in ("cuda", "cpu"))
    assert on_gpu.keys() == on_cpu.keys() >= {"traversal/decisions_per_second", "learner/advantage_rows_per_second"}
    assert min(on_gpu.values()) > 0
    run = Run.open(tmp_path / "gpu" / "runs" / "leduc-dream")
    assert run.read_metrics("train")[-1]["iteration"] == session.parts["train leduc-dream"]["iterations"] > 0
    written = (tmp_path / "gpu" / "tables.md").read_text()
    assert written == tables(session.parts)
    assert "| `leduc-dream` | learner/baseline_rows |" in written
    assert "last v random" in written

    monkeypatch.setattr(Session, "_rates", None)  # would fail if it were called
    again = Session(tmp_path / "gpu", TINY, 10)
    again.run()
    assert again.parts == session.parts


def test_what_there_is_no_time_for_is_done_by_the_next_call(gpu: str, tmp_path: Path, capsys) -> None:
    plan = Plan((), 0.01, TINY.trainings, TINY.tests, 64)
    late = Session(tmp_path / "gpu", plan, 0.0)
    late.run()
    assert late.parts == {}
    assert "no time for: train leduc-dream" in capsys.readouterr().err
    Session(tmp_path / "gpu", plan, 5).run()
    assert list(json.loads((tmp_path / "gpu" / "parts.json").read_text())) == ["tests", "product", "train leduc-dream"]


def test_an_interrupted_training_goes_on(gpu: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan((), 0.01, TINY.trainings, TINY.tests, 64)
    session = Session(tmp_path / "gpu", plan, 5)
    path = tmp_path / "gpu" / "runs" / "leduc-dream"
    from dancfr.bench import gpu as module

    whole = module.train

    def interrupted(request):
        return {**whole(request), "stopped": True}

    monkeypatch.setattr(module, "train", interrupted)
    with pytest.raises(RunError, match="repeat the command to continue"):
        session.run()
    assert "train leduc-dream" not in json.loads((tmp_path / "gpu" / "parts.json").read_text())
    done = len(Run.open(path).read_metrics("train"))
    monkeypatch.setattr(module, "train", whole)
    Session(tmp_path / "gpu", plan, 5).run()
    assert len(Run.open(path).read_metrics("train")) >= done


def test_a_training_that_the_limit_has_cut_goes_on(gpu: str, tmp_path: Path) -> None:
    endless = Training("leduc-dream", (*DREAM, "evaluation.games=4", "iterations=100000"))
    first = Session(tmp_path / "gpu", Plan((), 0.01, (endless,), TINY.tests, 64), 0.5)
    first._end = monotonic() + 2
    first._part("train leduc-dream", first._train, endless)
    cut = first.parts["train leduc-dream"]
    assert not cut["complete"]
    assert "| `leduc-dream`, not at its end |" in (tmp_path / "gpu" / "tables.md").read_text()
    second = Session(tmp_path / "gpu", Plan((), 0.01, (endless,), TINY.tests, 64), 0.05)
    second._part("train leduc-dream", second._train, endless)
    assert second.parts["train leduc-dream"]["iterations"] > cut["iterations"]
    assert second.parts["train leduc-dream"]["seconds"] > cut["seconds"]


@pytest.mark.parametrize("text", ["{", "[]", '{"tests": 3}', '{"tests": {"complete": true}}', "\x00"])
def test_a_damaged_record_is_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "parts.json").write_text(text)
    with pytest.raises(UsageError, match=r"parts\.json is damaged: remove it"):
        Session(tmp_path, TINY, 1)


def test_a_folder_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match="cannot be used"):
            Session(path, TINY, 1)


def test_a_part_that_fails_is_said_and_the_others_are_done(gpu: str, tmp_path: Path, capsys) -> None:
    wrong = Training("leduc-dream", (*DREAM, "iterations=0"))
    plan = Plan((wrong,), 0.01, TINY.trainings, TINY.tests, 64)
    session = Session(tmp_path / "gpu", plan, 5)
    session.run()
    failure = session.parts["rates leduc-dream cuda"]["failure"]
    assert "iterations must be at least 1" in failure
    assert f"rates leduc-dream cuda has failed: {failure}" in capsys.readouterr().err
    assert session.parts["train leduc-dream"]["complete"]
    written = (tmp_path / "gpu" / "tables.md").read_text()
    assert f"- rates leduc-dream cuda has failed: {failure}" in written
    assert "Device:" in written
    again = Session(tmp_path / "gpu", Plan(TINY.rates[:1], 0.01, TINY.trainings, TINY.tests, 64), 5)
    again.run()
    assert again.parts["rates leduc-dream cuda"]["complete"]
    assert "has failed" not in (tmp_path / "gpu" / "tables.md").read_text()


def test_the_full_plan_has_settings_that_are_valid(tmp_path: Path) -> None:
    session = Session(tmp_path, FULL, 1)
    for each in FULL.rates:
        apply_overrides(find_preset(each.preset).config, session.rate_changes(each)).check()
    for each in FULL.trainings:
        apply_overrides(find_preset(each.preset).config, each.changes).check()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give a folder"),
        (("x", "soon"), "minutes must be a number, got 'soon'"),
        (("x", "0"), "minutes must be above 0"),
        (("x", "inf"), "minutes must be above 0 and finite"),
        (("--help",), "give a folder"),
        (("",), "give a folder"),
        (("x",), "no CUDA device is visible to torch"),
    ],
)
def test_wrong_use_is_one_line(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available() and words == ("x",):
        pytest.skip("this machine has a GPU")
    done = subprocess.run(
        [sys.executable, "-m", "dancfr.bench.gpu", *words],
        cwd=Path(__file__).resolve().parents[2], capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert message in line
