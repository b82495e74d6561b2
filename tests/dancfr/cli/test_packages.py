"""Commands that use a package of an extra at their end refuse its absence before they begin."""

import sys
from pathlib import Path

import pytest

from tests.dancfr.outcomes import Command, refused


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        ("league l --game leduc --add random --add pretrained:leduc --games 0", "matplotlib", "report"),
        ("league l --game leduc --add random --add pretrained:leduc --games 2 --batch 2 --inline", "torch", "train"),
        ("reproduce cheat-table1 --seeds 1 --inline --out paper", "jinja2", "report"),
        ("reproduce cheat-table1 --seeds 1 --inline --out paper", "matplotlib", "report"),
    ],
)
def test_a_missing_package_is_named_before_anything_is_made(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    line = refused(command(*words.split()))
    assert f"this needs {package}, which is not installed: pip install 'dancfr[{extra}]'" in line
    assert not list(tmp_path.iterdir())


def test_decisions_are_not_compared_for_a_page_that_cannot_be_drawn(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun(*_: object) -> None:
        raise AssertionError("the games have begun")

    monkeypatch.setattr("dancfr.agents.decisions.compare_decisions", begun)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "this needs jinja2, which" in refused(
        command("decisions", "greedy", "--beside", "random", "--out", "x.html")
    )
