"""Geister in a real browser: whole games by mouse and by keyboard, colours, drags, and a phone's width."""

import re
from collections.abc import Callable
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api").expect

OWN = '[role="gridcell"][aria-label*=", your "]'
ENDED = re.compile("You have won|You have lost|A draw")
AGENTS = ("--agent", "heuristic", "--pace", "0")


def opened(page: Any, address: str) -> Any:
    page.goto(address)
    page.wait_for_selector(OWN)
    return page


def status(page: Any) -> str:
    return str(page.inner_text("#status"))


def wait_for_turn(page: Any) -> bool:
    """Waits until the user is to move; returns whether the game continues."""
    page.wait_for_function(
        "() => document.querySelector('.geister-cell.movable')"
        " || /won|lost|draw/.test(document.querySelector('#status').innerText)"
    )
    return ENDED.search(status(page)) is None


def places(page: Any, selector: str, name: str = "") -> list[tuple[int, int]]:
    """The squares whose names contain a text, from the left and from the top as the user sees them, topmost first."""
    found = page.evaluate(
        "selector => [...document.querySelectorAll(selector)].map(e => [e.dataset.place, e.ariaLabel])",
        selector,
    )
    squares = [tuple(map(int, place.split(","))) for place, label in found if name in label]
    return sorted(squares, key=lambda place: (place[1], min(place[0], 5 - place[0])))


def cell(place: tuple[int, int]) -> str:
    return f'[data-place="{place[0]},{place[1]}"]'


def run_for_the_exit(page: Any, choose: Callable[[tuple[int, int]], None]) -> int:
    """Moves the blue ghost that is nearest to the exit, step by step, to the end of the game; returns the moves."""
    for moves in range(200):
        if not wait_for_turn(page):
            return moves
        exits = places(page, ".geister-exit.target")
        if exits:
            choose(exits[0])
            page.wait_for_function("() => /won/.test(document.querySelector('#status').innerText)")
            return moves + 1
        before = page.inner_text("#steps")
        start = (places(page, ".geister-cell.movable", "blue") or places(page, ".geister-cell.movable"))[0]
        choose(start)
        targets = places(page, ".geister-cell.target")
        # At the edge of the board a ghost goes along the row to the exit.
        choose(min(targets, key=lambda place: (place[1], min(place[0], 5 - place[0]))))
        page.wait_for_function("before => document.querySelector('#steps').innerText !== before", arg=before)
    raise AssertionError("the game did not end")


def choose_colours(page: Any, ghosts: list[int]) -> None:
    for ghost in ghosts:
        page.click(f"{OWN} >> nth={ghost}")
    page.click("text=Begin with these colours")
    page.wait_for_selector(".geister-count", state="detached")


def test_a_game_by_mouse(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("geister", *AGENTS))
    confirm = page.get_by_role("button", name="Begin with these colours")
    expect(confirm).to_be_disabled()
    choose_colours(page, [0, 1, 4, 5])
    assert wait_for_turn(page)
    own = page.eval_on_selector_all(OWN, "cells => cells.map(e => e.getAttribute('aria-label'))")
    assert sorted(re.search(r"your (\w+) ghost (\w)", name).groups() for name in own) == [  # type: ignore[union-attr]
        *(("blue", ghost) for ghost in "CDGH"),
        *(("red", ghost) for ghost in "ABEF"),
    ]
    expect(page.locator('[aria-label*="unknown colour"]')).to_have_count(8)
    run_for_the_exit(page, lambda place: page.click(cell(place)))
    assert ENDED.search(status(page))
    expect(page.locator('[aria-label*="unknown colour"]')).to_have_count(0)  # at the end all colours are shown


def test_a_game_by_keyboard_alone(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("mini-geister", *AGENTS))

    def at() -> str | None:
        found: str | None = page.evaluate("() => document.activeElement.dataset.place ?? null")
        return found

    for _ in range(10):
        page.keyboard.press("Tab")
        if at() is not None:
            break

    def go(place: tuple[int, int]) -> None:
        for _ in range(20):
            x, y = map(int, str(at()).split(","))
            if (x, y) == place:
                page.keyboard.press("Enter")
                return
            sideways = "ArrowRight" if x < place[0] else "ArrowLeft"
            # An exit is reached from the square below it, and leads along its row to the other exit only.
            page.keyboard.press(sideways if x != place[0] and y >= 0 else "ArrowUp" if place[1] < y else "ArrowDown")
        raise AssertionError(f"the keys do not lead to {place}")

    go(places(page, OWN)[0])
    expect(page.locator(".geister-count")).to_have_text("1 of 1 red")
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.dataset.control") == "confirm":
            break
    page.keyboard.press("Enter")
    assert wait_for_turn(page)
    assert at() is not None  # the focus has gone back to the board
    run_for_the_exit(page, go)
    assert ENDED.search(status(page))


@pytest.mark.parametrize("touch", [False, True])
def test_a_ghost_is_dragged(serve_page: Any, page: Any, touch: bool) -> None:
    opened(page, serve_page("geister", *AGENTS))
    choose_colours(page, [0, 1, 2, 3])
    assert wait_for_turn(page)
    start, end = (page.locator(cell(place)).bounding_box() for place in ((1, 4), (1, 3)))
    points = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in (start, end)]
    if touch:
        client = page.context.new_cdp_session(page)
        for kind, point in (("touchStart", points[0]), ("touchMove", points[1]), ("touchEnd", None)):
            touched = [] if point is None else [{"x": point[0], "y": point[1]}]
            client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})
    else:
        page.mouse.move(*points[0])
        page.mouse.down()
        page.mouse.move(*points[1], steps=4)
        page.mouse.up()
    page.wait_for_selector("text=You: A b2 → b3")
    assert wait_for_turn(page)
    expect(page.locator(cell((1, 3)))).to_have_attribute("aria-label", re.compile("red ghost A"))


def test_a_ghost_dropped_elsewhere_stays(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("geister", *AGENTS))
    choose_colours(page, [0, 1, 2, 3])
    assert wait_for_turn(page)
    start, end = (page.locator(cell(place)).bounding_box() for place in ((1, 4), (3, 2)))
    page.mouse.move(start["x"] + 20, start["y"] + 20)
    page.mouse.down()
    page.mouse.move(end["x"] + 20, end["y"] + 20, steps=4)
    page.mouse.up()
    assert places(page, ".geister-cell.target") == []
    assert "ghost A" in page.get_attribute(cell((1, 4)), "aria-label")
    assert status(page) == "Your move."


def test_the_second_player_sits_at_the_bottom_too(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("geister", *AGENTS, "--seat", "1"))
    page.wait_for_selector("text=Begin with these colours")
    assert {y for _, y in places(page, OWN)} == {4, 5}
    choose_colours(page, [0, 1, 4, 5])
    run_for_the_exit(page, lambda place: page.click(cell(place)))
    own = page.locator(OWN).count()
    assert own > 0
    expect(page.locator('[aria-label*="unknown colour"]')).to_have_count(0)


def test_with_drawn_colours_there_is_no_choice(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("geister", *AGENTS, "--option", "random_setup=true"))
    assert wait_for_turn(page)
    assert page.locator(".geister-count").count() == 0
    expect(page.locator('[aria-label*="your red"]')).to_have_count(4)


def test_it_fits_a_phone_and_every_control_has_a_name(serve_page: Any, page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    opened(page, serve_page("geister", *AGENTS))
    for language in ("ja", "zh", "en"):
        page.select_option("#language", language)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        nameless = "e => !(e.getAttribute('aria-label') || e.innerText || e.labels?.length)"
        controls = "button, select, input, [role=gridcell], svg[role=img]"
        assert page.evaluate(f"() => [...document.querySelectorAll('{controls}')].filter({nameless}).length") == 0
    squares = page.locator('[tabindex="0"][role="gridcell"]')
    assert squares.count() == 1  # one stop of the Tab key for the whole board
    assert page.locator(cell((0, 0))).bounding_box()["width"] > 40


def test_every_text_is_in_every_language(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("geister", *AGENTS))
    texts = page.evaluate("async () => (await import('/game/geister-texts.js')).texts")
    assert set(texts) == {"en", "ja", "zh"}
    assert all(set(each) == set(texts["en"]) for each in texts.values())
