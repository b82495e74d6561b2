"""A game of a package of one's own in a real browser: its page, its display, and its beliefs."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.own_package import install

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory)


def test_game_of_another_package_is_played_on_its_own_page(
    installed: Path, serve_page: Callable[..., str], page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{Path.cwd()}{os.pathsep}{installed}")
    page.goto(serve_page("pennies", "--agents", "stubborn,-", "--study", "--pace", "0"))
    expect(page.locator("#title")).to_have_text("Matching pennies")
    coin = page.locator(".pennies-coin")
    expect(coin).to_have_text("Coin: ?")
    expect(coin).to_have_css("font-weight", "700")
    expect(page.locator("#events")).to_contain_text("a hidden move")
    expect(page.locator("#study")).to_contain_text("Heads50 %Tails50 %")
    page.get_by_role("button", name="Heads").click()
    expect(coin).to_have_text("Coin: Heads")
    expect(page.locator("#status")).to_contain_text("You have won. (guessed; stubborn (0): -3, You: 3)")
    page.select_option("#language", "ja")
    expect(coin).to_have_text("コイン: 表")


def test_page_that_does_not_load_is_named(
    installed: Path, serve_page: Callable[..., str], page: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = shutil.copytree(installed, tmp_path / "broken")
    (broken / "pennies" / "page" / "pennies.js").write_text("export const texts = {")
    monkeypatch.setenv("PYTHONPATH", f"{Path.cwd()}{os.pathsep}{broken}")
    page.goto(serve_page("pennies", "--agent", "stubborn"))
    expect(page.locator("#problem")).to_contain_text("game/pennies.js: SyntaxError")
