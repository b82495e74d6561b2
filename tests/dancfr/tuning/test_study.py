"""The study of a search: the same seed suggests the same, in one piece or in several; journals that a kill has torn."""

from pathlib import Path
from typing import Any

import pytest

from dancfr.errors import UsageError
from dancfr.methods import find_preset, method_of
from dancfr.runs.config import apply_overrides
from dancfr.tuning.metric import Metric, metrics_of
from dancfr.tuning.results import summary
from dancfr.tuning.study import JOURNAL, Plan, ask, mended, open_study, unfinished

SPACE = {
    "training.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
    "network.width": {"choices": [32, 64, 128]},
    "training.epochs": {"low": 1, "high": 4},
}


def plan(**changes: Any) -> Plan:
    given = {"preset": "leduc-policy-gradient", "space": SPACE, "metric": "exploitability", "trials": 15}
    return Plan.model_validate(given | changes)


def searched(folder: Path, trials: int, piece: int, **changes: Any) -> list[dict[str, Any]]:
    """The settings of a search whose values are computed from them, opened again after every `piece` trials."""
    folder.mkdir()
    wanted = plan(**changes)
    for first in range(0, trials, piece):
        study = open_study(folder, wanted)
        space = wanted.space_of_settings("tune.json")
        for index in range(first, min(first + piece, trials)):
            trial = ask(study, wanted, space, index)
            study.tell(
                trial.number, abs(trial.params["training.learning_rate"] - 3e-3) + trial.params["training.epochs"]
            )
    return [trial["settings"] for trial in summary(wanted, open_study(folder, wanted))["trials"]]


def test_a_seed_suggests_the_same_settings_however_often_a_search_is_resumed(tmp_path: Path) -> None:
    whole = searched(tmp_path / "whole", 15, 15)
    assert searched(tmp_path / "pieces", 15, 4) == whole
    assert searched(tmp_path / "other", 15, 15, seed=1) != whole
    assert len({str(settings) for settings in whole}) > 12


def test_what_a_kill_leaves_is_mended(tmp_path: Path) -> None:
    before = searched(tmp_path / "s", 3, 3)
    journal = tmp_path / "s" / JOURNAL
    journal.write_bytes(journal.read_bytes() + b'{"op_code": 4, "worker')
    (tmp_path / "s" / f"{JOURNAL}.lock").symlink_to(journal)
    mended(tmp_path / "s")
    study = open_study(tmp_path / "s", plan())
    assert [trial["settings"] for trial in summary(plan(), study)["trials"]] == before
    ask(study, plan(), plan().space_of_settings("tune.json"), 3)
    assert unfinished(open_study(tmp_path / "s", plan())) == [3]


def test_a_damaged_journal_is_named(tmp_path: Path) -> None:
    searched(tmp_path / "s", 2, 2)
    journal = tmp_path / "s" / JOURNAL
    journal.write_bytes(b"no JSON\n" + journal.read_bytes())
    with pytest.raises(UsageError, match=r"study\.jsonl is damaged .*restore it from a copy"):
        open_study(tmp_path / "s", plan())


def test_journals_are_json_without_pickles(tmp_path: Path) -> None:
    import json

    searched(tmp_path / "s", 2, 2)
    assert all(json.loads(line)["op_code"] >= 0 for line in (tmp_path / "s" / JOURNAL).read_text().splitlines())


@pytest.mark.parametrize(
    ("preset", "settings", "name", "found"),
    [
        ("leduc-policy-gradient", (), None, "exploitability"),
        ("leduc-policy-gradient", (), "wins:random", "wins:random"),
        ("goofspiel5-values", (), None, "exploitability"),
        ("geister-quick", ("evaluation.opponents=[rush]",), None, "wins:rush"),
    ],
)
def test_the_metric_is_one_that_the_evaluation_produces(
    preset: str, settings: tuple[str, ...], name: str | None, found: str
) -> None:
    record = find_preset(preset)
    metric = Metric.named(name, method_of(record), apply_overrides(record.config, settings))
    assert metric.name == found
    assert metric.maximised == found.startswith("wins:")


@pytest.mark.parametrize(
    ("preset", "settings", "name", "says"),
    [
        ("leduc-policy-gradient", (), "wins:rush", "'wins:rush'; it produces exploitability, wins:random"),
        ("geister-quick", (), "exploitability", "'exploitability'; it produces wins:"),
        ("geister-quick", (), None, "choose a metric, as there is no exact evaluation: --metric wins:"),
        ("leduc-policy-gradient", ("evaluation.every=0",), None, "evaluation.every=0: the runs would not be evaluated"),
    ],
)
def test_other_metrics_are_refused_with_those_that_there_are(
    preset: str, settings: tuple[str, ...], name: str | None, says: str
) -> None:
    record = find_preset(preset)
    with pytest.raises(UsageError) as refusal:
        Metric.named(name, method_of(record), apply_overrides(record.config, settings))
    assert says in str(refusal.value)


def test_metrics_are_the_rows_of_their_policy_and_opponent() -> None:
    exact, wins = Metric("exploitability"), Metric("wins:rush")
    row = {"kind": "evaluation", "policy": "average", "opponent": "rush", "win_rate": 0.75}
    assert (wins.of(row), exact.of(row), Metric("wins:random").of(row)) == (0.75, None, None)
    assert exact.of({"kind": "exploitability", "policy": "average", "nash_conv": 0.5}) == 0.5
    assert wins.of({"kind": "train", "iteration": 1}) is None
    record = find_preset("leduc-policy-gradient")
    assert metrics_of(method_of(record), record.config) == ["exploitability", "wins:random"]
