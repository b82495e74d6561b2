"""The records in docs/records are of runs of the presets, and the docs agree with them."""

import json
import re
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from dancfr.papers.given_runs import given_runs
from dancfr.papers.paper000 import SCALES, win_rate_rows
from dancfr.report.history import History
from tests.dancfr.papers.pages import split_row, table

ROOT = Path(__file__).resolve().parents[3]
RECORDS = ROOT / "docs" / "records" / "paper000"
PAGE = (ROOT / "docs" / "results" / "dream-on-geister.md").read_text()


def _quarter_size(folder: str) -> list[dict[str, Any]]:
    """The trainings of quarter size in a record of arms."""
    record = json.loads((ROOT / "docs" / "records" / folder / "arms.json").read_text())
    return list(record["quarter"])


READINGS = _quarter_size("dream-paper-readings")
BOUNDS = "sampling.ratio_bound=1 sampling.inverse_bound=4"
BOUNDED = {(arm["arm"], arm["seed"]): arm for arm in _quarter_size("geister-dream-bounded")}
READINGS_PAGE = (ROOT / "docs" / "results" / "dream-paper-readings.md").read_text()
WHY_PAGE = (ROOT / "docs" / "results" / "why-dream-falls.md").read_text()


def test_the_records_are_runs_of_the_presets() -> None:
    settings = given_runs([RECORDS], SCALES["paper"], ())
    assert "geister-dream-no-baseline" in settings
    assert len(win_rate_rows(settings)) >= 2 * len(settings)
    assert all(run.seconds > 0 for runs in settings.values() for run in runs)


@pytest.mark.parametrize("folder", sorted(RECORDS.iterdir()), ids=lambda path: path.name)
def test_the_page_agrees_with_a_record(folder: Path) -> None:
    run = History.read(folder)
    rates = {(r["iteration"], r["policy"], r["opponent"]): 100 * r["win_rate"] for r in run.evaluations}
    shown = _columns(folder.name)
    assert len(shown["random"]) >= 20
    for opponent, cells in shown.items():
        for t, cell in cells.items():
            assert cell == f"{rates[t, 'average', opponent]:.1f}, {rates[t, 'last', opponent]:.1f}"


@pytest.mark.parametrize("arm", READINGS, ids=lambda arm: f"{arm['arm']}-{arm['seed']}")
def test_the_page_of_readings_agrees_with_a_record(arm: dict[str, Any]) -> None:
    """Its row has the win rates of the average after 4, 8 and 12 iterations, and of the last net. A row without a
    change has that of the row above."""
    assert all(r["games"] == 1000 for r in arm["evaluations"])
    assert arm["iterations"] in (8, 12)

    def cell(t: int, policy: str) -> str:
        return "" if t > arm["iterations"] else _rates(arm, policy, t)

    row = [str(arm["seed"]), *[cell(t, "average") for t in (4, 8, 12)], cell(arm["iterations"], "last")]
    assert (arm["change"], row) in _readings()


def test_the_page_agrees_with_the_record_of_two_hundred_iterations() -> None:
    arms = [BOUNDED[f"clipped, 200 iterations{which}", 1] for which in ("", " without baseline net")]
    assert [arm["iterations"] for arm in arms] == [200, 200]
    (iterations, *rows), columns = _table("| iteration | 20 | 40 |"), range(20, 201, 20)
    assert iterations == ["iteration", *map(str, columns)]
    shown = [(arm, policy) for arm in arms for policy in ("average", "last")]
    for (label, *cells), (arm, policy) in zip(rows, shown, strict=True):
        assert label.startswith(policy)
        assert label.endswith("without baseline net") == ("without" in arm["arm"])
        assert cells == [_rates(arm, policy, t) for t in columns]


def test_the_page_agrees_with_the_record_of_the_four_settings() -> None:
    rows = _table("| setting | seed | 4 |")[1:]
    names = ["1,024 traversals", "2,560 traversals", "1,024 traversals without baseline net"]
    runs = [(f"clipped, {name}", seed) for name in names for seed in (1, 2)]
    for (_, shown, *cells), run in zip(rows, runs, strict=True):
        arm = BOUNDED[run]
        assert shown == str(run[1])
        assert cells[:5] == [_rates(arm, "average", t) for t in (4, 8, 12, 16, 20)]
        assert cells[5:] == [_rates(arm, "last", 20), f"{arm['elapsed_s'] / 60:.1f}"]


def test_the_page_agrees_with_the_record_of_limits_on_the_baseline_alone() -> None:
    rows = _table("| seed | 4 | 8 |")[1:]
    assert [cells[0] for cells in rows] == ["1", "2"]
    for seed, *cells in rows:
        arm = BOUNDED["limits on the baseline alone", int(seed)]
        assert cells[:5] == [_rates(arm, "average", t) for t in (4, 8, 12, 16, 20)]
        assert cells[5:] == [_rates(arm, "last", 20), f"{max(arm['loss_baseline']):.3f}"]


def test_the_page_agrees_with_the_record_of_hubers_loss() -> None:
    rows = _table("| seed, Huber | 4 |")[1:]
    assert [cells[0] for cells in rows] == ["1", "2", "3", "1, bfloat16", "2, bfloat16", "3, bfloat16"]
    for name, *cells in rows:
        seed, *products = name.split(", ")
        arm = BOUNDED[", products in ".join(["huber_delta=1", *products]), int(seed)]
        assert cells[:5] == [_rates(arm, "average", t) for t in (4, 8, 12, 16, 20)]
        assert cells[5:] == [
            _rates(arm, "last", 20),
            f"{median(arm['advantage_rms']):.1f}",
            f"{max(arm['loss_baseline']):.1f}",
        ]


def test_the_page_agrees_with_the_record_on_leduc_with_hubers_loss() -> None:
    arms = json.loads((ROOT / "docs" / "records" / "geister-dream-bounded" / "arms.json").read_text())["leduc"]
    rows = {cells[0].replace("`", ""): cells[1:] for cells in _table("| bound | 5 iterations |")}
    for name in ("none", "huber_delta=1", "huber_delta=13"):
        averages = [
            {each["iteration"]: each["nash_conv"] for each in arm["nash_conv"] if each["policy"] == "average"}
            for arm in sorted(arms, key=lambda arm: arm["seed"])
            if arm["arm"] == f"{name}, merge=false"
        ]
        assert len(averages) == 3
        shown = [", ".join(f"{each[t]:.2f}" for each in averages) for t in (5, 10, 15, 20)]
        assert rows[f"{name}, merge=false"] == shown


@pytest.mark.parametrize(("head", "seed", "count"), [("iteration", 1, 11), ("iteration, seed 2", 2, 8)])
def test_the_page_agrees_with_the_record_of_what_a_baseline_is_worth(head: str, seed: int, count: int) -> None:
    """Its rows have the mean square of the advantages with a net, in percent of that without."""
    record = json.loads((ROOT / "docs" / "records" / "geister-dream-bounded" / "baseline.json").read_text())
    names = {"the run's": "the run's", "five epochs": "longer", "five epochs, targets limited": "longer, limited"}
    rows, t = _table(f"| {head} | net | 0-1 |")[1:], ""
    assert len(rows) == count
    for iteration, name, *cells in rows:
        t = iteration or t
        probe = next(probe for probe in record["probes"] if (probe["seed"], probe["iteration"]) == (seed, int(t)))
        net, _, rms = name.rstrip(")").partition(" (")
        key, none = "mean square by plies to the end", probe["nets"]["none"]
        found = none if net == "none" else probe["nets"][names[net]]
        assert cells == [f"{100 * a / b:.0f}" for a, b in zip(found[key], none[key], strict=True)]
        assert rms.split(";")[0] == f"{found['rms']:.1f}"


def test_the_guide_agrees_with_the_record_of_the_worst_case() -> None:
    record = json.loads((ROOT / "docs" / "records" / "geister-worst-case.json").read_text())
    rates = {(match["against"], match["ghosts_left"]): match["win_rate"] for match in record["matches"]}
    rows = table("| against | without the rule |", (ROOT / "docs" / "how-to" / "search.md").read_text())[1:]
    left = (0, 2, 4, 6)
    shown = {(each[0].strip("`"), n): cell for each in rows for n, cell in zip(left, each[1:5], strict=True) if cell}
    assert {key: f"{100 * rate:.1f}" for key, rate in rates.items()} == shown


def test_the_page_agrees_with_the_record_of_inputs_about_hidden_hands() -> None:
    page = (ROOT / "docs" / "results" / "guandan-beliefs.md").read_text()
    rows = table("| inputs behind those of `plans` | seed 7 |", page)[1:]
    runs = json.loads((ROOT / "docs" / "records" / "guandan-inputs.json").read_text())["runs"]
    rates = {(run["inputs"], run["seed"]): f"{run['after_150']:.1f}, {run['after_300']:.1f}" for run in runs}
    kinds = ("none", "belief", "oracle", "evidence")
    assert len(rates) == len(runs) == 2 * len(kinds)
    for kind, cells in zip(kinds, rows, strict=True):
        assert kind in cells[0]
        assert cells[2:4] == [rates[kind, seed] for seed in (8, 9)]


def _rates(arm: Mapping[str, Any], policy: str, iteration: int) -> str:
    """Percent won against `random` and `heuristic`."""
    rates = {(r["iteration"], r["policy"], r["opponent"]): 100 * r["win_rate"] for r in arm["evaluations"]}
    return " / ".join(f"{rates[iteration, policy, opponent]:.1f}" for opponent in ("random", "heuristic"))


def _table(head: str) -> list[list[str]]:
    return table(head, WHY_PAGE)


def _readings() -> list[tuple[str, list[str]]]:
    """The change of each row of the page's table, its settings or else its words, and its other cells."""
    found: list[tuple[str, list[str]]] = []
    for name, *cells in table("| change | seed |", READINGS_PAGE)[1:]:
        words = [*re.findall(r"`([^`]*)`", name), *([BOUNDS] if name.endswith("and bounds") else [])]
        found.append((" ".join(words) or name or found[-1][0], cells))
    return found


def _columns(name: str) -> dict[str, dict[int, str]]:
    """The cells of a run in the page's table of runs at the paper's scale, by opponent and iteration.

    A column's head is the run's name without its seed if that is 1, and covers one column for each opponent.
    """
    setting, seed = name.rsplit("-seed", 1)
    head = f"`{setting}`" if seed == "1" else f"`{setting}`, seed {seed}"
    lines = iter(PAGE.splitlines())
    heads = next(found for line in lines if head in (found := split_row(line)))
    next(lines)
    opponents = [cell.strip("`") for cell in split_row(next(lines))]
    rows = [split_row(line) for line in takewhile(lambda line: line.startswith("| "), lines)]
    first = heads.index(head)
    return {opponents[column]: {int(row[0]): row[column] for row in rows} for column in (first, first + 1)}
