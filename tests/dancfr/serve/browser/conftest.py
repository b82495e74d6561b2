"""The page of `dancfr play` in a real browser: the system's Chromium, driven by Playwright, and real servers."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dancfr.serve.processes import Process, Processes

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
WAIT_MS = 180_000
"""Longest time that a page may take to show something: the kernels of a game may have to be compiled first."""

TEST_S = 900
"""Longest time of a test with a page, beside other work on the machine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(TEST_S))


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The browser of a module, not of the session: while Playwright runs, no other test could run an event loop."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    try:
        from playwright.sync_api import expect, sync_playwright
    except ImportError:
        found = None
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium, pip install playwright")
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium refuses its sandbox to root
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=[*sandbox, "--disable-dev-shm-usage"])
        yield running
        running.close()


@pytest.fixture
def new_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens windows of their own, in English; a test fails if any script of their pages did."""
    contexts: list[Any] = []
    errors: list[str] = []

    def open_page(**options: Any) -> Any:
        usual = {"viewport": {"width": 1000, "height": 800}, "locale": "en-US"}
        contexts.append(browser.new_context(**usual | options))
        contexts[-1].set_default_timeout(WAIT_MS)
        opened = contexts[-1].new_page()
        opened.on("pageerror", lambda error: errors.append(str(error)))
        return opened

    yield open_page
    for context in contexts:
        context.close()
    assert not errors


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    return new_page()
