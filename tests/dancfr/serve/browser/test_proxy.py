"""The page behind a reverse proxy, and over connections that break, in a real browser."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.dancfr.serve.browser.proxies import PREFIX, Proxy, free_port
from tests.dancfr.serve.processes import Processes

expect = pytest.importorskip("playwright.sync_api").expect

DOCUMENT = Path(__file__).parents[4] / "docs/how-to/play.md"


@pytest.fixture
def serve(processes: Processes) -> Callable[..., tuple[str, str]]:
    """Starts `dancfr play`, and returns where it listens and the address that it prints."""

    def start(*arguments: str) -> tuple[str, str]:
        options = ("--agent", "random", "--pace", "0", "--seed", "0", "--no-open", "--records", "none")
        process = processes.start("play", "leduc", *options, *arguments)
        public = "--public-url" in arguments
        here = process.wait_for(r"listening on (http://\S+),")[1] if public else ""
        address = process.wait_for(r"the page: (http://\S+)")[1]
        return here or address.partition("/?")[0], address

    return start


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[Callable[[int, int], None]]:
    """Starts nginx with the example of the document, whose ports and path are replaced."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("no nginx: apt-get install nginx-light")
    with ExitStack() as stack:

        def start(port: int, target: int) -> None:
            example = re.search(r"```nginx\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
            assert example is not None
            location = example[1].replace("/geister/", f"{PREFIX}/").replace("127.0.0.1:8000", f"127.0.0.1:{target}")
            assert str(target) in location
            places = "".join(
                f"{name}_temp_path {tmp_path}/{name};\n"
                for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
            )
            (tmp_path / "nginx.conf").write_text(
                f"pid {tmp_path}/pid;\ndaemon off;\nmaster_process off;\nevents {{}}\n"
                f"http {{\naccess_log off;\n{places}server {{\nlisten 127.0.0.1:{port};\n{location}\n}}\n}}\n"
            )
            command = [program, "-e", f"{tmp_path}/errors", "-p", str(tmp_path), "-c", f"{tmp_path}/nginx.conf"]
            running = stack.enter_context(subprocess.Popen(command))
            stack.callback(running.terminate)

        yield start


def play_a_move(page: Any) -> None:
    page.locator(".general-choices button").first.click()
    expect(page.locator("#steps span")).to_have_text(re.compile("Move [1-9]"))


def check_page(page: Any, address: str, below: str, other: Any) -> None:
    """A page that was opened by this address works, as do its links, which begin as it does."""
    page.goto(address)
    play_a_move(page)
    page.get_by_label("is played by").nth(1).select_option(label="a person")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="Give up and begin").click()
    link = page.get_by_role("link", name="Link for Player 1").get_attribute("href")
    assert link.startswith(f"{below}/?token=")
    other.goto(link)
    other.get_by_text("is to move").wait_for()
    page.locator(".general-choices button").first.click()
    other.get_by_text("Your move.").wait_for()
    page.reload()
    page.get_by_text("is to move").wait_for()


@pytest.mark.parametrize(("strips", "tells"), [(True, ""), (False, ""), (True, "Host")])
def test_the_page_behind_a_proxy_with_a_public_url(
    serve: Any, new_page: Callable[..., Any], strips: bool, tells: str
) -> None:
    with Proxy(strips, tells) as proxy:
        proxy.target, address = serve("--port", "0", "--public-url", f"{proxy.address}/")
        assert address.startswith(f"{proxy.address}/?token=")
        check_page(new_page(), address, proxy.address, new_page())


def test_the_page_behind_nginx_as_documented(serve: Any, nginx: Any, new_page: Callable[..., Any]) -> None:
    port = free_port()
    public = f"http://127.0.0.1:{port}{PREFIX}"
    here, address = serve("--port", "0", "--public-url", public)
    nginx(port, int(here.rpartition(":")[2]))
    check_page(new_page(), address, public, new_page())


def test_the_page_behind_a_proxy_that_names_its_host(serve: Any, new_page: Callable[..., Any]) -> None:
    with Proxy(tells="X-Forwarded-Host") as proxy:
        proxy.target, address = serve("--port", "0")
        check_page(new_page(), address.replace(proxy.target, proxy.address), proxy.address, new_page())


def test_the_page_behind_an_unknown_proxy_says_what_to_do(serve: Any, page: Any) -> None:
    with Proxy() as proxy:
        proxy.target, address = serve("--port", "0")
        page.goto(address.replace(proxy.target, proxy.address))
        page.get_by_text("start it with --public-url and the address of the page").wait_for()


def see_again(page: Any) -> None:
    """Simulates a browser whose phone is taken out of a pocket; headless, it never hides a page by itself."""
    page.evaluate(
        """() => ['hidden', 'visible'].forEach((state) => {
            Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
        })"""
    )


def come_back_from_the_history(page: Any) -> None:
    page.evaluate("() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")


def be_online_again(page: Any) -> None:
    page.context.set_offline(True)
    page.context.set_offline(False)


def try_by_hand(page: Any) -> None:
    page.get_by_role("button", name="Try again").click()


def test_the_page_comes_back_after_a_long_loss(serve: Any, page: Any) -> None:
    """After a minute it stops trying; each of these makes it try again, and the game continues."""
    with Proxy() as proxy:
        proxy.target, address = serve("--port", "0", "--public-url", proxy.address)
        page.clock.install()
        page.goto(address)
        play_a_move(page)
        for wake in (see_again, come_back_from_the_history, be_online_again, try_by_hand):
            before = page.locator("#steps span").inner_text()
            proxy.cut()
            page.get_by_text("The connection is lost").wait_for()
            retry = page.get_by_role("button", name="Try again")
            for _ in range(40):
                page.clock.run_for(6000)
                page.wait_for_timeout(50)
                if retry.is_visible():
                    break
            expect(page.locator("#problem")).to_contain_text("The server does not answer")
            proxy.restore()
            page.clock.run_for(600_000)
            expect(retry).to_be_visible()
            wake(page)
            expect(page.locator("#problem")).to_be_hidden()
            expect(page.locator("#steps span")).to_have_text(before)
        play_a_move(page)


def test_the_page_notices_that_its_connection_is_dead(serve: Any, page: Any) -> None:
    """A phone that slept may take a connection for open of which the network knows nothing any more."""
    with Proxy() as proxy:
        proxy.target, address = serve("--port", "0", "--public-url", proxy.address)
        page.clock.install()
        page.goto(address)
        play_a_move(page)
        see_again(page)
        page.clock.run_for(20_000)
        expect(page.locator("#problem")).to_be_hidden()
        proxy.mute()
        before = page.locator("#steps span").inner_text()
        with page.expect_websocket() as opened:
            see_again(page)
            page.clock.run_for(20_000)
        opened.value.wait_for_event("framereceived")
        expect(page.locator("#problem")).to_be_hidden()
        page.locator(".general-choices button").first.click()
        expect(page.locator("#steps span")).not_to_have_text(before)
