"""The frame of the page in a real browser: general games, history, lost connections, looking inside, replays."""

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dancfr.runs.recorded_games import read_record
from tests.dancfr.serve.processes import Process, Processes

expect = pytest.importorskip("playwright.sync_api").expect

Serve = Callable[..., str]

QUICK = ("--pace", "0.05")

ENDED = r"You have (won|lost)\.|A draw\."

ASKED_OR_OVER = """() => document.querySelector('.general-choices button')
    || /won|lost|draw|ended/i.test(document.querySelector('#status').textContent)"""
MOVED = "text => document.querySelector('#steps span').textContent !== text"
SECOND_MOVE = "() => /Move 2 of 2/.test(document.querySelector('#steps').textContent)"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., tuple[Process, str]]]:
    """Starts a server of its own for a test; it records its games in `tmp_path`."""
    processes = Processes()

    def start(*arguments: str) -> tuple[Process, str]:
        more = () if arguments[0] == "replay" else ("--records", str(tmp_path), "--seed", "0")
        process = processes.start(*arguments, *more, "--no-open", "--port", "0")
        return process, process.wait_for(r"the page: (http://\S+)")[1]

    yield start
    for process in processes:
        process.stop()


def play_on(page: Any, most: int = 40) -> None:
    """Clicks the first choice until the game has ended."""
    for _ in range(most):
        page.wait_for_function(ASKED_OR_OVER)
        button = page.locator(".general-choices button").first
        if not button.count():
            return
        before = page.locator("#steps span").inner_text()
        button.click()
        page.wait_for_function(MOVED, arg=before)
    raise AssertionError("the game has not ended")


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
