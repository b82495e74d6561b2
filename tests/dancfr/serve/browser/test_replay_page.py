"""Games that are watched and replayed on the page, in a real browser."""

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dancfr.runs.recorded_games import read_record
from tests.dancfr.serve.browser.clicks import QUICK, play_on

expect = pytest.importorskip("playwright.sync_api").expect

Serve = Callable[..., str]


def test_a_recorded_game_is_replayed(server: Any, page: Any, tmp_path: Path) -> None:
    process, address = server("play", "leduc", "--agent", "random", *QUICK)
    page.goto(address)
    play_on(page)
    end, moves = page.locator("#status").inner_text(), page.locator("#events li").all_inner_texts()
    process.signal(signal.SIGINT)
    process.end()
    page.get_by_text("The connection is lost").or_(page.get_by_text("The server does not answer")).wait_for()
    (file,) = tmp_path.glob("*.jsonl")
    assert len(read_record(file).moves) == len(moves)
    _, address = server("replay", str(file))
    page.goto(address)
    page.get_by_text("The game has ended.").wait_for()
    expect(page.locator("#events li")).to_have_count(len(moves))
    returns = re.findall(r"-?\d+(?=[,)])", end)
    assert re.findall(r"-?\d+(?=[,)])", page.locator("#status").inner_text()) == returns
    page.get_by_role("button", name="First move").click()
    page.get_by_text("Move 0 of").wait_for()
    pace = page.get_by_label("Seconds a move")
    pace.fill("60")  # so that it does not end before "Pause" is seen
    pace.press("Tab")
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Pause").wait_for()
    pace.fill("0.1")
    pace.press("Tab")  # plays all moves
    page.get_by_role("button", name="Replay").wait_for()
    page.get_by_text(f"Move {len(moves)} of {len(moves)}").wait_for()


def unfinished(folder: Path) -> str:
    """Writes the record of a game that was left after two moves; returns its path."""
    players = [{"kind": "user", "name": "user"}, {"kind": "agent", "name": "random"}]
    lines = [
        {"format": "dancfr-game", "version": 1, "game": "leduc", "options": {}, "seed": 3, "players": players},
        {"ply": 0, "player": 0, "action": 1},
        {"ply": 1, "player": 1, "action": 2},
    ]
    (folder / "game.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder / "game.jsonl")


def test_an_unfinished_game_is_replayed(server: Any, page: Any, tmp_path: Path) -> None:
    page.goto(server("replay", unfinished(tmp_path), *QUICK)[1])
    page.get_by_text("Move 2 of 2").wait_for()
    expect(page.locator("#status")).to_have_text("")
    pace = page.get_by_label("Seconds a move")
    pace.fill("60")
    pace.press("Tab")
    page.get_by_role("button", name="Replay").click()
    page.get_by_text("Move 0 of 2").wait_for()
    page.get_by_role("button", name="Pause").wait_for()
    pace.fill("0.1")
    pace.press("Tab")
    page.get_by_role("button", name="Replay").wait_for()
    page.get_by_text("Move 2 of 2").wait_for()


def test_thoughts_that_another_request_has_cancelled_are_asked_for_again(
    server: Any, page: Any, tmp_path: Path
) -> None:
    """The server thinks about the last position only: here it gets no time for those before it."""
    page.goto(server("replay", unfinished(tmp_path), *QUICK)[1])
    page.get_by_text("Move 2 of 2").wait_for()
    page.evaluate(
        """() => {
            const panel = document.querySelector("#study details");
            const press = (title) => document.querySelector(`#steps button[title="${title}"]`).click();
            panel.addEventListener("toggle", () => { press("First move"); press("Present"); }, { once: true });
            panel.open = true; // asks about the present position
        }"""
    )
    page.locator("#study .bar").first.wait_for(timeout=60_000)


def test_another_line_of_a_replay_outlives_its_page(server: Any, page: Any, tmp_path: Path) -> None:
    """The address names the new table, and "back" leads to the recorded game."""
    page.goto(server("replay", unfinished(tmp_path), *QUICK)[1])
    page.get_by_text("Look inside").click()
    page.get_by_role("button", name="First move").click()
    page.get_by_text("Move 0 of").wait_for()
    page.get_by_role("button", name="Seat 0").click()
    page.get_by_text("Your move.").wait_for()
    expect(page).to_have_url(re.compile("#"))
    address = page.url
    page.reload()
    page.get_by_text("Your move.").wait_for()
    expect(page).to_have_url(address)
    page.go_back()
    page.get_by_text("You are watching.").wait_for()
    page.get_by_role("button", name="Begin").click()
    page.get_by_text("You are watching.").wait_for(state="detached")
    expect(page.locator("#seats").get_by_text("You")).to_have_count(1)


def test_another_line_that_is_refused_leaves_the_position(server: Any, page: Any, tmp_path: Path) -> None:
    page.goto(server("replay", unfinished(tmp_path), *QUICK, "--tables", "1")[1])
    page.get_by_text("Look inside").click()
    page.get_by_role("button", name="First move").click()
    page.get_by_text("Move 0 of").wait_for()
    page.get_by_role("button", name="Seat 0").click()
    page.get_by_text("1 table is open").wait_for()
    page.get_by_role("button", name="One move on").click()
    expect(page.locator("#steps span")).to_have_text("Move 1 of 2", timeout=20_000)


def test_two_agents_are_watched(serve_page: Serve, page: Any, new_page: Callable[..., Any]) -> None:
    """From two windows; a table that changes does not undo unfinished input."""
    other = new_page()
    address = serve_page("goofspiel", "--agents", "random,random", "--pace", "20")  # not over before both are open
    for each in (page, other):
        each.goto(address)
    pace = page.get_by_label("Seconds a move")
    pace.fill("0")
    other.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").wait_for()
    expect(pace).to_have_value("0")
    at = page.locator("#steps span").inner_text()
    pace.press("Tab")
    page.wait_for_timeout(700)
    assert abs(_ply(page.locator("#steps span").inner_text()) - _ply(at)) <= 1
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("The game has ended.").wait_for()
    expect(page.locator("#steps span")).to_have_text("Move 10 of 10")


def _ply(text: str) -> int:
    found = re.search(r"of (\d+)", text)
    assert found is not None
    return int(found[1])


def test_the_slider_is_dragged_through_a_game(serve_page: Serve, page: Any) -> None:
    """Over far more positions than messages are allowed; the one at which it rests is shown."""
    page.goto(serve_page("goofspiel", "--agents", "random,random", "--pace", "0"))
    page.get_by_text("The game has ended.").wait_for()
    slider = page.get_by_role("slider")
    box = slider.bounding_box()
    left, right, middle = box["x"] + 9, box["x"] + box["width"] - 9, box["y"] + box["height"] / 2
    page.mouse.move(right, middle)
    page.mouse.down()
    page.mouse.move(left, middle, steps=20)
    expect(slider).to_have_value("0")
    slider.evaluate(
        """slider => {
            for (let i = 0; i < 800; i += 1) {
                slider.value = i % 10;
                slider.dispatchEvent(new Event('input'));
            }
        }"""
    )
    page.mouse.move((left + right) / 2, middle, steps=20)
    page.mouse.up()
    rest = slider.input_value()
    assert 4 <= int(rest) <= 6
    expect(page.locator("#steps span")).to_have_text(f"Move {rest} of 10")
    expect(page.locator("#events .now")).to_have_attribute("data-ply", rest)
    expect(page.locator("#problem")).to_be_hidden()
