"""Runs of several seeds: trained by one call or command, continued by the same, told as means with intervals."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

import dancfr
from dancfr.cli import main
from dancfr.errors import RunError, UsageError
from dancfr.report.history import History, by_setting
from dancfr.report.report import exact_table
from dancfr.runs.run import Run
from dancfr.seeds import SeedRuns
from dancfr.trainings import Stopped
from dancfr.watch.wandb_reader import shown_name
from tests.dancfr.seeds.small_seeds import SMALL, train


def test_runs_differ_in_their_seed_alone(runs: SeedRuns) -> None:
    assert runs.seeds == [1, 2, 3]
    assert [run.path.name for run in runs.runs] == ["seed-1", "seed-2", "seed-3"]
    first, *others = (run.config.varied(seed=0) for run in runs.runs)
    assert all(other == first for other in others)
    assert len({str(run.rows("exploitability")) for run in runs.runs}) == 3


@pytest.mark.parametrize("key", ["nash_conv", "win_rate"])
def test_a_band_is_the_t_interval_of_the_runs(runs: SeedRuns, key: str) -> None:
    bands = runs.bands(key)
    assert list(bands) == ["average", "last"]
    for policy, band in bands.items():
        values = np.array([run.metric(key, policy=policy)[1] for run in runs.runs])
        half = t.ppf(0.975, 2) * values.std(axis=0, ddof=1) / 3**0.5
        np.testing.assert_allclose(band.x, [2, 4])
        np.testing.assert_allclose(band.mean, values.mean(axis=0))
        least, most = {"nash_conv": (0, np.inf), "win_rate": (0, 1)}[key]
        np.testing.assert_allclose(band.low, np.maximum(band.mean - half, least))
        np.testing.assert_allclose(band.high, np.minimum(band.mean + half, most))


def test_bounds_are_values_that_can_be(runs: SeedRuns) -> None:
    """The t intervals of three short runs would leave the range of win rates."""
    rates = runs.bands("win_rate").values()
    assert max(band.high.max() for band in rates) == 1 or min(band.low.min() for band in rates) == 0


def test_between_decisions_curves_are_interpolated(runs: SeedRuns) -> None:
    band = runs.bands("nash_conv", x="decisions")["average"]
    ends = [run.frame("exploitability").decisions.iloc[[0, -1]].tolist() for run in runs.runs]
    assert band.x[0] == max(first for first, _ in ends)
    assert band.x[-1] == min(last for _, last in ends)
    assert (np.diff(band.x) > 0).all()
    frame = runs.frame("nash_conv", x="decisions")
    assert list(frame.columns) == ["curve", "decisions", "mean", "low", "high", "runs"]
    np.testing.assert_array_equal(frame[frame.curve == "average"]["mean"], band.mean)


def test_the_last_values_are_those_of_the_record(runs: SeedRuns) -> None:
    rows = runs.final()
    assert [(row["key"], row["policy"], row["opponent"]) for row in rows] == [
        ("nash_conv", "average", None),
        ("nash_conv", "last", None),
        ("win_rate", "average", "random"),
        ("win_rate", "last", "random"),
    ]
    for row in rows:
        own = {"policy": row["policy"], "kind": "exploitability" if row["opponent"] is None else "evaluation"}
        assert row["values"] == [run.metric(row["key"], **own)[1][-1] for run in runs.runs]
        assert row["iterations"] == [4, 4, 4]
        assert row["mean"] == pytest.approx(np.mean(row["values"]))
        assert row["ci95"][0] <= row["mean"] <= row["ci95"][1]
        assert row["ci95"][0] >= 0
    assert "NashConv" in runs._repr_html_()
    json.dumps(runs.as_dict())


def test_wandb_shows_whose_seed_a_run_is(runs: SeedRuns) -> None:
    assert [shown_name(Run.open(run.path)) for run in runs.runs] == ["runs/seed-1", "runs/seed-2", "runs/seed-3"]


def test_more_runs_at_the_same_time_than_cpus_are_refused_before_ray_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    told = r"^parallel 1000: this machine has \d+ CPUs, one for each run: give at most as many"
    with pytest.raises(UsageError, match=told):
        dancfr.train_seeds("leduc-dream-quick", SMALL, seeds=(1, 2), folder=tmp_path / "runs", parallel=1000)
    assert not (tmp_path / "runs").exists()


def test_bands_are_drawn(runs: SeedRuns) -> None:
    ax = runs.plot()
    assert ax.get_title() == "leduc-dream-quick, 95 % t interval of 3 runs"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["runs average", "runs last"]
    assert len(ax.collections) == 2, "a band each"
    assert len(runs.plot("loss/advantage", ax=ax).get_lines()) == 3
    assert ax.get_legend().get_texts()[-1].get_text() == "runs loss/advantage"
    rates = runs.plot("win_rate").collections
    assert all(0 <= y <= 1 for band in rates for y in band.get_paths()[0].vertices[:, 1])
    with pytest.raises(UsageError, match="plot: key expects text or none, got 5"):
        runs.plot(5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="plot: x expects text, got 5"):
        runs.plot(x=5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no recorded number named 'nosh'"):
        runs.bands("nosh")


def test_the_same_call_keeps_complete_runs_and_continues_others(folder: Path, tmp_path: Path) -> None:
    before = (folder / "seed-1" / "metrics.jsonl").read_bytes()
    assert train(folder, (1, 2, 3)).seeds == [1, 2, 3]
    assert (folder / "seed-1" / "metrics.jsonl").read_bytes() == before
    dancfr.train("leduc-dream-quick", SMALL | {"seed": 1}, run_dir=tmp_path / "seed-1", inline=True, progress=False)
    lines = (tmp_path / "seed-1" / "metrics.jsonl").read_text().splitlines()
    assert (tmp_path / "seed-1" / "checkpoints").exists(), "not known to be complete"
    found = train(tmp_path, (1,))
    assert not (tmp_path / "seed-1" / "checkpoints").exists()
    assert (tmp_path / "seed-1" / "metrics.jsonl").read_text().splitlines()[: len(lines)] == lines
    assert found.final()[0]["ci95"] is None
    assert found.final()[0]["values"] == dancfr.load_seeds(folder).final()[0]["values"][:1], "the same seed"
    with pytest.raises(UsageError, match="iterations"):
        train(folder, (1,), iterations=5)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"seeds": (1, 1)}, "seeds must be different integers"),
        ({"seeds": ()}, "seeds must be different integers"),
        ({"seeds": (-1,)}, "seeds must be different integers"),
        ({"parallel": 0}, "parallel must be at least 1"),
        ({"parallel": 2, "inline": True}, "parallel trains each run in one process of Ray"),
        ({"settings": {"seed": 4}}, "seed differs between the runs"),
        ({"settings": {"sed": 4}}, "sed"),
        ({"seeds": 5}, "seeds expects a list of integers, got 5"),
        ({"seeds": (1, 2**32)}, "seed must be less than 4294967296"),
        ({"folder": "x" * 300}, "File name too long"),
        ({"wandb": "on"}, "W&B mode must be"),
        ({"parallel": 2, "device": "gpu"}, "gpu"),
        ({"run_dir": "runs"}, "has no argument run_dir: name the folder of all runs by folder"),
        ({"resume": True}, "has no argument resume: the same call again continues"),
    ],
)
def test_wrong_use_is_refused_before_a_folder_is_made(arguments, says, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        dancfr.train_seeds("leduc-dream-quick", **{"folder": tmp_path / "runs"} | arguments)
    assert not (tmp_path / "runs").exists()


def test_folders_of_other_runs_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no folders of runs"):
        dancfr.load_seeds(tmp_path)
    train(tmp_path / "both", (1,))
    one = {"traversals": 30, "seed": 2}
    dancfr.train("leduc-dream-quick", SMALL | one, run_dir=tmp_path / "both" / "x", inline=True, progress=False)
    with pytest.raises(UsageError, match=r"several settings: .*traversals=20; .*traversals=30"):
        dancfr.load_seeds(tmp_path / "both")


def test_runs_are_not_trained_into_a_run(copied: Path) -> None:
    with pytest.raises(UsageError, match="is the folder of a run"):
        train(copied / "seed-1", (1,))
    with pytest.raises(UsageError, match="is the folder of one run: give the folder above it"):
        dancfr.load_seeds(copied / "seed-1")


def test_an_interrupted_run_goes_on_with_the_settings_of_the_call(tmp_path: Path) -> None:
    started = SMALL | {"seed": 1, "iterations": 1}
    dancfr.train("leduc-dream-quick", started, run_dir=tmp_path / "seed-1", inline=True, progress=False)
    settings = {key: value for key, value in SMALL.items() if key != "iterations"} | {"samples": 60}
    found = dancfr.train_seeds(
        "leduc-dream-quick", settings, seeds=(1, 2), folder=tmp_path, inline=True, progress=False
    )
    lengths = [run.iterations for run in found.runs]
    assert min(lengths) > 1, "not those that it was started with"
    assert not list(tmp_path.glob("*/checkpoints*"))


def test_an_interrupted_deletion_of_checkpoints_leaves_a_complete_run(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copied / "seed-1" / "checkpoints" / "000004").mkdir(parents=True)

    def interrupted(path: Path, **_: object) -> None:
        if path.exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dancfr.trainings.is_complete", lambda *_: True)
        patch.setattr("dancfr.trainings.shutil.rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(copied, (1,))
    assert not (copied / "seed-1" / "checkpoints").exists(), "all of them or none"
    before = (copied / "seed-1" / "metrics.jsonl").read_bytes()
    train(copied, (1,))
    assert not list((copied / "seed-1").glob("checkpoints*"))
    assert (copied / "seed-1" / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            RunError("full: continue with --resume"),
            "full: continue with the same call; the same call with folder=runs/",
        ),
        (
            Stopped("stopped in x; the same call continues"),
            "^stopped; the same call with folder=runs/leduc-dream-quick-",
        ),
        (KeyboardInterrupt(), "^$"),
    ],
)
def test_a_training_that_ends_early_names_its_new_folder(
    error: BaseException,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    def train_runs(plan: list[tuple[Path, str, object]], *_: object) -> None:
        plan[0][0].mkdir(parents=True)
        raise error

    monkeypatch.setattr("dancfr.seeds.train_runs", train_runs)
    with pytest.raises(type(error), match=says):
        dancfr.train_seeds("leduc-dream-quick", SMALL, inline=True, progress=False)
    interrupted = "interrupted; the same call with folder=runs/leduc-dream-quick-" in capsys.readouterr().err
    assert interrupted == isinstance(error, KeyboardInterrupt)


def test_a_report_has_the_means_of_exact_evaluations(folder: Path) -> None:
    table = exact_table(by_setting([History.read(folder / f"seed-{seed}") for seed in (1, 2, 3)]))
    assert table is not None
    assert [row[1] for row in table.rows] == ["average", "last"]
    assert table.rows[0][2:4] == ("3", "4")
    mean = dancfr.load_seeds(folder).final()[0]["mean"]
    assert float(table.rows[0][4]) == pytest.approx(mean, rel=0.01)


def run_command(words: list[str]) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--seeds", "1,x"], "--seeds must be a list of integers"),
        (["--seeds", "1,2", "--resume"], "the same command again continues: leave out --resume"),
        (["--parallel", "2"], "give their --seeds"),
    ],
)
def test_the_command_refuses_wrong_use(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["train", "leduc-dream-quick", *words]) == 2
    assert says in capsys.readouterr().err


def test_the_command_tells_means(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [f"{key}={value}" for key, value in SMALL.items()]
    words = ["train", "leduc-dream-quick", *settings, "--seeds", "1,2,3", "--run-dir", str(folder), "--inline"]
    assert run_command(words) == 0
    told = capsys.readouterr().out
    assert "last evaluations, means over 3 runs:" in told
    assert f"dancfr report {folder}/seed-1" in told
    assert run_command([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["final"] == dancfr.load_seeds(folder).final()


@pytest.mark.slow
def test_runs_are_trained_in_parallel_on_ray(folder: Path, tmp_path: Path) -> None:
    found = dancfr.train_seeds(
        "leduc-dream-quick", SMALL, seeds=(1, 2, 3), folder=tmp_path, parallel=2, progress=False, wandb="off"
    )
    assert found.final() == dancfr.load_seeds(folder).final(), "with Ray as without"
