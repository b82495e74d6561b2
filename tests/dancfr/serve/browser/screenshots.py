"""Makes the pictures of README.md and docs/how-to/play.md: `python -m tests.dancfr.serve.browser.screenshots`."""

import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.dancfr.serve.browser.conftest import CHROMIUM
from tests.dancfr.serve.processes import Processes

IMAGES = Path(__file__).parents[4] / "docs" / "images"


def choose_and_move(page: Page, moves: int) -> None:
    """Chooses the colours of Geister and makes some moves."""
    cells = page.locator(".geister-cell.movable")
    for ghost in (0, 3, 5, 6):
        cells.nth(ghost).click()
    page.click("[data-control=confirm]")
    for _ in range(moves):
        page.locator(".geister-cell.movable").first.wait_for()
        before = page.inner_text("#steps span")
        page.locator(".geister-cell.movable").first.click()
        page.locator(".geister-cell.target").first.click()
        page.wait_for_function("text => document.querySelector('#steps span').textContent !== text", arg=before)
    page.locator(".geister-cell.movable").first.wait_for()
    page.locator(".geister-cell.movable").first.click()


def geister(page: Page) -> None:
    page.locator(".geister-cell.movable").first.wait_for()
    choose_and_move(page, 5)
    page.locator("#study .bar").first.wait_for()


def guandan(page: Page) -> None:
    page.wait_for_function("() => document.querySelector('#status').textContent.includes('Your move')", timeout=120_000)
    page.get_by_role("button", name="Suggest").click()


PICTURES: tuple[tuple[str, tuple[str, ...], tuple[int, int], Any], ...] = (
    ("play-geister", ("geister", "--study"), (1100, 760), geister),
    ("play-guandan", ("guandan", "--agents", "-,pretrained:guandan,planner,pretrained:guandan"), (1100, 760), guandan),
)


def main() -> None:
    """Writes all pictures."""
    processes = Processes()
    found = next(filter(None, map(shutil.which, CHROMIUM)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for name, command, (width, height), prepare in PICTURES:
            process = processes.start(
                "play", *command, "--no-open", "--port", "0", "--records", "none", "--pace", "0", "--seed", "4"
            )
            page = browser.new_page(viewport={"width": width, "height": height}, locale="en-US")
            page.set_default_timeout(60_000)
            page.goto(process.wait_for(r"the page: (http://\S+)")[1])
            prepare(page)
            page.mouse.move(0, 0)
            page.evaluate("() => window.scrollTo(0, 0)")
            page.wait_for_timeout(500)
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()
            process.stop()
        browser.close()


if __name__ == "__main__":
    main()
