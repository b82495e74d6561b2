"""The page of the beliefs about the hands of GuanDan follows from its record."""

import json

from dancfr.papers.guandan_beliefs_page import FIGURE, PAGE, RECORD, figure, opponent, placements, values, with_tables


def measured(against: str) -> dict[str, object]:
    parts = {"loss": [0.5, 0.4, 0.6], "deal": 20.0, "right": [0.25, 0.2, 0.3]}
    group = {"positions": 1000, "cards": 40.0, "uniform": parts, "tributes": parts, "learned": parts}
    errors = {"from_return": [2.0, 1.5, 2.5], "beyond_uniform": [-0.5, -1.0, 0.0], "from_true": [1.0, 0.5, 1.5]}
    return {
        "settings": {"agent": "a", "against": against},
        "groups": {"all": group, "0-7": group, "8-": group},
        "reliability": [[0.05, 0.06, 100], [0.95, 0.94, 100]],
        "values": dict.fromkeys(("true", "uniform", "tributes", "learned"), errors),
    }


def test_tables_have_a_row_for_each_opponent_and_group() -> None:
    records = [measured("a"), measured("planner")]
    assert [opponent(each) for each in records] == ["itself", "`planner`"]
    lines = placements(records).splitlines()
    assert len(lines) == 2 + 6
    assert lines[2] == (
        "| itself | all | 1,000 | 40.0 | 0.500 | 0.500 | 0.500 [0.400, 0.600] | 25.0 % | 25.0 % [20.0, 30.0] |"
    )
    lines = values(records).splitlines()
    assert len(lines) == 2 + 8
    assert lines[2] == "| itself | uniform deals | 2.00 [1.50, 2.50] |  | 1.00 [0.50, 1.50] |"
    assert lines[5] == "| itself | the true hands | 2.00 [1.50, 2.50] | -0.50 [-1.00, +0.00] |  |"


def test_the_figure_is_an_image() -> None:
    assert figure([measured("a"), measured("planner")]).startswith(b"\x89PNG")


def test_the_page_shows_the_record() -> None:
    records = json.loads(RECORD.read_text())
    assert PAGE.read_text() == with_tables(PAGE.read_text(), records)
    assert FIGURE.read_bytes().startswith(b"\x89PNG")
    assert {opponent(each) for each in records} == {"itself", "`planner`"}
