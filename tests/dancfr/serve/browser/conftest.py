"""The page of `dancfr play` in a real browser: the system's Chromium, driven by Playwright, and real servers."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.dancfr.serve.processes import Processes

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
WAIT_MS = 60_000
"""Longest time that a page may take to show something: the kernels of a game may have to be compiled first."""


@pytest.fixture(scope="module")
def serve_page() -> Iterator[Callable[..., str]]:
    """Starts `dancfr play` with the arguments given, and returns the address of its page.

    A module has one server for each list of arguments; each page that opens the address gets a table of its own.
    """
    processes, addresses = Processes(), {}

    def serve(*arguments: str) -> str:
        if arguments not in addresses:
            seed = () if "--seed" in arguments else ("--seed", "0")
            process = processes.start("play", *arguments, *seed, "--no-open", "--port", "0", "--records", "none")
            addresses[arguments] = process.wait_for(r"the page: (http://\S+)")[1]
        return addresses[arguments]

    yield serve
    for process in processes:
        process.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The browser of a module, not of the session: while Playwright runs, no other test could run an event loop."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found = None
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium, pip install playwright")
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium refuses its sandbox to root
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=[*sandbox, "--disable-dev-shm-usage"])
        yield running
        running.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A window of its own, in English; a test fails if any script of its page did."""
    context = browser.new_context(viewport={"width": 1000, "height": 800}, locale="en-US")
    context.set_default_timeout(WAIT_MS)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert not errors
