"""Tests of repeated experiments: rows of the comparison, and runs that are trained once, resumed and shared."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dancfr.errors import RunError, UsageError
from dancfr.methods import find_preset
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from dancfr.papers.paper000 import DIVISOR, PRESETS, SCALES, single_run_rows, time_rows, win_rate_rows
from dancfr.papers.reproduce import EXPERIMENTS, reproduce
from dancfr.papers.trainings import check_overrides, configuration
from dancfr.report.history import History, Settings
from dancfr.trainings import is_complete, train_run
from tests.dancfr.records import evaluation_row, train_row

SMALL = (
    "iterations=2",
    "chunk=4",
    "reservoir=500",
    "circular=500",
    "advantage_training.batch=32",
    "baseline_training.batch=32",
    "evaluation.every=2",
    "evaluation.games=4",
    "evaluation.ply_limit=20",
)
TINY = (*SMALL, "traversals=4")

DIFFERENT_FLAGS = (
    r"^network.encoding is what this experiment compares \(Ours: none, Ours-: no_wild_flags\): leave it out$"
)


def settings_with(wins: dict[str, list[list[int]]], seconds: dict[str, list[float]] | None = None) -> Settings:
    """Returns histories of the four settings, given each run's wins in 100 games at iterations 10, 20, ..."""
    found: Settings = {}
    for preset in PRESETS:
        found[preset] = []
        for i, curve in enumerate(wins[preset]):
            evaluations = tuple(evaluation_row(10 * (k + 1), count) for k, count in enumerate(curve))
            elapsed = seconds[preset][i] if seconds else 1.0
            rows = (train_row(10 * len(curve) + 1, 0, elapsed_s=elapsed),)
            short = tuple(row | {"elapsed_s": 0.0} for row in evaluations)
            info = {"preset": preset, "method": "dream", "config": {}}
            found[preset].append(History(f"{preset}-seed{i + 1}", Path(preset), info, rows, short))
    return found


WINS = {
    "geister-dream-no-baseline": [[50, 70], [60, 74]],
    "geister-dream-3840": [[60, 80], [60, 78]],
    "geister-dream": [[60, 86], [88, 84]],
    "geister-dream-10240": [[60, 79], [60, 79]],
}


def by_cell(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    assert all(set(row) == {"cell", "paper", "ours", "sd", "note"} for row in rows)
    return {row["cell"]: row for row in rows}


def test_fig_4_compares_final_and_best_win_rates_with_the_paper() -> None:
    rows = by_cell(win_rate_rows(settings_with(WINS)))
    final = rows["final win rate, geister-dream"]
    assert final["paper"] == 0.80
    assert final["ours"] == pytest.approx(0.85)
    assert final["sd"] == pytest.approx(2**0.5 / 100)
    best = rows["best win rate, geister-dream"]
    assert (best["paper"], best["ours"]) == (0.85, 0.88)
    assert rows["final win rate, geister-dream minus the best other"]["ours"] == pytest.approx(0.06)
    worst = rows["final win rate, geister-dream-no-baseline minus the worst other"]
    assert worst["ours"] == pytest.approx(-0.07)


def test_fig_3_has_times_and_the_ratios_that_the_paper_tells_of() -> None:
    seconds = {preset: [100.0, 120.0] for preset in PRESETS}
    seconds |= {"geister-dream-10240": [220.0, 220.0], "geister-dream-no-baseline": [55.0, 55.0]}
    rows = by_cell(time_rows(settings_with(WINS, seconds)))
    assert rows["training time, geister-dream"]["ours"] == 110.0
    assert rows["training time, geister-dream"]["paper"] is None  # its bars carry no numbers
    assert rows["training time, geister-dream-10240 / geister-dream-3840"]["ours"] == 2.0
    assert rows["training time, geister-dream-no-baseline / geister-dream-3840"]["ours"] == 0.5


def test_figs_5_to_8_have_every_run_and_their_spread() -> None:
    rows = by_cell(single_run_rows(settings_with(WINS)))
    assert rows["final win rate, geister-dream-seed2"]["ours"] == 0.84
    assert "best 0.880 at iteration 10" in rows["final win rate, geister-dream-seed2"]["note"]
    assert rows["spread of final win rates, geister-dream-10240"]["ours"] == 0.0
    one = {preset: curves[:1] for preset, curves in WINS.items()}
    assert not any("spread" in cell for cell in by_cell(single_run_rows(settings_with(one))))


def test_runs_that_were_never_evaluated_are_named() -> None:
    with pytest.raises(
        RunError, match=r"geister-dream-no-baseline-seed1.*: no evaluation against random; set evaluation\.every"
    ):
        win_rate_rows(settings_with({preset: [[]] for preset in PRESETS}))


def test_scales_keep_the_proportions_of_the_paper() -> None:
    paper, quick = SCALES["paper"], SCALES["quick"]
    assert [configuration(setting, paper, ()) for setting in paper.settings] == [()] * 4
    assert len(paper.seeds) == 4
    assert [setting.preset for setting in quick.settings] == list(PRESETS)
    traversals = [configuration(setting, quick, ())[0] for setting in quick.settings]
    assert traversals == ["traversals=128", "traversals=128", "traversals=256", "traversals=341"]
    config: Any = find_preset("geister-dream").config
    assert f"reservoir={config.reservoir // DIVISOR}" in quick.overrides


@pytest.fixture
def few_traversals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduces the number of traversals, in the proportions of the paper."""
    for name in ("geister-fig3", "geister-fig4", "geister-fig5-8"):
        quick = EXPERIMENTS[name].scales["quick"]
        traversals = zip(quick.settings, (3, 3, 6, 8), strict=True)
        few = tuple(replace(setting, overrides=(f"traversals={count}",)) for setting, count in traversals)
        scales = {"quick": replace(quick, settings=few)}
        monkeypatch.setitem(EXPERIMENTS, name, replace(EXPERIMENTS[name], scales=scales))
    monkeypatch.setenv("WANDB_MODE", "disabled")


def test_an_experiment_trains_its_runs_once_and_the_next_one_shares_them(tmp_path: Path, few_traversals: None) -> None:
    arguments: dict[str, Any] = {"out_dir": tmp_path, "seeds": (1,), "inline": True, "overrides": SMALL}
    first = reproduce("geister-fig4", "quick", **arguments)
    assert set(first) >= {"experiment", "rows", "files", "seconds"}
    assert json.loads(json.dumps(first))["rows"] == first["rows"]
    assert all("also iterations=2" in row["note"] and "1/30" in row["note"] for row in first["rows"])
    records = {preset: tmp_path / f"{preset}-seed1" / "metrics.jsonl" for preset in PRESETS}
    before = {preset: path.stat().st_mtime_ns for preset, path in records.items()}

    second = reproduce("geister-fig5-8", "quick", **arguments)
    assert {preset: path.stat().st_mtime_ns for preset, path in records.items()} == before
    assert second["runs"] == first["runs"]
    assert [Path(file).name for file in second["files"]] == [
        "geister-fig5-8.html",
        *(f"single-runs-{preset}.png" for preset in PRESETS),
    ]
    assert all(Path(file).stat().st_size > 1000 for file in [*first["files"], *second["files"]])
    assert "about 80 %" in Path(first["files"][0]).read_text()

    with pytest.raises(UsageError, match="keeps its configuration"):
        reproduce("geister-fig4", "quick", **(arguments | {"overrides": (*SMALL, "sampling.epsilon=0.4")}))
    with pytest.raises(UsageError, match="ended after 2 iterations"):
        reproduce("geister-fig4", "quick", **(arguments | {"overrides": (*SMALL, "iterations=3")}))


LENGTHLESS = tuple(each for each in SMALL if not each.startswith("iterations"))


@pytest.fixture
def given(tmp_path: Path, few_traversals: None) -> Path:
    """A folder with runs of two settings of Fig. 4 by other names and seeds, and shorter than the experiment's."""
    scale = EXPERIMENTS["geister-fig4"].scales["quick"]
    for setting, count, seed in zip(scale.settings[1:3], (2, 4), (7, 8), strict=True):
        changes = configuration(setting, scale, (*LENGTHLESS, f"iterations={count}"), seed)
        train_run(tmp_path / "given" / f"run-{count}", setting.preset, changes, TrainOptions(inline=True))
    return tmp_path / "given"


def test_given_runs_are_compared_and_nothing_is_trained(given: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in given.rglob("*")}
    arguments: dict[str, Any] = {"out_dir": tmp_path / "out", "overrides": LENGTHLESS, "runs": [given]}
    found = reproduce("geister-fig4", "quick", **arguments)
    assert {path: path.stat().st_mtime_ns for path in given.rglob("*")} == before
    assert found["runs"] == [str(given / "run-2"), str(given / "run-4")]
    assert found["warnings"] == [
        "geister-dream-no-baseline: none of the runs has this setting.",
        "run-2 is unfinished: 2 of 20 iterations.",
        "run-4 is unfinished: 4 of 20 iterations.",
        "geister-dream-10240: none of the runs has this setting.",
    ]
    rows = by_cell(found["rows"])
    assert "at iteration 4;" in rows["final win rate, geister-dream"]["note"]
    order = rows["final win rate, geister-dream minus the best other"]["note"]
    assert "not after equally many iterations: geister-dream-3840 at iteration 2, geister-dream at iteration 4" in order
    assert "final win rate, geister-dream-10240" not in rows
    assert [Path(file).suffix for file in found["files"]] == [".html", ".png", ".png"]
    one = reproduce("geister-fig5-8", "quick", **(arguments | {"runs": [given / "run-4"]}))
    assert [row["cell"] for row in one["rows"]] == ["final win rate, run-4"]


def test_times_are_those_of_the_iterations_that_all_runs_have(given: Path, tmp_path: Path) -> None:
    found = reproduce("geister-fig3", "quick", tmp_path / "out", runs=[given], overrides=LENGTHLESS)
    own = by_cell(found["rows"])["training time, geister-dream"]
    assert "seconds of 2 iterations" in own["note"]
    assert 0 < own["ours"] < History.read(given / "run-4").seconds


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("geister-fig4", {"seeds": (1,)}, "--seeds chooses what to train"),
        (
            "geister-fig4",
            {"overrides": (*LENGTHLESS, "sampling.epsilon=0.4")},
            "no run of this experiment in .*unlike geister-dream",
        ),
        ("cheat-fig1", {}, "no run of this experiment in .* its presets are cheat-memoryless, cheat-hp-aware"),
        ("mini-geister-fig5", {"overrides": ()}, "trains nothing: leave out --runs"),
    ],
)
def test_given_runs_that_do_not_fit_are_refused(
    name: str, arguments: dict[str, Any], says: str, given: Path, tmp_path: Path
) -> None:
    overrides = LENGTHLESS if name.startswith("geister") else ()
    with pytest.raises(UsageError, match=says):
        reproduce(name, "quick", tmp_path / "out", **({"overrides": overrides, "runs": [given]} | arguments))
    assert not (tmp_path / "out").exists()


def test_a_given_run_says_why_it_does_not_belong(
    given: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def compare(name: str, *runs: Path, overrides: tuple[str, ...] = LENGTHLESS) -> None:
        reproduce(name, "quick", tmp_path / "out", overrides=overrides, runs=runs)

    other = (*LENGTHLESS, "sampling.epsilon=0.4")
    with pytest.raises(UsageError, match=r"run-4 matches none of .* sampling.epsilon: 0.4 -> 0.1"):
        compare("geister-fig4", given / "run-4", overrides=other)
    with pytest.raises(UsageError, match=r"it is a run of geister-dream, not of cheat-memoryless or"):
        compare("cheat-fig1", given / "run-4", overrides=())
    shutil.copytree(given / "run-2", given / "begun")
    (given / "begun" / "metrics.jsonl").write_text("[" * 100_000 + "\n")
    with pytest.raises(UsageError, match=r"begun has no complete iteration yet"):
        compare("geister-fig4", given / "begun")
    capfd.readouterr()
    compare("geister-fig4", given)
    assert "warning: left out" in (told := capfd.readouterr().err)
    assert "begun has no complete iteration yet" in told
    with (given / "run-4" / "metrics.jsonl").open("a") as record:
        record.write('{"kind": "train", "iter')
    (given / "begun" / "config.json").write_text("{")
    compare("geister-fig4", given)
    told = capfd.readouterr().err
    assert "run-4/metrics.jsonl: 1 lines cannot be read" in told
    assert "warning: left out: " in told
    assert "begun/config.json" in told
    with pytest.raises(UsageError, match=r"begun/config\.json"):
        compare("geister-fig4", given / "begun")
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(UsageError, match=r"is neither a run nor a folder of runs"):
        compare("geister-fig4", tmp_path)
    shutil.copytree(given / "run-4", given / "copy")
    with pytest.raises(UsageError, match=r"are runs of geister-dream with the same seed 8"):
        compare("geister-fig4", given)


def trained_by_hand(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr("dancfr.papers.reproduce.train_settings", lambda *_: settings)


def test_a_figure_that_the_runs_do_not_allow_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_with({preset: [[60], [70]] for preset in PRESETS})
    for runs in settings.values():  # each was evaluated once, at its own time
        for i, run in enumerate(runs):
            runs[i] = replace(run, evaluations=tuple(r | {"elapsed_s": 1.0 + i} for r in run.evaluations))
    trained_by_hand(monkeypatch, settings)
    found = reproduce("geister-fig4", out_dir=tmp_path)
    (warning,) = found["warnings"]
    assert warning == "Win rate against random over training time: the evaluations of the runs share no span of time."
    assert [Path(file).name for file in found["files"]] == ["geister-fig4.html", "win-rate-random-iterations.png"]
    assert by_cell(found["rows"])["final win rate, geister-dream"]["ours"] == pytest.approx(0.65)
    assert "share no span of time" in Path(found["files"][0]).read_text()


def test_runs_too_short_for_an_evaluation_have_a_page_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_by_hand(monkeypatch, settings_with({preset: [[]] for preset in PRESETS}))
    found = reproduce("geister-fig4", out_dir=tmp_path)
    assert (found["rows"], len(found["warnings"])) == ([], 3)
    assert "set evaluation.every, or train for longer." in found["warnings"][0]
    assert Path(found["files"][0]).stat().st_size > 1000


def test_a_run_that_its_time_has_ended_is_complete(write_run: Any) -> None:
    path = write_run("timed", [train_row(1, 0, elapsed_s=4.0)], preset="geister-dream")
    shutil.rmtree(path / "checkpoints")
    assert is_complete(path, "geister-dream", ("minutes=0.05",))
    with pytest.raises(UsageError, match="ended after 1 iterations"):
        is_complete(path, "geister-dream", ("minutes=1",))


def test_a_run_that_its_samples_have_ended_is_complete(write_run: Any) -> None:
    row = train_row(1, 0) | {"samples/advantage": 300.0}
    path = write_run("counted", [row], preset="geister-dream")
    shutil.rmtree(path / "checkpoints")
    assert is_complete(path, "geister-dream", ("samples=300",))
    with pytest.raises(UsageError, match="ended after 1 iterations"):
        is_complete(path, "geister-dream", ("samples=301",))


def test_an_interrupted_run_is_gone_on_with(tmp_path: Path) -> None:
    path, options = tmp_path / "run", TrainOptions(inline=True, progress=False)
    train(TrainRequest("geister-dream-no-baseline", (*TINY, "iterations=1"), path, "off", options))
    first = (path / "strategies" / "p0-000001.safetensors").stat().st_mtime_ns
    train_run(path, "geister-dream-no-baseline", TINY, options)
    assert History.read(path).iterations == 2
    assert (path / "strategies" / "p0-000001.safetensors").stat().st_mtime_ns == first
    assert not (path / "checkpoints").exists()


def test_a_run_of_another_setting_in_its_place_is_refused(tmp_path: Path) -> None:
    path, options = tmp_path / "run", TrainOptions(inline=True, progress=False)
    train(TrainRequest("geister-dream-no-baseline", (*TINY, "iterations=1"), path, "off", options))
    with pytest.raises(UsageError, match="holds a run of geister-dream-no-baseline, not of geister-dream:"):
        train_run(path, "geister-dream", TINY, options)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": "geister-fig2"}, "did you mean geister-fig"),
        ({"scale": "quik"}, "did you mean quick"),
        ({"seeds": ()}, "at least one seed"),
        ({"seeds": (1, 1)}, "each of them once"),
        ({"seeds": (1, 2**32)}, "from 0 to 4294967295, got 4294967296"),
        ({"seeds": (-1,)}, "from 0 to 4294967295, got -1"),
        ({"overrides": ("traversls=4",)}, "did you mean traversals"),
        ({"overrides": ("traversals=4",)}, r"^traversals is what this experiment compares \(.*dream: 256, .*leave it"),
        ({"overrides": ("baseline=false",)}, "^baseline is what this experiment compares .*no-baseline: false, "),
        ({"overrides": ("baseline=true",), "scale": "paper"}, "^baseline is what this experiment compares"),
        ({"overrides": ("seed=1",)}, "^seed .*: leave it out and .* --seeds$"),
        ({"overrides": ("game_options.ply_limit=0",)}, "ply_limit must be"),
        ({"overrides": ("evaluation.opponents=rsh",)}, "did you mean rush"),
        ({"overrides": ("network.outputs=nothing",)}, "has outputs ghost, colour, square, move, not nothing"),
        ({"name": "danzero-table1", "overrides": ("network.encoding=flat",)}, DIFFERENT_FLAGS),
        ({"name": "danzero-table1", "overrides": ("network.encoding=tribute",), "scale": "paper"}, DIFFERENT_FLAGS),
        ({"name": "danzero-table1", "overrides": ("game=geister",)}, "ragged actions"),
        ({"name": "danzero-table1", "overrides": ("tribute=learnt",)}, "set network.encoding=tribute"),
        ({"name": "danzero-fig5", "overrides": ("network.encoding=planes",)}, "no flat encoding planes"),
        ({"workers": 0}, "--workers must be at least 1, got 0"),
        ({"workers": 2, "inline": True}, "--inline runs in one process"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_trained(
    arguments: dict[str, Any], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=says):
        reproduce(**({"name": next(iter(EXPERIMENTS)), "out_dir": tmp_path} | arguments))
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr() == ("", "")


def test_a_setting_in_which_the_one_trained_net_may_differ_is_taken() -> None:
    check_overrides(EXPERIMENTS["danzero-fig5"].scales["quick"], ("network.encoding=no_wild_flags",))


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="cannot write the report"):
        reproduce("geister-fig3", out_dir=tmp_path / "file")
