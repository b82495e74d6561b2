"""Tests of the report: a self-contained page with its figures and a list of omitted figures."""

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.errors import RunError, UsageError
from dancfr.report.history import History
from dancfr.report.report import duration
from dancfr.report.report import report as report_command
from dancfr.report.response import response_tables
from dancfr.runs.recorded_games import Player, Writer
from dancfr.runs.run import Run
from tests.dancfr.records import evaluation_row, train_row

PNG = b"\x89PNG\r\n\x1a\n"


class Page(HTMLParser):
    """Collects the images, tables and text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.images: list[dict[str, str | None]] = []
        self.headings: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(path.read_text())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.images.append(dict(attrs))
        self._open.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open and self._open[-1] in ("h1", "h2", "h3"):
            self.headings.append(data.strip())


def record(last: int = 8, wins: int = 50) -> list[dict[str, Any]]:
    """Returns training and evaluation rows of a short run."""
    rows = [train_row(t, (t - 1) % 2) for t in range(1, last + 1)]
    for t in range(2, last + 1, 2):
        for opponent in ("random", "rush"):
            rows += [evaluation_row(t, wins + t, opponent), evaluation_row(t, wins - t, opponent, "last")]
    return rows


def test_a_report_stands_alone_and_shows_every_figure(write_run: Any) -> None:
    run = write_run("alone", record())
    found = report_command([run])
    page = Page(Path(found["report"]))
    assert Path(found["report"]) == run / "report.html"
    assert found["warnings"] == []
    assert set(found["figures"]) == {
        "win-rate-random-iterations",
        "win-rate-random-time",
        "win-rate-rush-iterations",
        "win-rate-rush-time",
        "phase-times",
        "training-time",
        "losses",
        "buffers",
        "game-length",
        "throughput",
    }
    assert len(page.images) == len(found["figures"]) == len(found["files"]) - 1
    for image in page.images:
        assert (image["src"] or "").startswith("data:image/png;base64,")
        assert len(image["alt"] or "") > 40
    for file in found["files"][1:]:
        assert Path(file).read_bytes().startswith(PNG)
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", Path(found["report"]).read_text())


def test_the_figures_text_and_tables_say_the_numbers(write_run: Any) -> None:
    page = Page(Path(report_command([write_run("numbers", record())])["report"]))
    alt = next(image["alt"] for image in page.images if "over iterations" in (image["alt"] or ""))
    told = "win rate against random (%) over iteration: geister-quick goes from"
    assert f"Average policy, {told} 52.0 % to 58.0 %" in (alt or "")
    assert f"Last iterate, {told} 48.0 % to 42.0 %" in (alt or "")
    assert "48.2 – 67.2 %" in page.text  # Wilson interval of 58 wins in 100 games  # noqa: RUF001
    assert "win by escape 58, loss by reds taken 42" in page.text
    assert '"traversals"' in page.text  # the configuration


def test_several_runs_are_put_together_by_setting(write_run: Any, tmp_path: Path) -> None:
    runs = [write_run(f"seed-{s}", record(wins=50 + s), seed=s) for s in (1, 2, 3)]
    runs.append(write_run("wide", record(), traversals=64))
    found = report_command(runs, tmp_path / "together")
    page = Page(Path(found["report"]))
    wide = "geister-quick, traversals=64"
    assert [len(names) for names in found["settings"].values()] == [3, 1]
    assert wide in found["settings"]
    assert [name for name in found["figures"] if name.startswith("single-runs")] == [
        "single-runs-geister-quick-traversals-512"
    ]
    assert "95 % t interval of 3 runs" in page.text
    assert {"Last evaluations", "Last evaluations by setting"} <= set(page.headings)
    assert "random38300" in page.text.replace("\n", "")  # 3 runs at iteration 8, 300 games
    assert "60.0 %57.5 – 62.5 %1.0 %59.0 %61.0 %" in page.text.replace("\n", "")  # noqa: RUF001


def test_a_run_without_evaluations_is_reported_and_what_is_missing_named(write_run: Any, tmp_path: Path) -> None:
    rows = [{"kind": "train", "iteration": 1, "player": 0, "elapsed_s": 1.0, "loss/advantage": 2.0}]
    found = report_command([write_run("bare", rows)], tmp_path / "page.html")
    assert found["figures"] == ["losses"]
    assert found["report"] == str(tmp_path / "page.html")
    warnings = " ".join(found["warnings"])
    assert "Win rates: the runs have no evaluation rows." in warnings
    assert "Throughput of traversals and fits: the runs have no rows with traversal/decisions_per_second" in warnings
    assert "Win rates: the runs have no evaluation rows." in Page(tmp_path / "page.html").text


def test_runs_without_a_common_iteration_are_named(write_run: Any, tmp_path: Path) -> None:
    runs = [write_run(f"apart-{t}", [train_row(t, 0), evaluation_row(t, 50)], seed=t) for t in (3, 4)]
    found = report_command(runs, tmp_path / "apart")
    assert "Win rate against random over iterations: the runs have no iteration in common." in found["warnings"]
    left_out = "Win rate against random over training time: the evaluations of the runs share no span of time."
    assert left_out in found["warnings"]


def test_what_is_no_run_is_refused_in_one_line(write_run: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no run"):
        report_command([tmp_path / "nothing"])
    with pytest.raises(UsageError, match="has no metrics yet"):
        report_command([write_run("empty", [])])
    lost = write_run("lost", [])
    Run.open(lost).save_strategy(0, 4, {"w": np.zeros(3)}, {})
    with pytest.raises(UsageError, match=r"has been trained, but its record is gone: restore .*lost/metrics\.jsonl"):
        report_command([lost])
    with pytest.raises(UsageError, match="at least one run"):
        report_command([])


def test_lines_that_cannot_be_read_are_counted(write_run: Any) -> None:
    run = write_run("torn", record())
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"kind":"tra\nnull\n')
    told = report_command([run])["warnings"]
    assert told[0] == f"{run / 'metrics.jsonl'}: 2 lines cannot be read, and are left out"


@pytest.mark.parametrize(
    ("out", "cause"),
    [
        ("file/below", "file is a file"),
        ("file/page.html", "file is a file"),
        ("/proc/page.html", "/proc/figures: No such file or directory"),
        ("taken.html", "taken.html: Is a directory"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_drawn(
    write_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, cause: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "taken.html").mkdir()
    monkeypatch.setattr("dancfr.report.report.all_figures", lambda _: pytest.fail("drawn"))
    with pytest.raises(UsageError, match=rf"^cannot write the report .*: .*{cause}; choose another --out$"):
        report_command([write_run("fine", [evaluation_row(1, 50)])], tmp_path / out)


def test_a_disk_that_refuses_the_page_is_named(write_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dancfr.report.report.replacing", full)
    with pytest.raises(RunError, match=r"cannot write the report .*: No space left on device"):
        report_command([write_run("fine", [evaluation_row(1, 50)])], tmp_path / "out")


def test_the_effective_sample_size_is_shown_where_samples_are_weighed(write_run: Any, tmp_path: Path) -> None:
    plain, weighed = write_run("plain", record()), write_run("weighed", record(), importance="full")
    assert "effective-sample-size" in report_command([weighed])["figures"]
    together = report_command([plain, weighed], tmp_path / "together")
    assert "effective-sample-size" in together["figures"]
    page = Page(Path(together["report"]))
    (alt,) = [image["alt"] or "" for image in page.images if "Effective sample size" in (image["alt"] or "")]
    assert "importance=full goes from 1.0 % to 1.0 %" in alt
    assert "importance=none" not in alt


def test_an_evaluation_without_counts_has_its_win_rate_alone(write_run: Any, tmp_path: Path) -> None:
    row = {key: evaluation_row(3, 70)[key] for key in ("kind", "iteration", "policy", "opponent", "win_rate")}
    found = report_command([write_run("sparse", [row])], tmp_path / "out")
    assert found["figures"] == ["win-rate-random-iterations"]
    assert "70.0 %" in Page(Path(found["report"])).text


def test_a_run_of_dmc_shows_its_curves_and_what_its_actors_and_learner_did(dmc_run: Path, tmp_path: Path) -> None:
    found = report_command([dmc_run], tmp_path)
    assert found["warnings"] == []
    curves = {f"win-rate-{bot}-{axis}" for bot in ("random", "greedy", "planner") for axis in ("iterations", "time")}
    metrics = {"losses", "staleness", "spread", "age", "waiting", "throughput", "game-length"}
    assert set(found["figures"]) == curves | metrics | {"training-time", "phase-times"}
    page = Page(tmp_path / "report.html")
    alts = " ".join(image["alt"] or "" for image in page.images)
    assert (
        "Samples without gradient, clipped (% of samples) over iteration: guandan-dmc-quick goes from 12.0 % to" in alts
    )
    assert "Decisions in self-play, per second over iteration: guandan-dmc-quick goes from 9000 to 9000" in alts
    assert "guandan-dmc-quick: training, wall time 12 seconds, self-play 10 seconds, Q-network 8.4 seconds" in alts
    assert "16,0009k decisions/s in self-play" in page.text.replace("\n", ""), "samples and speed"


def test_runs_of_several_methods_have_figures_of_their_own(dmc_run: Path, write_run: Any, tmp_path: Path) -> None:
    found = report_command([dmc_run, write_run("dream", record())], tmp_path)
    assert len(set(found["figures"])) == len(found["figures"])
    assert {"losses-dream", "losses-dmc", "training-time-dream", "training-time-dmc", "staleness-dmc"} <= set(
        found["figures"]
    )
    page = Page(tmp_path / "report.html")
    assert {"Training losses (dream)", "Samples without gradient (dmc)"} <= set(page.headings)
    (both,) = [image["alt"] or "" for image in page.images if "against random over iterations" in (image["alt"] or "")]
    assert "guandan-dmc-quick goes" in both
    assert "geister-quick goes" in both
    assert found["warnings"] == []


def test_single_runs_of_one_policy_are_drawn_plain(write_run: Any, tmp_path: Path) -> None:
    runs = [write_run(f"last-{s}", [evaluation_row(2, 50 + s, policy="last")], seed=s) for s in (1, 2)]
    found = report_command(runs, tmp_path)
    (name,) = [name for name in found["figures"] if name.startswith("single-runs")]
    (alt,) = [image["alt"] or "" for image in Page(tmp_path / "report.html").images if "single" in (image["alt"] or "")]
    assert name == "single-runs-geister-quick"
    assert "last-1 goes from 51.0 %" in alt
    assert "(last iterate)" not in alt


def test_a_folder_whose_name_is_no_utf_8_is_reported(write_run: Any, tmp_path: Path) -> None:
    path = write_run(os.fsdecode(b"caf\xe9"), record())
    assert "caf?" in Page(Path(report_command([path], tmp_path / "out")["report"])).text


def test_best_responses_in_the_folder_of_a_run_are_shown(write_run: Any) -> None:
    path = write_run("a", record())
    assert "return of the response" not in Page(Path(report_command([path])["report"])).text
    result = {
        "agent": f"runs/{path.name}?threshold=0.5",
        "value": 0.875,
        "value_ci95": [0.8, 0.9],
        "bound_by": "response",
        "games": 54321,
        "seconds": 61.0,
        "starts": ["pretrained:geister", "fresh"],
        "eval_games": 2000,
    }
    stored = {
        "response": json.dumps(result),
        "of-another-agent": json.dumps(result | {"agent": "runs/other", "value": 0.123}),
        "damaged": json.dumps(result)[:-9],
        "of-another-version": json.dumps({"agent": path.name}),
        "no-object": "[]",
    }
    wrong = {"value": "x", "value_ci95": None, "games": "x", "starts": [1], "seconds": None, "agent": 5}
    stored |= {f"wrong-{key}": json.dumps(result | {"value": 0.456, key: value}) for key, value in wrong.items()}
    for name, text in stored.items():
        (path / name).mkdir()
        (path / name / "exploit.json").write_text(text)
    text = Page(Path(report_command([path])["report"])).text
    assert text.count("+0.875") == 1
    assert "+0.800 to +0.900" in text
    assert "54,321 games from pretrained:geister, fresh" in text
    renamed = path.rename(path.with_name("renamed"))
    assert Page(Path(report_command([renamed])["report"])).text.count("+0.875") == 1
    path.with_name("link").symlink_to(renamed)
    (renamed / "response" / "exploit.json").write_text(json.dumps(result | {"agent": str(path.with_name("link"))}))
    assert Page(Path(report_command([renamed])["report"])).text.count("+0.875") == 1
    assert "0.123" not in text
    assert "0.456" not in text


def test_bounds_of_different_budgets_are_in_different_tables(write_run: Any) -> None:
    path = write_run("a", record())
    result = {
        "agent": f"runs/{path.name}",
        "value": 0.5,
        "value_ci95": [0.45, 0.55],
        "bound_by": "response",
        "games": 54321,
        "seconds": 540.0,
        "starts": ["fresh"],
        "eval_games": 2000,
        "cpu_seconds": 600.0,
        "decisions": 27_644_309,
        "budget": {"minutes": 10.0, "games": None},
        "start_curves": [{"start": "fresh", "curve": [[0, 0.0, -0.9], [27_644_309, 540.0, 0.5]]}],
    }
    longer = {"minutes": 20.0, "games": None}
    old = {key: result[key] for key in ("agent", "value_ci95", "bound_by", "games", "seconds", "starts", "eval_games")}
    stored = {
        "one": result,
        "two": result | {"value": 0.625},
        "long": result | {"value": 0.75, "budget": longer},
        "old": old | {"value": 0.25},
    }
    for name, found in stored.items():
        (path / name).mkdir()
        (path / name / "exploit.json").write_text(json.dumps(found))
    tables = response_tables([History.read(path)])
    assert [table[0] for table in tables] == [
        "Exploitability: responses of 10 CPU minutes",
        "Exploitability: responses of 20 CPU minutes",
        "Exploitability: responses of 540 s of training",
        "Curves of the responses",
    ]
    assert [[row[2] for row in table[3]] for table in tables[:3]] == [["+0.500", "+0.625"], ["+0.750"], ["+0.250"]]
    assert {row[6] for table in tables[:2] for row in table[3]} == {"10 CPU minutes, 27.6 million decisions"}
    assert tables[2][3][0][6] == "CPU time not recorded, decisions not recorded"
    assert [row[-1] for row in tables[3][3]] == ["-0.90 (0), +0.50 (27.6 million)"] * 3


def test_a_response_of_a_team_is_shown_with_a_budget_by_the_clock(write_run: Any) -> None:
    path = write_run("a", record())
    (path / "response").mkdir()
    result = {
        "agent": f"runs/{path.name}",
        "value": -0.573,
        "value_ci95": [-0.646, -0.496],
        "win_rate": 0.393,
        "games": 54321,
        "seconds": 250.0,
        "starts": ["fresh"],
        "eval_games": 2000,
        "cpu_seconds": 240.0,
        "decisions": 544_178,
        "budget": {"minutes": 4.0, "games": None},
    }
    (path / "response" / "exploit.json").write_text(json.dumps(result))
    ((title, *_, rows),) = response_tables([History.read(path)])
    assert title == "Exploitability: responses of 4 minutes of training"
    assert rows[0][2] == "-0.573"


def test_runs_of_the_same_name_are_told_apart(write_run: Any, tmp_path: Path) -> None:
    runs = []
    for seed, folder in enumerate(("one", "other"), 1):
        (tmp_path / folder).mkdir()
        runs.append(write_run(f"run-{seed}", record(), seed=seed).rename(tmp_path / folder / "run"))
    found = report_command(runs, tmp_path / "out")
    assert found["settings"] == {"geister-quick": ["one/run", "other/run"]}
    assert "other/run" in Page(Path(found["report"])).text


def test_the_folder_of_several_seeds_stands_for_its_runs(write_run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "seeds"
    folder.mkdir()
    for seed in (1, 2):
        write_run(f"seed-{seed}", record(), seed=seed).rename(folder / f"seed-{seed}")
    found = report_command([folder, folder / "seed-2"])
    assert found["settings"] == {"geister-quick": ["seed-1", "seed-2"]}
    assert found["report"] == str(folder / "report.html")


def test_recorded_games_of_a_run_are_listed(write_run: Any) -> None:
    """Those in which one of its strategies has played, with the command that shows them."""
    run = write_run("mine", record())
    folder = run.parent / "games"
    folder.mkdir(exist_ok=True)
    for agent in (f"{run}@1", "random", f"{run.parent / 'other'}"):
        players = [Player(kind="user", name="user"), Player(kind="agent", name=agent)]
        writer = Writer(folder, "kuhn", {}, 1, players)
        writer.move(0, 0, 0, "pass", 5)
        writer.end("over", [-1.0, 1.0], 1)
    page = Path(report_command([run])["report"]).read_text()
    assert page.count("dancfr replay ") == 1
    assert "over: -1, 1" in page
    assert f"1: {run}@1" in page


def test_names_are_escaped(write_run: Any) -> None:
    found = report_command([write_run("<script>alert(1)", [evaluation_row(1, 50)])])
    assert "<script" not in Path(found["report"]).read_text()


def test_a_folder_whose_name_is_no_text_is_reported(write_run: Any) -> None:
    found = report_command([write_run(os.fsdecode(b"latin-\xfc"), [evaluation_row(1, 50)])])
    assert "latin-?" in Path(found["report"]).read_text()


def test_a_really_trained_run_is_reported_in_full(mini_run: Path, tmp_path: Path) -> None:
    found = report_command([mini_run], tmp_path)
    assert {"win-rate-random-iterations", "losses", "buffers", "training-time"} <= set(found["figures"])
    assert found["warnings"] == []


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.21, "3.2 s"), (59.96, "60.0 s"), (250, "4 min 10 s"), (3900, "1 h 05 min")]
)
def test_durations_are_said_in_a_fitting_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text
