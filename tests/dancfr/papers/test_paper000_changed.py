"""The experiment `geister-fig4-changed`: paper 000's settings beside the two that the paper does not have."""

import html
import json
from pathlib import Path

import pytest

from dancfr.methods import find_preset
from dancfr.papers.given_runs import given_runs
from dancfr.papers.paper000 import CHANGED_SCALES
from dancfr.papers.reproduce import reproduce
from dancfr.papers.trainings import configuration
from dancfr.report.history import History
from dancfr.runs.config import apply_overrides, differences
from tests.dancfr.papers.pages import table

DOCS = Path(__file__).parents[3] / "docs"
RECORDS, CHANGED_RECORDS = DOCS / "records/paper000", DOCS / "records/paper000-changed"
PAGE = DOCS / "results/why-dream-falls.md"


def rates_of(run: History) -> dict[tuple[int, str, str], float]:
    """Percent won by iteration, policy and opponent."""
    return {(row["iteration"], row["policy"], row["opponent"]): 100 * row["win_rate"] for row in run.evaluations}


def averages(folder: str) -> list[float]:
    """Win rates of a recorded run's average against `random`, by iteration."""
    lines = map(json.loads, (RECORDS / folder / "metrics.jsonl").read_text().splitlines())
    return [
        line["win_rate"]
        for line in lines
        if line["kind"] == "evaluation" and (line["policy"], line["opponent"]) == ("average", "random")
    ]


def fall(curve: list[float]) -> float:
    """The last less the largest mean of five in a row, written in another way than the experiment's."""
    means = [sum(curve[at : at + 5]) / 5 for at in range(len(curve) - 4)]
    return means[-1] - max(means)


def test_the_fall_of_the_recorded_runs_is_their_last_less_their_largest_mean(tmp_path: Path) -> None:
    found = reproduce("geister-fig4-changed", "paper", tmp_path, runs=[RECORDS])
    rows = {row["cell"]: row for row in found["rows"]}
    with_baseline = [averages(f"geister-dream-seed{seed}") for seed in (1, 2)]
    assert all(len(curve) == 20 for curve in with_baseline)
    expected = sum(map(fall, with_baseline)) / 2
    assert rows["fall, geister-dream"]["ours"] == pytest.approx(expected)
    assert expected < -0.05
    assert rows["final win rate, geister-dream"]["ours"] == pytest.approx(sum(each[-1] for each in with_baseline) / 2)
    without = [averages(f"geister-dream-no-baseline-seed{seed}") for seed in (1, 2)]
    assert rows["fall, geister-dream-no-baseline"]["ours"] == pytest.approx(sum(map(fall, without)) / 2)
    assert "iteration 200" in rows["final win rate, geister-dream-no-baseline"]["note"]


HUBER_WITH_BASELINE = [CHANGED_RECORDS / "geister-dream-huber-seed1"]
FAITHFUL_WITH_BASELINE = [RECORDS / f"geister-dream-seed{seed}" for seed in (1, 2)]
HUBER = [CHANGED_RECORDS / f"geister-dream-huber-no-baseline-seed{seed}" for seed in (1, 2, 3)]
FAITHFUL = [RECORDS / f"geister-dream-no-baseline-seed{seed}" for seed in (1, 2)]
BOUNDED_WITH_BASELINE = [CHANGED_RECORDS / f"geister-dream-bounded-seed{seed}" for seed in (1, 2, 3)]
BOUNDED_3840 = CHANGED_RECORDS / "geister-dream-bounded-3840-seed1"
BOUNDED = [CHANGED_RECORDS / f"geister-dream-bounded-no-baseline-seed{seed}" for seed in (1, 2, 3)]


def test_the_records_of_changes_are_of_the_settings_that_the_experiment_has() -> None:
    given = given_runs([CHANGED_RECORDS], CHANGED_SCALES["paper"], ())
    assert list(given) == [
        "geister-dream-huber, no baseline",
        "geister-dream-bounded, no baseline",
        "geister-dream-bounded, 3840",
        "geister-dream-huber",
        "geister-dream-bounded",
    ]
    assert set(CHANGED_RECORDS.iterdir()) == {
        *HUBER_WITH_BASELINE,
        *HUBER,
        *BOUNDED_WITH_BASELINE,
        BOUNDED_3840,
        *BOUNDED,
    }


@pytest.mark.parametrize(
    ("head", "folders"),
    [
        ("| iteration, 7,680 traversals, with baseline nets |", [*HUBER_WITH_BASELINE, *FAITHFUL_WITH_BASELINE]),
        ("| iteration, without baseline nets |", [*HUBER, *FAITHFUL]),
        ("| iteration, bounds, 7,680 traversals, with baseline nets |", BOUNDED_WITH_BASELINE),
        ("| iteration, bounds, without baseline nets |", BOUNDED),
        (
            "| iteration, 3,840 traversals, with baseline nets |",
            [BOUNDED_3840, RECORDS / "geister-dream-3840-seed1"],
        ),
    ],
)
def test_the_page_agrees_with_the_records_at_full_scale(head: str, folders: list[Path]) -> None:
    runs = [History.read(folder) for folder in folders]
    assert {run.iterations for run in runs} == {200}
    rates = list(map(rates_of, runs))
    rows = table(head, PAGE.read_text())[1:]
    assert [int(t) for t, *_ in rows] == list(range(20, 201, 20))
    for t, *cells in rows:
        assert cells == [
            "; ".join(
                " / ".join(f"{found[int(t), policy, opponent]:.1f}" for opponent in ("random", "heuristic"))
                for policy in ("average", "last")
            )
            for found in rates
        ]


def test_the_page_agrees_with_the_records_of_all_runs_at_full_scale() -> None:
    rows = table("| change | traversals | seed |", PAGE.read_text())[1:]
    names = [row[-1].strip("`") for row in rows]
    below = [RECORDS, CHANGED_RECORDS]
    assert {name for name in names if name.startswith("paper000")} == {
        f"{folder.name}/{record.name}" for folder in below for record in folder.iterdir()
    }
    for (_, _, seed, iterations, *cells, _), name in zip(rows, names, strict=True):
        run = History.read(DOCS / "records" / name)
        rates = rates_of(run)
        wins = {t: rate for (t, *of), rate in rates.items() if of == ["average", "random"]}
        end = max(wins)
        best = max(wins, key=lambda t: wins[t])
        assert (seed, iterations) == (str(run.config["seed"]), str(run.iterations))
        last = [f"{wins[end]:.1f} ({end})", f"{rates[end, 'average', 'heuristic']:.1f}"]
        assert cells == [f"{wins[best]:.1f} ({best})", *last]


def test_each_change_is_trained_in_each_setting_of_the_paper() -> None:
    paper, quick = CHANGED_SCALES["paper"], CHANGED_SCALES["quick"]
    paths = [setting.path(Path(), 1).name for setting in paper.settings]
    assert paths == [
        f"geister-dream{change}{suffix}-seed1"
        for suffix in ("-no-baseline", "-3840", "", "-10240")
        for change in ("", "-huber", "-bounded")
    ]
    assert [setting.path(Path(), 1).name for setting in quick.settings] == paths
    changed = [set(configuration(setting, quick, ())) - set(quick.overrides) for setting in quick.settings]
    traversals = [{f"traversals={number}"} for number in (128, 128, 256, 341) for _ in range(3)]
    without = [set(), {"baseline=false"}, {"baseline=false"}, *[set()] * 9]
    assert changed == [each | more for each, more in zip(traversals, without, strict=True)]


def test_a_change_differs_from_the_setting_of_the_paper_by_nothing_else() -> None:
    configs = [
        apply_overrides(find_preset(setting.preset).config, setting.overrides)
        for setting in CHANGED_SCALES["paper"].settings
    ]
    for plain, huber, bounded in zip(configs[::3], configs[1::3], configs[2::3], strict=True):
        assert differences(plain, huber).keys() == {"huber_delta"}
        bounds = {"sampling.ratio_bound", "sampling.inverse_bound", "sampling.clip_baseline"}
        assert differences(plain, bounded).keys() == bounds


def test_the_figure_has_a_panel_for_each_setting_and_a_line_for_each_change(tmp_path: Path) -> None:
    reproduce("geister-fig4-changed", "paper", tmp_path, runs=[RECORDS, CHANGED_RECORDS])
    page = html.unescape((tmp_path / "geister-fig4-changed.html").read_text())
    baseline = {"3,840": ("without", "with"), "7,680": ("with",), "10,240": ("with",)}
    for title in [f"{count} traversals, {each} baseline nets" for count, all_ in baseline.items() for each in all_]:
        assert f"{title}, win rate against random (%) over iteration: as in the paper goes from" in page
    assert (page.count("Huber's loss goes from"), page.count("bounds goes from")) == (2, 3)
