"""The list of OpenSpiel's games in docs/reference/openspiel.md: rows can be repeated, and the page is the record's."""

import json
import os
import signal

import pytest

pytest.importorskip("pyspiel")

from dancfr.bench.openspiel_games import PAGE, RECORD, SMALLER, counts, names, table
from dancfr.bench.openspiel_probe import STEPS, probe

ROWS = {row["name"]: row for row in json.loads(RECORD.read_text())}


@pytest.mark.parametrize("name", ["kuhn_poker(players=3)", "matrix_pd", "coordinated_mp", "blackjack", "negotiation"])
def test_rows_can_be_repeated(name: str) -> None:
    found, listed = probe(name, 120), ROWS[name]
    for key in ("nash_conv", "solved"):
        assert found.pop(key, None) == pytest.approx(listed.get(key))
    assert found == {key: value for key, value in listed.items() if key not in ("nash_conv", "solved")}


def test_the_page_is_that_of_the_record() -> None:
    rows = [ROWS[name] for name in sorted(ROWS)]
    assert table(rows) in PAGE.read_text()
    assert set(SMALLER) < set(ROWS)


def test_no_game_is_left_out() -> None:
    assert set(ROWS) == set(names())
    assert counts(list(ROWS.values())) in PAGE.read_text()


def test_a_crash_and_a_game_without_end_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(name: str) -> dict[str, int]:
        os.kill(os.getpid(), signal.SIGUSR1)
        return {}

    def repeat(name: str) -> dict[str, int]:
        while True:
            pass

    for step in ("policy gradients", "tree"):
        monkeypatch.setitem(STEPS, step, lambda name: {})
    monkeypatch.setitem(STEPS, "match", crash)
    row = probe("kuhn_poker", 60)
    assert (row["failed"], row["players"]) == ({"match": "match: the process ends by SIGUSR1"}, 2)
    monkeypatch.setitem(STEPS, "match", repeat)
    assert probe("kuhn_poker", 1)["failed"] == {"match": "match: not done after 1 s"}
