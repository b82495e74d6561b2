"""The general page in a real browser: tries that fail, names of agents, and the page of the rules."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dancfr
from tests.dancfr.serve.browser.clicks import MOVED, QUICK, play_on

expect = pytest.importorskip("playwright.sync_api").expect

Serve = Callable[..., str]

TURN = """() => document.querySelector('.general-choices button')
    || /won|lost|draw/i.test(document.querySelector('#status').textContent)"""


def try_until_taken(page: Any, games: int = 8) -> str:
    """Plays the first choice until a try fails; returns its cell."""
    for _ in range(games * 9):
        page.wait_for_function(TURN)
        if page.locator(".general-note").inner_text():
            return str(page.locator(".general-note").inner_text())[:2]
        if page.locator(".general-choices button").count():
            before = page.locator("#steps span").inner_text()
            page.locator(".general-choices button").first.click()
            page.wait_for_function(MOVED, arg=before)
        else:
            page.get_by_role("button", name="Begin").click()
            page.wait_for_function(TURN)
    raise AssertionError("no try has failed")


def test_a_try_that_fails_is_told_at_the_board_until_the_next_move(serve_page: Serve, page: Any) -> None:
    """In an element that screen readers watch, which stays while the board is drawn again."""
    page.goto(serve_page("phantom_ttt", "--agent", "random", "--seat", "1", *QUICK))
    note = page.get_by_role("status").and_(page.locator("#board .general-note"))
    expect(note).to_have_text("")
    kept = note.element_handle()
    cell = try_until_taken(page)
    expect(note).to_have_text(f"{cell} is taken: a stone of the opponent is there. Try another cell.")
    expect(page.locator("#events li").last).to_have_text(f"You: {cell} is taken: a stone of the opponent is there.")
    expect(page.locator(".general-cells .noted")).to_have_text("x")
    page.select_option("#language", "ja")
    expect(page.locator(".general-note")).to_contain_text(f"{cell}は相手の石でふさがっています")
    page.select_option("#language", "en")
    before = page.locator("#steps span").inner_text()
    page.locator(".general-choices button").last.click()
    page.wait_for_function(MOVED, arg=before)
    assert page.locator(".general-note").inner_text()[:2] != cell
    assert kept.is_visible() is False  # the language has mounted the board again


def test_a_failed_try_that_ends_the_turn_is_told_while_the_opponent_moves(serve_page: Serve, page: Any) -> None:
    page.goto(serve_page("dark_hex3_abrupt", "--agent", "random", "--seat", "1", *QUICK))
    cell = try_until_taken(page)
    expect(page.locator("#events li").last).to_have_text(re.compile("a hidden move$"))
    expect(page.locator(".general-note")).to_have_text(
        f"{cell} is taken: a stone of the opponent is there. Your turn is over."
    )


def test_thoughts_are_asked_for_anew_where_the_end_numbers_the_moves_anew(serve_page: Serve, page: Any) -> None:
    """Failed tries of the opponent are told at the end only, and stand between the moves that were told before."""
    sent: list[dict[str, Any]] = []
    page.on("websocket", lambda opened: opened.on("framesent", lambda text: sent.append(json.loads(text))))
    page.goto(serve_page("phantom_ttt", "--agent", "random", "--study", "--seed", "1", *QUICK))
    play_on(page)
    moves = page.locator("#events li").count()
    assert moves > 1 + max(each["ply"] for each in sent if each["type"] == "move"), "some tries were not told"
    sent.clear()
    page.get_by_role("button", name="Ask at every move").click()
    page.get_by_role("button", name="Ask at every move").wait_for(state="hidden")
    page.get_by_role("button", name="Asking").wait_for(state="hidden")
    assert [each["ply"] for each in sent] == list(range(moves))


def test_agents_in_folders_are_called_by_the_last_one(serve_page: Serve, page: Any, tmp_path: Path) -> None:
    """And by those above it where two would be called the same; the whole path is the title."""
    files = [tmp_path / name / "pg.safetensors" for name in ("first", "second")]
    solution = dancfr.solve("kuhn", iterations=1)
    for file in files:
        file.parent.mkdir()
        solution.save(file)
    page.goto(serve_page("kuhn", "--agents", f"{files[0]},{files[1]}", "--pace", "20"))
    seat = page.locator("#seats li").first
    expect(seat).to_have_text("0: first/pg.safetensors (0)")
    expect(seat).to_have_attribute("title", str(files[0]))
    option = page.locator("#new select").first.locator("option:checked")
    expect(option).to_have_text("first/pg.safetensors")
    expect(page.locator("#new select").first).to_have_attribute("title", str(files[0]))
    expect(page.locator("#status")).to_have_text("first/pg.safetensors (0) is thinking …")


SHORT = {
    "random": "random",
    "pretrained:leduc": "pretrained:leduc",
    "runs/leduc": "runs/leduc",
    "/home/a/runs/pg": "a/runs/pg",
    "/home/b/runs/pg": "b/runs/pg",
    "runs/pg@40": "pg@40",
    "runs/deep/?average=a/b": "deep?average=a/b",
    "hf:OWNER/NAME": "hf:OWNER/NAME",
}


def test_short_names_differ_where_names_do(serve_page: Serve, page: Any) -> None:
    page.goto(serve_page("phantom_ttt", "--agent", "random", "--seat", "1", *QUICK))
    found = page.evaluate(
        "async (names) => Object.fromEntries((await import('./names.js')).shortNames(names))", list(SHORT)
    )
    assert found == SHORT


def test_rules_are_a_page_of_the_site(serve_page: Serve, page: Any) -> None:
    """It begins at the rules, and asks for the style of the site and for nothing else."""
    page.goto(serve_page("phantom_ttt", "--agent", "random", "--seat", "1", *QUICK))
    page.locator("#rules").wait_for()
    address = page.evaluate("() => document.querySelector('#rules').href")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    answer = page.goto(address)
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    expect(page).to_have_title(re.compile("^Phantom tic-tac-toe .+ dancfr$"))
    expect(page.locator("h2#rules")).to_be_in_viewport()
    assert page.locator("table td").count() > 10
    assert {url.partition("#")[0].rpartition("/")[2] for url in asked} == {"rules.html", "style.css"}
    assert page.evaluate("() => getComputedStyle(document.querySelector('td')).borderTopStyle") == "solid"


PHONE = {"width": 390, "height": 844}
WIDE = """() => [...document.querySelectorAll('body *')].filter((element) => !element.closest('.wide')
    && element.getBoundingClientRect().right > innerWidth + 1).map((element) => element.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("cheat", "--option", "players=4", "--agent", "random", "--study"), "#study .wide td"),
        (("guandan", "--agent", "random", "--study"), "#study .wide td"),
        (("pettingzoo:pettingzoo.classic.tictactoe_v3", "--agent", "random"), ".general-choices button"),
        (("liars_dice_2d5f", "--agent", "random"), ".general-choices button"),
    ],
)
@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 900}], ids=["phone", "desktop"])
def test_nothing_is_wider_than_the_window(
    serve_page: Serve, new_page: Callable[..., Any], arguments: tuple[str, ...], shown: str, size: dict[str, int]
) -> None:
    page = new_page(viewport=size)
    page.goto(serve_page(*arguments, *QUICK))
    page.locator(shown).first.wait_for()
    assert page.evaluate(WIDE) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_what_an_agent_thinks_of_guandan_is_in_words(serve_page: Serve, page: Any) -> None:
    page.goto(serve_page("guandan", "--agent", "random", "--study", *QUICK))
    moves = page.locator("#study .bar span:first-child")
    moves.first.wait_for()
    assert not [words for words in moves.all_inner_texts() if re.search(r"\[|PASS|Single", words)]
