"""Cheat in a real browser: whole games by mouse and by keyboard, discards of several cards, and a table of six."""

import re
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api").expect

ENDED = re.compile("You have won|You have lost|A draw")
AGENTS = ("--agent", "heuristic", "--pace", "0")
FACES = ["A", *map(str, range(2, 11)), "J", "Q", "K"]


def opened(page: Any, address: str) -> Any:
    page.goto(address)
    page.wait_for_selector(".cheat-hand")
    return page


def wait_for_turn(page: Any) -> str | None:
    """Waits until the user is to move; returns the kind of decision, None once the game has ended."""
    page.wait_for_function(
        "() => document.querySelector('[data-focus=pass], [data-focus=lay]')"
        " || /won|lost|draw/.test(document.querySelector('#status').innerText)"
    )
    if ENDED.search(page.inner_text("#status")):
        return None
    return "answer" if page.locator("[data-focus=pass]").count() else "lay"


def moves(page: Any) -> int:
    return int(page.locator("#events li").count())


def wait_for_move(page: Any, before: int) -> None:
    page.wait_for_function("n => document.querySelectorAll('#events li').length > n", arg=before)


def lay(page: Any, words: str) -> None:
    """Lays the chosen cards, and waits for the end of a discard whose cards are picked one by one."""
    laid = page.locator("#events li", has_text="You: ").filter(has_text="”, lays")
    before = laid.count()
    page.click("[data-focus=lay]")
    expect(laid).to_have_count(before + 1)
    expect(laid.last).to_contain_text(f"You: “{words}”, lays")


def faces(page: Any) -> list[str]:
    """The faces of the user's hand, from the left."""
    names = page.eval_on_selector_all(".cheat-card", "cards => cards.map(e => e.getAttribute('aria-label'))")
    return [name.split(",")[0] for name in names]


def current(page: Any) -> str:
    return str(page.inner_text(".cheat-ranks [aria-current=step]"))


def test_a_game_by_mouse(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("cheat", "--option", "health=2", *AGENTS))
    expect(page.get_by_role("img", name="2 of 2 health points")).to_have_count(2)
    for _ in range(60):
        to_do, before = wait_for_turn(page), moves(page)
        if to_do is None:
            break
        if to_do == "answer":
            page.click("[data-focus=challenge]")
            wait_for_move(page, before)
            page.wait_for_selector(".cheat-shown .card")
            continue
        hand, rank = faces(page), current(page)
        true = [i for i, each in enumerate(hand) if each == rank][:4]
        for i in true or [0]:
            page.click(f".cheat-card >> nth={i}")
        expect(page.locator(".cheat-card[aria-pressed=true]")).to_have_count(len(true or [0]))
        expect(page.locator(".cheat-controls .quiet")).to_have_text("True." if true else "A lie.")
        lay(page, f"{len(true or [0])} \N{MULTIPLICATION SIGN} {rank}")
    assert ENDED.search(page.inner_text("#status"))
    expect(page.locator(".cheat-open")).to_have_count(1)  # the other hand is open now


def test_several_cards_are_laid_at_once(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("cheat", *AGENTS))
    while wait_for_turn(page) == "answer":
        page.click("[data-focus=pass]")
    hand, rank = faces(page), current(page)
    picked = [len(hand) - 1, 0, 7, 5]
    for i in picked:
        page.click(f".cheat-card >> nth={i}")
    page.locator(".cheat-card >> nth=9").click(force=True)  # a fifth card is too many
    assert page.locator(".cheat-card[aria-pressed=true]").count() == 4
    page.click(f"text=Lay 4 as {rank}")
    laid = sorted((hand[i] for i in picked), key=FACES.index)
    page.wait_for_selector(f"#events >> text=You: “4 \N{MULTIPLICATION SIGN} {rank}”, lays {' '.join(laid)}")
    assert page.locator("#problem").is_hidden()


def test_a_game_by_keyboard_alone(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("mini-cheat", "--option", "health=2", *AGENTS))

    def focused() -> str:
        return str(page.evaluate("() => document.activeElement.dataset.focus ?? ''"))

    def tab_to(pattern: str) -> None:
        for _ in range(40):
            if re.fullmatch(pattern, focused()):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"the Tab key does not lead to {pattern}")

    for turn in range(60):
        to_do, before = wait_for_turn(page), moves(page)
        if to_do is None:
            break
        if turn:  # the focus has stayed in the game, or has gone to what can be decided
            assert page.evaluate("() => document.querySelector('#board').contains(document.activeElement)")
        if to_do == "answer":
            tab_to("challenge")
        else:
            hand, rank = faces(page), current(page)
            tab_to(r"\d+-\d+")
            page.keyboard.press("Home")
            for _ in range(hand.index(rank) if rank in hand else 0):
                page.keyboard.press("ArrowRight")
            page.keyboard.press("Enter")
            assert page.locator(".cheat-card[aria-pressed=true]").count() == 1
            page.keyboard.press("Shift+Tab")
            assert focused() == "lay"
        page.keyboard.press("Enter")
        wait_for_move(page, before)
    assert ENDED.search(page.inner_text("#status"))


def test_a_page_opened_again_goes_on_with_a_discard_that_was_begun(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("cheat", *AGENTS))
    while wait_for_turn(page) == "answer":
        page.click("[data-focus=pass]")
    # The connection ends after the first card of two has been picked.
    page.evaluate(
        """() => {
            const send = WebSocket.prototype.send;
            let moves = 0;
            WebSocket.prototype.send = function (text) {
                if (!text.includes('"move"') || moves++ === 0) send.call(this, text);
            };
        }"""
    )
    hand, rank = faces(page), current(page)
    page.click(".cheat-card >> nth=0")
    page.click(".cheat-card >> nth=1")
    page.click("[data-focus=lay]")
    page.wait_for_selector("text=already picked")
    page.reload()
    page.wait_for_selector("text=already picked")
    assert len(faces(page)) == len(hand) - 1
    page.click(f"text=Lay 1 as {rank}")
    page.wait_for_selector(f"#events >> text=You: “1 \N{MULTIPLICATION SIGN} {rank}”, lays")


def test_a_table_of_six_on_a_phone(serve_page: Any, page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    opened(page, serve_page("cheat", "--option", "players=6", *AGENTS))
    assert page.locator(".cheat-players > li").count() == 6
    for language in ("ja", "zh", "en"):
        page.select_option("#language", language)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        nameless = "e => !(e.getAttribute('aria-label') || e.innerText || e.labels?.length)"
        controls = "button, select, input, svg[role=img]:not([aria-hidden])"
        assert page.evaluate(f"() => [...document.querySelectorAll('{controls}')].filter({nameless}).length") == 0
    for _ in range(40):
        to_do, before = wait_for_turn(page), moves(page)
        if to_do is None or page.locator(".cheat-shown").count():
            break
        if to_do == "lay":
            page.click(".cheat-card >> nth=0")
            lay(page, f"1 \N{MULTIPLICATION SIGN} {current(page)}")
        else:
            page.click("[data-focus=challenge]")
            wait_for_move(page, before)
    page.wait_for_selector(".cheat-shown .card")


def test_every_text_is_in_every_language(serve_page: Any, page: Any) -> None:
    opened(page, serve_page("cheat", *AGENTS))
    texts = page.evaluate("async () => (await import('/game/cheat-texts.js')).texts")
    assert set(texts) == {"en", "ja", "zh"}
    assert all(set(each) == set(texts["en"]) for each in texts.values())


def test_a_last_discard_leaves_only_the_challenge(serve_page: Any, page: Any) -> None:
    """With one card each, the agent's first discard is its last one."""
    options = ("--option", "dealt=1", "--option", "challenge_last=true")
    opened(page, serve_page("mini-cheat", *options, *AGENTS))
    page.wait_for_function("() => document.querySelector('[data-focus=challenge], .cheat-card[tabindex=\"0\"]')")
    while page.locator("[data-focus=challenge]").count() == 0:
        page.click(".cheat-card")
        page.click("[data-focus=lay]")
        page.wait_for_function("() => document.querySelector('[data-focus=challenge]')")
    assert page.locator("[data-focus=pass]").count() == 0
    before = moves(page)
    page.click("[data-focus=challenge]")
    wait_for_move(page, before)
