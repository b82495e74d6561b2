"""The frame of the page in a real browser: general games, history, lost connections, looking inside."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.dancfr.serve.browser.clicks import ASKED_OR_OVER, ENDED, MOVED, QUICK, SECOND_MOVE, play_on

expect = pytest.importorskip("playwright.sync_api").expect

Serve = Callable[..., str]


@pytest.mark.parametrize("game", ["leduc", "kuhn", "goofspiel", "oshi_zumo", "liars_dice", "phantom_ttt", "dark_hex"])
def test_a_whole_game_by_clicks(serve_page: Serve, page: Any, game: str) -> None:
    page.goto(serve_page(game, "--agent", "random", *QUICK))
    play_on(page)
    assert re.search(ENDED, page.locator("#status").inner_text())
    assert page.locator("#events li").count() > 1
    texts = page.evaluate(f"async () => (await import('./game/{game}.js')).texts")
    assert page.locator("#title").inner_text() == texts["en"][f"game.{game}"]
    assert set(texts["en"]) == set(texts["ja"]) == set(texts["zh"])


def test_a_stone_is_placed_by_a_click_on_its_cell(serve_page: Serve, page: Any) -> None:
    page.goto(serve_page("phantom_ttt", "--agent", "random", *QUICK))
    cell = page.locator(".general-cells .choice").nth(4)
    expect(cell).to_have_text("b2")
    cell.click()
    expect(page.locator(".general-cells i").nth(4)).to_have_text("x")


def test_a_game_that_is_played_is_given_up_only_when_asked_twice(serve_page: Serve, page: Any) -> None:
    page.goto(serve_page("phantom_ttt", "--agent", "random", *QUICK))
    begin = page.locator("#new button")
    begin.click()  # nothing has been played
    page.locator(".general-cells .choice").nth(4).click()
    expect(page.locator(".general-cells i").nth(4)).to_have_text("x")
    address = page.url
    begin.click()
    expect(begin).to_have_text("Give up and begin")
    page.locator("#language").focus()
    expect(begin).to_have_text("Begin")
    expect(page).to_have_url(address)
    expect(page.locator(".general-cells i").nth(4)).to_have_text("x")
    begin.click()
    begin.click()
    expect(page).not_to_have_url(address)
    expect(page.locator("#events li")).to_have_count(0)


def test_a_pettingzoo_environment(serve_page: Serve, page: Any) -> None:
    page.goto(serve_page("pettingzoo:pettingzoo.classic.tictactoe_v3", "--agent", "random", *QUICK))
    page.get_by_text("the numbers that are not 0").first.wait_for()
    play_on(page)
    assert re.search(ENDED, page.locator("#status").inner_text())


def test_a_whole_game_by_keys(serve_page: Serve, page: Any) -> None:
    """Tab reaches the choices, Enter plays them; no mouse is used."""
    page.goto(serve_page("leduc", "--agent", "random", *QUICK))
    for _ in range(12):
        page.wait_for_function(ASKED_OR_OVER)
        if not page.locator(".general-choices button").count():
            break
        before = page.locator("#steps span").inner_text()
        for _ in range(12):
            page.keyboard.press("Tab")
            if page.evaluate("() => document.activeElement.closest('.general-choices') !== null"):
                break
        page.keyboard.press("Enter")
        page.wait_for_function(MOVED, arg=before)
    assert re.search(ENDED, page.locator("#status").inner_text())
    page.keyboard.press("{")
    expect(page.locator("#steps")).to_contain_text("Move 0 of")
    expect(page.locator("#status")).to_contain_text("earlier position")


def test_a_closed_tab_is_opened_again(serve_page: Serve, page: Any) -> None:
    page.goto(serve_page("goofspiel", "--agent", "random", *QUICK))
    page.locator(".general-choices button").first.click()
    page.wait_for_function(SECOND_MOVE)
    expect(page).to_have_url(re.compile("#"))
    hand, address, context = page.locator(".general-facts").inner_text(), page.url, page.context
    page.close()
    again = context.new_page()
    again.goto(address)
    again.wait_for_function(SECOND_MOVE)
    assert again.locator(".general-facts").inner_text() == hand
    play_on(again)


def test_two_people_at_one_table(serve_page: Serve, page: Any, new_page: Callable[..., Any]) -> None:
    """The second comes by the link; neither page shows the other's card."""
    page.goto(serve_page("leduc", "--agents", "-,-", *QUICK))
    link = page.get_by_role("link", name="Link for Player 1").get_attribute("href")
    other = new_page()
    other.goto(link)
    other.get_by_text("is to move").wait_for()
    for each in (page, other):
        expect(each.locator("svg[aria-label='hidden card']")).to_have_count(1)
    for _ in range(10):
        if re.search(r"won|lost|draw", page.locator("#status").inner_text()):
            break
        for each in (page, other):
            if each.locator("#status").inner_text() == "Your move.":
                before = each.locator("#steps span").inner_text()
                each.get_by_role("button", name="Check or call").click()
                for seen in (page, other):
                    seen.wait_for_function(MOVED, arg=before)
    ends = [each.locator("#status").inner_text() for each in (page, other)]
    assert sorted(re.sub(r" \(.*", "", end) for end in ends) in (
        ["You have lost.", "You have won."],
        ["A draw.", "A draw."],
    )


def test_no_page_is_wider_than_a_phone(serve_page: Serve, new_page: Callable[..., Any]) -> None:
    for game in ("leduc", "goofspiel", "oshi_zumo"):
        page = new_page(viewport={"width": 360, "height": 700}, has_touch=True, color_scheme="dark")
        page.goto(serve_page(game, "--agent", "random", *QUICK))
        page.locator(".general-choices button").first.tap()
        page.wait_for_function("() => /Move [1-9]/.test(document.querySelector('#steps').textContent)")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360, game


def test_every_control_has_a_name(serve_page: Serve, page: Any) -> None:
    page.goto(serve_page("leduc", "--agent", "random", "--study", *QUICK))
    page.locator(".general-choices button").first.wait_for()
    tree = page.locator("body").aria_snapshot()
    kinds = r"\s*- (button|combobox|slider|link|checkbox|textbox|spinbutton)"
    controls = [line.strip() for line in tree.splitlines() if re.match(kinds, line)]
    assert len(controls) >= 9
    assert all(re.match(r'- \w+ "[^"]+', line) for line in controls), controls


@pytest.mark.parametrize("language", ["日本語", "中文"])
def test_the_page_speaks_other_languages(serve_page: Serve, page: Any, language: str) -> None:
    page.goto(serve_page("leduc", "--agent", "random", *QUICK))
    page.locator(".general-choices button").first.wait_for()
    page.locator("#language").select_option(label=language)
    body = page.locator("body").inner_text()
    left = set(re.findall(r"[A-Za-z]{3,}", body)) - {
        "leduc",
        "pretrained",
        "random",
        "dancfr",
        "English",
        "cards",
        "pot",
        "jsonl",
    }
    assert not left


def test_thoughts_are_shown_with_study(serve_page: Serve, page: Any) -> None:
    """Exact probabilities and values; the panel follows the position that is looked at."""
    page.goto(serve_page("leduc", "--agent", "pretrained:leduc", "--study", *QUICK))
    title = page.locator("#study h2").first
    expect(title).to_have_text("What pretrained:leduc would do here")
    expect(page.locator("#study .bar .number").first).to_have_text(re.compile("%$"))
    expect(page.locator("#study")).to_contain_text("Value:")
    expect(page.locator("#study")).to_contain_text("Belief")
    play_on(page)
    # Shown only while something is missing, so that it may go at any time: a click of the mouse could come too late.
    page.locator("[data-study=collect]").dispatch_event("click")
    expect(page.locator("[data-study=collect]")).to_be_hidden()
    page.locator("#study svg polyline").wait_for()
    page.get_by_role("button", name="First move").click()
    expect(title).to_have_text("What pretrained:leduc would do here")
    expect(page.locator("#study .bar.chosen")).to_have_count(1)  # not yet in what was thought before the move
    page.get_by_role("button", name="One move on").click()
    expect(title).to_have_text("What pretrained:leduc thinks")
    page.get_by_role("button", name="Seat 1").click()
    page.wait_for_function("() => /Your move|is thinking/.test(document.querySelector('#status').textContent)")
    expect(page.locator("#seats li").nth(1)).to_have_text("1: You")
    play_on(page)


def test_thoughts_of_nets(serve_page: Serve, page: Any) -> None:
    """Geister: an exact policy, the net's value and a belief about ghosts; GuanDan: expected cards."""
    page.goto(serve_page("geister", "--study", "--option", "random_setup=true", *QUICK))
    panel = page.locator("#study")
    panel.get_by_text("Its policy.").wait_for()
    expect(panel).to_contain_text("by its net")
    expect(panel.get_by_text(re.compile(r"^[A-H] is red$"))).to_have_count(8)
    shares = [float(each.removesuffix("%")) for each in panel.locator(".bar .number").all_inner_texts()[:-8]]
    assert sum(shares) == pytest.approx(100, abs=1)
    page.goto(serve_page("guandan", "--study", *QUICK))
    panel.get_by_text("Belief").wait_for()
    expect(panel.locator("table tbody tr")).to_have_count(3)
    expect(panel.locator("table thead th")).to_have_count(15)


def test_thoughts_are_not_shown_before_the_end_without_study(serve_page: Serve, page: Any) -> None:
    page.goto(serve_page("leduc", "--agent", "random", *QUICK))
    page.locator(".general-choices button").first.wait_for()
    assert not page.locator("#study").is_visible()
    play_on(page)
    expect(page.locator("#study")).to_be_visible()


def test_a_server_that_stops_and_one_that_refuses(server: Any, page: Any) -> None:
    process, address = server("play", "leduc", "--agent", "random", *QUICK)
    page.goto(address)
    page.locator(".general-choices button").first.wait_for()
    process.stop()
    page.get_by_text("The connection is lost").wait_for()
    assert page.locator("#problem").inner_text().count("\n") == 0
    _, address = server("play", "leduc", "--agent", "random", *QUICK)
    answer = page.goto(address.partition("?")[0] + "?token=wrong")
    assert answer.status == 403
    assert "lacks the right token" in page.locator("body").inner_text()


def test_a_page_for_which_there_is_no_room_says_so(serve_page: Serve, page: Any) -> None:
    """Without a connection it asks why, and is not told that the server has gone."""
    page.add_init_script("WebSocket = class { constructor() { setTimeout(() => this.onclose({ code: 1006 })); } };")
    full = {"status": 503, "body": "dancfr: 256 pages are open: close one\n"}
    page.route(re.compile("origin="), lambda route: route.fulfill(**full))
    page.goto(serve_page("leduc", "--agent", "random", *QUICK))
    page.get_by_text("The server refuses this page: dancfr: 256 pages are open: close one").wait_for()


def test_a_flood_ends_in_one_line_on_the_page(serve_page: Serve, page: Any) -> None:
    page.goto(serve_page("goofspiel", "--agent", "random", *QUICK))
    page.locator(".general-choices button").first.click()
    page.wait_for_function(SECOND_MOVE)
    page.evaluate(
        """() => {
            const pace = document.querySelector('#steps input[type=number]');
            for (let i = 0; i < 800; i += 1) pace.dispatchEvent(new Event('change'));
        }"""
    )
    page.get_by_text("The server refuses this page: more than 20 messages a second").wait_for()
    assert page.locator("#problem").inner_text().count("\n") == 0
