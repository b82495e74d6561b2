"""GuanDan's page in a browser: rounds by clicks and by keyboard, readings of wild cards, tributes, sizes and names."""

import re
from collections.abc import Callable
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api").expect

GREEDY = ("guandan", "--agent", "greedy", "--pace", "0", "--option", "situation=first")
MATCH = ("guandan", "--agent", "greedy", "--pace", "0", "--option", "length=match", "--option", "situation=first")
DRAWN = ("guandan", "--agent", "greedy", "--pace", "0", "--seed", "3")

LEADING = """async ([hand, choices, beat]) => {
    const { texts } = await import("./game/guandan_texts.js"), module = await import("./game/guandan.js");
    const board = document.getElementById("board");
    window.played = [];
    const filled = (words, values) => words.replace(/\\{(\\w+)\\}/g, (all, name) => values[name] ?? all);
    const api = { t: (key, values = {}) => filled(texts.en[key] ?? key, values), name: (player) => `P${player}`,
        play: (choice) => window.played.push(choice), say() {}, lang: () => "en" };
    const seat = (hand) => ({ hand, left: 5, place: null });
    window.shown = module.mount(board, api);
    window.shown.show({ scene: { seats: [seat(hand), seat(null), seat(null), seat(null)], round: 1, level: "2",
        wild: "H2", levels: ["2", "2"], phase: "play", match: false, beat, former: null, refused: false, tributes: [] },
        you: 0, mover: 0, choices, over: false, events: [], live: true, ply: 0 });
}"""
"""Shows a position made by hand, without a server behind it."""


def show_nothing(page: Any, address: str) -> None:
    """Opens the page without its main script, which would draw the server's table."""
    page.route("**/main.js", lambda route: route.abort())
    page.goto(address)


def opened(page: Any, address: str) -> Any:
    page.goto(address)
    page.wait_for_selector(".guandan-card")
    return page


def status(page: Any) -> str:
    return str(page.inner_text("#status"))


def action(page: Any, name: str) -> Any:
    return page.locator(".guandan-actions button", has_text=name)


def enabled(button: Any) -> bool:
    return str(button.get_attribute("aria-disabled")) == "false"


def await_turn(page: Any) -> bool:
    """Waits for the user's turn; returns whether there is one before the game ends."""
    page.wait_for_function("() => /^(Your move|You have|A draw)/.test(document.getElementById('status').innerText)")
    return status(page) == "Your move."


def plies(page: Any) -> str:
    return str(page.inner_text("#steps .quiet"))


def moved(page: Any, before: str) -> None:
    page.wait_for_function("before => document.querySelector('#steps .quiet').innerText !== before", arg=before)


def play_suggested(page: Any) -> None:
    """Plays the page's suggestion, or passes."""
    before = plies(page)
    if enabled(action(page, "Suggest")):
        action(page, "Suggest").click()
        first = page.locator(".guandan-actions button").first
        assert first.inner_text() in ("Play", "Give")  # the latter during tributes
        first.click()
        readings = page.get_by_role("group", name="What do you play?").get_by_role("button")
        if readings.count():
            readings.first.click()
    else:
        action(page, "Pass").click()
    moved(page, before)


def press_suggested(page: Any) -> None:
    """Plays the page's suggestion, or passes, by the keys of the hand, which has the focus."""
    before = plies(page)
    page.keyboard.press("h")
    page.keyboard.press("Enter" if page.locator(".guandan-card[aria-pressed='true']").count() else "p")
    if page.locator(".guandan-readings button").count():
        page.keyboard.press("Enter")
    moved(page, before)


def test_a_round_by_clicks(page: Any, serve_page: Callable[..., str]) -> None:
    opened(page, serve_page(*GREEDY))
    while await_turn(page):
        play_suggested(page)
    expect(page.get_by_role("heading", name="Round 1 is over")).to_be_visible()
    order = page.inner_text(".guandan-result p >> nth=0")
    assert re.search(r"first: .+, second: .+, third: .+, last: .+", order)
    left = page.locator(".guandan-seat").all()
    hands = page.locator(".guandan-all").all()
    assert 1 <= len(hands) <= 2  # of those who have cards left, open now
    assert sum("finishes" in seat.inner_text() for seat in left) == 4


def test_playing_by_keyboard_keeps_the_focus(page: Any, serve_page: Callable[..., str]) -> None:
    opened(page, serve_page(*GREEDY))
    assert await_turn(page)
    page.locator(".guandan-card[tabindex='0']").focus()
    names = [card.get_attribute("aria-label") for card in page.locator(".guandan-card").all()]
    focused = "document.activeElement.getAttribute('aria-label')"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == names[1]
    page.keyboard.press("End")
    assert page.evaluate(focused) == names[-1]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.ariaPressed") == "true"
    page.keyboard.press("Escape")
    assert page.locator(".guandan-card[aria-pressed='true']").count() == 0
    for _ in range(5):
        if not await_turn(page):
            break
        assert page.evaluate("document.activeElement.closest('.guandan-hand') !== null")
        press_suggested(page)


def test_cards_are_selected_by_dragging(page: Any, serve_page: Callable[..., str]) -> None:
    opened(page, serve_page(*GREEDY))
    await_turn(page)
    boxes = [card.bounding_box() for card in page.locator(".guandan-card").all()[:4]]
    at = [(box["x"] + 8, box["y"] + box["height"] / 2) for box in boxes]
    page.mouse.move(*at[0])
    page.mouse.down()
    for place in at[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    assert page.locator(".guandan-card[aria-pressed='true']").count() == 4
    action(page, "Clear").click()
    assert page.locator(".guandan-card[aria-pressed='true']").count() == 0
    page.locator(".guandan-card").first.click(position={"x": 8, "y": 30})
    assert page.locator(".guandan-card[aria-pressed='true']").count() == 1


def test_readings_of_wild_cards_are_offered(page: Any, serve_page: Callable[..., str]) -> None:
    """S3 S4 S5 with two wild cards is a straight or a straight flush from the ace, the 2 or the 3."""
    show_nothing(page, serve_page(*GREEDY))
    words = [f"{kind}{rank}AAFJN" for kind in "hi" for rank in "A23"] + ["b3F"]
    page.evaluate(LEADING, [["S3", "S4", "S5", "H2", "H2"], words, None])
    for name in ("Spade 3", "Spade 4", "Spade 5"):
        page.get_by_role("button", name=name, exact=True).click(position={"x": 8, "y": 30})
    for card in page.get_by_role("button", name="Heart 2, wild").all():
        card.click(position={"x": 8, "y": 30})
    readings = page.get_by_role("group", name="What do you play?").get_by_role("button")
    assert [button.inner_text().replace("\N{EN DASH}", "-") for button in readings.all()] == [
        "straight A-5 (★ = A 2)",
        "straight 2-6 (★ = 2 6)",
        "straight 3-7 (★ = 6 7)",
        "straight flush A-5 (★ = ♠A ♠2)",
        "straight flush 2-6 (★ = ♠2 ♠6)",
        "straight flush 3-7 (★ = ♠6 ♠7)",
    ]
    page.locator(".guandan-card").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("window.played") == [1]


def test_the_hand_is_sorted_by_rank_or_by_combination(page: Any, serve_page: Callable[..., str]) -> None:
    show_nothing(page, serve_page(*GREEDY))
    hand = ["S3", "S4", "S5", "S6", "S7", "D4", "H9", "S9", "C9", "D9", "H2", "S2", "SB", "HK", "DK"]
    page.evaluate(LEADING, [hand, ["b3F"], None])

    def shown() -> list[str]:
        return [re.sub(r"\d$", "", card.get_attribute("data-id")) for card in page.locator(".guandan-card").all()]

    assert shown() == ["SB", "H2", "S2", "HK", "DK", "S9", "H9", "C9", "D9", "S7", "S6", "S5", "S4", "D4", "S3"]
    page.get_by_role("button", name="Sort by combination").click()
    assert shown() == ["S7", "S6", "S5", "S4", "S3", "S9", "H9", "C9", "D9", "H2", "HK", "DK", "SB", "S2", "D4"]
    page.get_by_role("button", name="Sort by rank").click()
    assert shown()[0] == "SB"


def test_a_match_tells_each_round_and_its_tributes(page: Any, serve_page: Callable[..., str]) -> None:
    opened(page, serve_page(*MATCH))
    for _ in range(200):  # more than a round can have
        if not await_turn(page) or page.locator(".guandan-result").is_visible():
            break
        page.locator(".guandan-card[tabindex='0']").focus()
        press_suggested(page)
    expect(page.get_by_role("heading", name="Round 1 is over")).to_be_visible()
    expect(page.get_by_text("Round 2", exact=True)).to_be_visible()
    assert re.search(r"(We|They) go up by [123]\.", page.inner_text(".guandan-result"))
    news = page.inner_text(".guandan-news")
    assert "Last round:" in news
    assert re.search(r"ribute", news)
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".guandan-result")).to_be_hidden()
    assert len(page.locator(".guandan-card").all()) >= 26


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_control_has_a_name_on_a_phone(page: Any, serve_page: Callable[..., str], scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 740})
    opened(page, serve_page(*DRAWN))
    await_turn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for control in page.locator("#board button, #board [role]").all():
        if control.is_visible():
            name = control.get_attribute("aria-label") or control.inner_text()
            assert name or control.get_attribute("role") == "status"
    names = [card.get_attribute("aria-label") for card in page.locator(".guandan-card").all()]
    cards = r"((Spade|Heart|Club|Diamond) (\d+|[JQKA])(, wild|, level)?|(Black|Red) joker)"
    assert all(re.fullmatch(cards, name) for name in names)
    assert len(names) in (26, 27, 28)
    assert sum(card.get_attribute("tabindex") == "0" for card in page.locator(".guandan-card").all()) == 1


def test_agents_are_watched_with_open_hands(page: Any, serve_page: Callable[..., str]) -> None:
    page.goto(serve_page("guandan", "--agents", "greedy,greedy,greedy,greedy", "--pace", "1"))
    page.wait_for_function("() => document.querySelector('.guandan-all') !== null")
    assert page.locator(".guandan-all").count() >= 2
    assert page.locator(".guandan-card").count() == 0
    page.wait_for_function("() => document.querySelectorAll('#events li').length > 5")
    page.get_by_role("button", name="First move").click()
    page.wait_for_function("() => document.querySelectorAll('.guandan-all').length === 4")


def test_texts_are_there_in_every_language(page: Any, serve_page: Callable[..., str]) -> None:
    page.goto(serve_page(*GREEDY))
    keys = page.evaluate(
        """async () => {
            const { texts } = await import("./game/guandan_texts.js");
            const holes = (words) => (words.match(/{\\w+}/g) ?? []).sort().join();
            const keys = (table) => Object.entries(table).map(([key, words]) => `${key} ${holes(words)}`);
            return Object.values(texts).map(keys);
        }"""
    )
    assert len(keys) == 3
    assert sorted(keys[0]) == sorted(keys[1]) == sorted(keys[2])
