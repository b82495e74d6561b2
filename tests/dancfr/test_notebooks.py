"""Results in a notebook: tables of HTML, curves as frames of pandas and on axes of Matplotlib."""

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot

import dancfr
from dancfr.agents.match import Match
from dancfr.agents.response import Response
from dancfr.agents.run_curves import draw, series
from dancfr.agents.solving import Solution
from dancfr.agents.tournament import Tournament
from dancfr.agents.trained import SHOWN, TrainedRun
from dancfr.errors import UsageError
from dancfr.methods import find_preset
from dancfr.runs.run import Run

PAIR = ["pretrained:leduc", "random"]
HEX = ["pretrained:dark-hex3", "random"]


def tables(result: Any) -> list[tuple[str, list[str], list[list[str]]]]:
    """Caption, columns and cells of the tables as which a result shows itself."""
    found = []
    for text in re.findall(r"<table>(.*?)</table>", result._repr_html_()):
        (caption,) = re.findall("<caption style='[^']*'>(.*?)</caption>", text)
        rows = [re.findall("<t[hd]>(.*?)</t[hd]>", row) for row in re.findall("<tr>(.*?)</tr>", text)]
        assert {len(row) for row in rows} == {len(rows[0])}, "every row has every column"
        found.append((html.unescape(caption), rows[0], rows[1:]))
    return found


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def solution() -> Solution:
    return dancfr.solve("kuhn", iterations=20, report=lambda _: None)


@pytest.fixture(scope="module")
def match() -> Match:
    return dancfr.play(*PAIR, "leduc", games=400, seed=1, exploitability=True, readable=True)


@pytest.fixture(scope="module")
def played() -> Tournament:
    return dancfr.tournament(HEX[::-1], "dark_hex3", games=400, seed=1)


@pytest.fixture
def run(tmp_path: Path) -> TrainedRun:
    """A run of 12 iterations with two opponents and two exact evaluations of each."""
    preset = find_preset("leduc-dream-quick")
    with Run.create(tmp_path / "run", preset.name, "dream", preset.config) as made:
        for t in range(1, 13):
            counted = {"samples/decisions": 1000 * t, "elapsed_s": 2.0 * t}
            made.append_metrics({"kind": "train", "iteration": t, "player": t % 2, "loss/advantage": 1 / t} | counted)
            for opponent, rate in (("random", t / 20), ("<b>", 0.5)):
                row = {"kind": "evaluation", "iteration": t, "policy": "average", "opponent": opponent, "games": 100}
                seats = {"first": {"games": 50, "win_rate": rate}}
                made.append_metrics(row | {"win_rate": rate, "ci95": [rate - 0.05, rate + 0.05], "seats": seats})
        for t in (6, 12):
            for policy in ("average", "last"):
                row = {"kind": "exploitability", "iteration": t, "policy": policy, "nash_conv": 6 / t}
                made.append_metrics(row | {"elapsed_s": 2.0 * t})
    return dancfr.load_run(tmp_path / "run")


@pytest.fixture
def response() -> Response:
    """A trained response with two starts."""
    return Response(
        {
            **{"agent": "runs/x", "exact": False, "value": 0.5, "value_ci95": [0.4, 0.6]},
            **{"exploitability_at_least": 0.4, "cpu_seconds": 60.0, "decisions": 2000},
            "seats": {"first": {"value": 0.6}, "second": {"value": 0.4}},
            "start_curves": [
                {"start": "fresh", "curve": [[1000, 10.0, 0.1], [2000, 20.0, 0.5]]},
                {"start": "runs/x", "curve": [[1000, 15.0, 0.2]]},
            ],
        }
    )


def test_solution_shows_its_curve(solution: Solution) -> None:
    ((caption, columns, rows),) = tables(solution)
    assert caption == repr(solution)
    assert columns == ["iteration", "exploitability"]
    assert rows[-1] == ["20", f"{solution.exploitability:.6g}"]
    frame = solution.frame()
    assert list(frame.itertuples(index=False, name=None)) == solution.curve
    ax = solution.plot()
    figures = pyplot.get_fignums()
    (line,) = ax.get_lines()
    assert np.array_equal(line.get_xydata(), solution.curve)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    other = dancfr.solve("kuhn", "cfr", iterations=20, report=lambda _: None)
    assert other.plot(ax) is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cfr+", "cfr"]
    assert pyplot.get_fignums() == figures


def test_solution_of_a_linear_program_has_no_curve_to_draw() -> None:
    solution = dancfr.solve("kuhn", "lp")
    assert solution.frame().shape == (0, 2)
    with pytest.raises(UsageError, match="lp has no iterations and so no curve"):
        solution.plot()


def test_match_shows_counts_endings_and_what_else_was_measured(match: Match) -> None:
    seats, endings, exact, reading = tables(match)
    assert seats[0] == repr(match)
    assert seats[1] == ["seat", "games", "wins", "draws", "losses", "won"]
    counts = match.result.games, match.result.wins, match.result.draws, match.result.losses
    assert seats[2][-1] == ["all", *map(str, counts), f"{100 * match.win_rate:.1f} %"]
    assert sum(int(games) for _, games in endings[2]) == 400
    assert match.exact is not None
    assert [row[2] for row in exact[2]] == [f"{value:+.6g}" for value in match.exact.best_responses]
    assert match.reading is not None
    assert len(reading[2]) == len(match.reading.plies) >= 1


@pytest.mark.parametrize(("game", "players"), [("kuhn", 2), ("openspiel:kuhn_poker(players=3)", 3)])
def test_evaluation_shows_the_value_of_each_player(game: str, players: int) -> None:
    found = dancfr.exploitability("random", game)
    ((caption, columns, rows),) = tables(found)
    assert caption == repr(found)
    assert columns == ["player", "all play this", "answering best", "gain"]
    assert len(rows) == players
    for row, best, gain in zip(rows, found.best_responses, found.gains, strict=True):
        value, answered, gained = map(float, row[1:])
        assert answered == pytest.approx(best, rel=1e-5)
        assert gained == pytest.approx(gain, rel=1e-5)
        assert gained == pytest.approx(answered - value, rel=1e-4)


def test_reading_is_drawn_with_its_interval_beside_chance(match: Match) -> None:
    reading = match.reading
    assert reading is not None
    frame = reading.frame()
    assert frame["accuracy"].tolist() == [each.accuracy for each in reading.plies]
    assert len(frame) == len(reading.plies)
    read, chance = reading.plot().get_lines()
    assert read.get_ydata().tolist() == frame["accuracy"].tolist()
    assert chance.get_ydata().tolist() == frame["chance"].tolist()
    few = dancfr.play(*PAIR, "leduc", games=10, seed=1, readable=True).reading
    assert few is not None
    assert few.frame().shape == (0, 6)
    with pytest.raises(UsageError, match="no ply was reached by 50 games"):
        few.plot()


def test_tournament_shows_ratings_and_win_rates(played: Tournament) -> None:
    assert list(played.ratings) == HEX, "the best first"
    ((_, columns, rows),) = tables(played)
    assert columns == ["agent", "Elo", *(f"against {name}" for name in HEX)]
    assert [row[0] for row in rows] == HEX
    frame = played.frame()
    (pair,) = played.as_dict()["pairs"]
    assert frame.loc["random", "against pretrained:dark-hex3"] == pair["win_rate"]
    assert np.isnan(frame.loc["random", "against random"])
    assert (frame["low"] < frame["rating"]).all()
    assert (frame["rating"] < frame["high"]).all()
    assert rows[0][1].startswith(f"{frame['rating'].iloc[0]:+.0f} [")


def test_run_shows_its_newest_evaluations(run: TrainedRun) -> None:
    ((caption, columns, rows),) = tables(run)
    assert caption == f"{run!r}, its newest {SHOWN} evaluations"
    assert len(rows) == SHOWN
    assert dict(zip(columns, rows[-1], strict=True)) == {
        **{"iteration": "12", "policy": "last", "opponent": "", "games": "", "win_rate": "", "nash_conv": "0.5"}
    }
    assert "&lt;b&gt;" in run._repr_html_()
    assert "<b>" not in run._repr_html_()


def test_record_of_a_run_is_a_frame(run: TrainedRun) -> None:
    frame = run.frame("evaluation")
    assert len(frame) == 24
    assert frame["seats/first/win_rate"].tolist() == frame["win_rate"].tolist()
    assert set(run.frame()["kind"]) == {"train", "evaluation", "exploitability"}
    assert run.frame("event").empty
    for read in (run.frame, run.rows):
        with pytest.raises(UsageError, match="no kind of rows named 'evaluations'; did you mean evaluation"):
            read("evaluations")
    assert run.frame("exploitability")["decisions"].tolist() == [6000, 6000, 12000, 12000]
    assert "decisions" not in run.frame("train")


def test_curves_of_a_run_are_drawn_apart(run: TrainedRun) -> None:
    ax = run.plot()
    assert (ax.get_ylabel(), ax.get_yscale()) == ("nash_conv", "log")
    assert {line.get_label(): line.get_xydata().tolist() for line in ax.get_lines()} == {
        "run average": [[6, 1], [12, 0.5]],
        "run last": [[6, 1], [12, 0.5]],
    }
    rates = run.plot("win_rate")
    assert [line.get_label() for line in rates.get_lines()] == ["run against random", "run against <b>"]
    assert len(rates.collections) == 2, "each with its interval"
    losses = run.plot("loss/advantage")
    assert [line.get_label() for line in losses.get_lines()] == ["run player 1", "run player 0"]
    assert run.plot("games", losses) is losses
    assert losses.get_ylabel() == "loss/advantage, games"
    assert [line.get_label() for line in losses.get_lines()][2:] == [
        f"{run.path.name} against random games",
        f"{run.path.name} against <b> games",
    ]


@pytest.mark.parametrize(
    ("x", "label", "each"), [("decisions", "decisions", 1000), ("seconds", "seconds of training", 2)]
)
def test_curves_are_drawn_over_decisions_and_seconds(run: TrainedRun, x: str, label: str, each: int) -> None:
    ax = run.plot(x=x)
    assert ax.get_xlabel() == label
    assert [line.get_xdata().tolist() for line in ax.get_lines()] == [[6 * each, 12 * each]] * 2
    assert [line.get_xdata().tolist()[0] for line in run.plot("loss/advantage", x=x).get_lines()] == [each, 2 * each]


def test_curves_of_two_runs_are_named_and_lose_the_title_of_the_first(run: TrainedRun, tmp_path: Path) -> None:
    preset = find_preset("leduc-dream-quick")
    with Run.create(tmp_path / "other", preset.name, "dream", preset.config) as made:
        made.append_metrics({"kind": "exploitability", "iteration": 3, "policy": "average", "nash_conv": 1.0})
    other, ax = dancfr.load_run(made.path), run.plot()
    assert ax.get_title() == "run: leduc-dream-quick"
    assert run.plot("loss/advantage", ax).get_title() == "run: leduc-dream-quick"
    other.plot(ax=ax)
    assert ax.get_title() == ""
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert (texts[0], texts[-1]) == ("run average", "other nash_conv")
    own = pyplot.subplots()[1]
    own.set_title("mine")
    assert other.plot(ax=run.plot(ax=own)).get_title() == "mine"
    with pytest.raises(UsageError, match=r"rows with nash_conv have no decisions: draw them over iterations$"):
        other.plot(x="decisions")
    with pytest.raises(UsageError, match="no x named 'second'; did you mean seconds"):
        other.plot(x="second")


def test_rows_that_nothing_tells_apart_are_refused_with_the_cure() -> None:
    with pytest.raises(UsageError, match="seconds has several values an iteration: name an entry of the rows"):
        series(
            [{"kind": "event", "iteration": 3, "seconds": 1}, {"kind": "event", "iteration": 3, "seconds": 2}],
            "seconds",
            {},
        )


def test_win_rates_without_intervals_are_drawn_as_a_line() -> None:
    rows = [{"iteration": 1, "win_rate": 0.5, "ci95": [0.4, 0.6]}, {"iteration": 2, "win_rate": 0.6}]
    assert len(draw(rows, "win_rate", "title", "name").collections) == 0
    assert len(draw(rows[:1], "win_rate", "title", "name").collections) == 1


def test_metric_names_the_policy_whose_values_it_returns(run: TrainedRun) -> None:
    with pytest.raises(
        UsageError, match=r"nash_conv has several values an iteration: .* policy='average' of average, last"
    ):
        run.metric("nash_conv")
    with pytest.raises(
        UsageError, match=r"elapsed_s has several values .* kind='exploitability' of exploitability, train"
    ):
        run.metric("elapsed_s")
    assert run.metric("elapsed_s", kind="train")[1].tolist() == [2.0 * t for t in range(1, 13)]
    iterations, values = run.metric("nash_conv", policy="last")
    assert (iterations.tolist(), values.tolist()) == ([6, 12], [1, 0.5])
    with pytest.raises(UsageError, match="no row with nash_conv has policy='first'"):
        run.metric("nash_conv", policy="first")
    with pytest.raises(UsageError, match="no recorded number named 'nashconv'; did you mean nash_conv"):
        run.metric("nashconv")


def test_curves_that_a_run_lacks_are_refused_in_one_line(run: TrainedRun, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no recorded number named 'nashconv'; did you mean nash_conv"):
        run.plot("nashconv")
    with pytest.raises(UsageError, match="ax expects axes of Matplotlib"):
        run.plot(ax=pyplot.subplots(1, 2)[1])
    preset = find_preset("leduc-dream-quick")
    with Run.create(tmp_path / "new", preset.name, "dream", preset.config) as made:
        made.append_metrics({"kind": "train", "iteration": 1, "loss/advantage": 1.0})
    with pytest.raises(UsageError, match="no nash_conv and no win_rate yet: name another key"):
        dancfr.load_run(made.path).plot()


def test_response_draws_a_curve_for_each_start(response: Response) -> None:
    frame = response.frame()
    assert list(frame.columns) == ["start", "decisions", "cpu_seconds", "value"]
    assert frame["start"].tolist() == ["fresh", "fresh", "runs/x"]
    assert frame["value"].tolist() == [0.1, 0.5, 0.2]
    ax = response.plot()
    assert [line.get_xydata().tolist() for line in ax.get_lines()] == [[[1000, 0.1], [2000, 0.5]], [[1000, 0.2]]]
    assert tables(response)[0][2] == [["first", "+0.6000"], ["second", "+0.4000"]]
    exact = Response(response.found | {"exact": True, "start_curves": []})
    assert exact.frame().shape == (0, 4)
    with pytest.raises(UsageError, match="an exact response has no curve"):
        exact.plot()


@pytest.mark.parametrize(("package", "call"), [("pandas", "frame"), ("matplotlib", "plot")])
def test_package_that_is_not_installed_is_named_with_its_extra(package: str, call: str) -> None:
    program = f"""
import sys
sys.modules[{package!r}] = None
import dancfr
try:
    dancfr.solve("kuhn", iterations=2).{call}()
except dancfr.errors.PackageMissing as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    extra = {"pandas": "notebook", "matplotlib": "report"}[package]
    cure = f"pip install 'dancfr[{extra}]', or 'dancfr[all]' for everything"
    assert done.stdout == f"this needs {package}, which is not installed: {cure}\n"
