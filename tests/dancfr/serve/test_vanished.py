"""Clients who vanish without closing their connection, which the servers notice though nothing is sent to them."""

import asyncio
import socket

import pytest

from dancfr.serve.guandan.hosted_table import TableRules
from dancfr.serve.guandan.server import ServerSettings, run_server
from tests.dancfr.serve.browser.pages import TOKEN, Pages, with_pages
from tests.dancfr.serve.floods import frame, upgrade
from tests.dancfr.serve.geister.sockets import User, serving
from tests.dancfr.serve.guandan.servers import ROUND, USERS
from tests.dancfr.serve.in_process import serve_while

_TCP_REPAIR = 19
NOTICE_S = 20.0


class Mortal:
    """A client of a server in this process."""

    def __init__(self, port: int, first: bytes) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.sendall(first)

    def vanish(self) -> None:
        """Forgets the connection, about which the other end learns nothing."""
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
        except OSError:
            pytest.skip("only root can take a connection from the system")
        self._socket.close()


def test_a_page_that_vanishes_leaves_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.serve.browser.server._SILENT_S", 0.5)

    async def use(pages: Pages) -> None:
        new = frame(1, b'{"type":"new","agents":[null,"random"]}')
        client = Mortal(int(pages.address.split(":")[2]), upgrade(f"/play?token={TOKEN}") + new)
        while not pages.room._tables or pages.room._tables[0].empty:
            await asyncio.sleep(0.01)
        client.vanish()
        async with asyncio.timeout(NOTICE_S):
            while not pages.room._tables[0].empty:
                await asyncio.sleep(0.05)

    with_pages(use)


def test_a_user_of_guandan_who_vanishes_frees_the_seat(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dancfr.serve.guandan.server.SILENT_S", 0.5)

    async def use(url: str, stop: asyncio.Event) -> None:
        port = int(url.split(":")[2].split("/")[0])
        client = Mortal(port, upgrade("/game/first"))
        await asyncio.sleep(0.2)
        client.vanish()
        await asyncio.sleep(2.0)
        others = [Mortal(port, upgrade(f"/game/{name}")) for name in "abcd"]
        async with asyncio.timeout(NOTICE_S):
            while "table 1: a, b, c, d" not in (err := capfd.readouterr().err):
                assert "first" not in err
                await asyncio.sleep(0.1)
        for other in others:
            other.vanish()

    settings, rules = ServerSettings(port=0), TableRules(ROUND)
    serve_while(use, lambda stop, tell: run_server(settings, rules, USERS, stop, tell), ends_by_itself=False)


def test_a_player_of_geister_who_vanishes_frees_the_seat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.serve.network.SILENT_S", 1)

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        client = Mortal(ports[0], b"SET:ABCD\r\n")
        await asyncio.sleep(0.2)
        client.vanish()
        async with asyncio.timeout(NOTICE_S):
            while await (user := await User.come(ports[0])).hear() is None:
                await user.go()
                await asyncio.sleep(0.1)

    serving(use)
