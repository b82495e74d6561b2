"""Clicks through games on the page: conditions to wait for, and a game that is played to its end."""

from typing import Any

QUICK = ("--pace", "0.05")

ENDED = r"You have (won|lost)\.|A draw\."

ASKED_OR_OVER = """() => document.querySelector('.general-choices button')
    || /won|lost|draw|ended/i.test(document.querySelector('#status').textContent)"""
MOVED = "text => document.querySelector('#steps span').textContent !== text"
SECOND_MOVE = "() => /Move 2 of 2/.test(document.querySelector('#steps').textContent)"


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
