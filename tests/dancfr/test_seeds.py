"""Runs of several seeds: trained by one call or command, continued by the same, told as means with intervals."""

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import t

import dancfr
from dancfr.cli import main
from dancfr.errors import UsageError
from dancfr.report.history import History, by_setting
from dancfr.report.report import exact_table
from dancfr.seeds import SeedRuns

mpl.use("Agg")

SMALL = {
    "game": "kuhn",
    "iterations": 4,
    "traversals": 20,
    "evaluation.every": 2,
    "evaluation.games": 20,
    "evaluation.exploitability": True,
    "advantage_training.minibatches": 2,
    "baseline_training.minibatches": 2,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("seeds") / "runs"
    train(path, (1, 2, 3))
    return path


@pytest.fixture
def runs(folder: Path) -> SeedRuns:
    return dancfr.load_seeds(folder)


def train(path: Path, seeds: tuple[int, ...], **more: object) -> SeedRuns:
    return dancfr.train_seeds("leduc-dream-quick", SMALL | more, seeds=seeds, folder=path, inline=True, progress=False)


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
        np.testing.assert_allclose(band.high - band.mean, half)


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


def test_bands_are_drawn(runs: SeedRuns) -> None:
    ax = runs.plot()
    assert ax.get_title() == "leduc-dream-quick, 95 % t interval of 3 runs"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["average", "last"]
    assert len(ax.collections) == 2, "a band each"
    assert len(runs.plot("loss/advantage", ax=ax).get_lines()) == 3
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
    with pytest.raises(UsageError, match=r"several settings: .*traversals=20, .*traversals=30"):
        dancfr.load_seeds(tmp_path / "both")


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
