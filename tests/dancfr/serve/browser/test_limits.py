"""Pages that send nonsense, flood, or read nothing, and how many there may be."""

import asyncio
import time
from typing import Any

import aiohttp
import pytest

from dancfr.serve.browser.messages import MOST_BYTES
from tests.dancfr.serve.browser.pages import Client, Pages, randomly, with_pages

ODD = (
    "",
    "x",
    "[]",
    "{}",
    "null",
    "1e999",
    "[" * 4000,
    '{"type": "none"}',
    '{"type": ["new"]}',
    '{"type": "move"}',
    '{"type": "move", "ply": -1, "choice": 0}',
    '{"type": "move", "ply": 0, "choice": "0"}',
    '{"type": "new", "agents": 3}',
    '{"type": "pace", "seconds": NaN, "paused": true}',
    '{"type": "sit", "table": ""}',
    '{"type": "look", "ply": 0, "more": 1}',
    "\u0000\ufffd",
)


@pytest.mark.parametrize("text", ODD)
def test_odd_messages_are_answered_in_one_line(text: str) -> None:
    async def use(pages: Pages) -> None:
        client, _ = await pages.begin()
        await client.socket.send_str(text)
        answer = await client.next("error")
        assert "a message that this server does not know" in answer["text"]
        assert "\n" not in answer["text"]
        await client.send(type="look", ply=0)
        assert (await client.next("at"))["ply"] == 0  # the page is still served

    with_pages(use)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"type": "move", "ply": 0, "choice": 9}, "there are 2 choices"),
        ({"type": "move", "ply": 1, "choice": 0}, "it is not your turn"),
        ({"type": "look", "ply": 7}, "there are 0 moves"),
        ({"type": "branch", "ply": 0, "seat": 0}, "once the game has ended, or with --study"),
        ({"type": "sit", "table": "wrong"}, "begin a new game"),
        ({"type": "new", "agents": [None]}, "leduc has 2 seats, not 1"),
        ({"type": "new", "agents": [None, "runs/secret"]}, "none of the agents that were offered"),
        ({"type": "new", "agents": [None, "two\nlines"]}, r"'two\nlines' is none of the agents"),
    ],
)
def test_what_a_page_must_not_do_is_refused(message: dict[str, Any], words: str) -> None:
    async def use(pages: Pages) -> None:
        client, _ = await pages.begin()
        await client.send(**message)
        assert words in (await client.next("error"))["text"]

    with_pages(use)


def test_a_page_without_a_seat_cannot_move() -> None:
    async def use(pages: Pages) -> None:
        client = await pages.open()
        await client.send(type="move", ply=0, choice=0)
        assert (await client.next("error"))["text"] == "take a seat first"

    with_pages(use)


def test_a_flood_closes_the_page_and_no_other() -> None:
    async def flood(client: Client) -> str:
        with pytest.raises(ConnectionError) as closed:  # noqa: PT012
            for _ in range(400):
                await client.send(type="look", ply=0)
            for _ in range(400):
                await client.next()
        return str(closed.value)

    async def use(pages: Pages) -> None:
        (client, _), (other, table) = await pages.begin(), await pages.begin()
        assert "1008" in await flood(client)
        assert (await other.finish(randomly(1), table))["over"]

    with_pages(use, server={"rate": 5.0})


async def begin_and_read_nothing(pages: Pages) -> Any:
    """Returns the table of a page for which more waits than sockets buffer, but no more than may wait."""
    _client, _ = await pages.begin()
    (table,) = pages.room._tables
    (page,) = table._onlookers
    for _ in range(3):
        page.send({"type": "error", "text": 1_50_000 * "x"})
    return table


def test_a_page_that_reads_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.serve.websocket.SEND_S", 0.3)
    monkeypatch.setattr("dancfr.serve.websocket.CLOSE_S", 0.3)

    async def use(pages: Pages) -> None:
        table = await begin_and_read_nothing(pages)
        async with asyncio.timeout(40.0):  # the heartbeat would close it after 45 s
            while not table.empty:
                await asyncio.sleep(0.05)
        other, first = await pages.begin()
        assert (await other.finish(randomly(1), first))["over"]

    with_pages(use)


def test_a_page_that_reads_nothing_does_not_delay_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.serve.websocket.SEND_S", 100.0)  # far from what a busy machine may need

    async def use(pages: Pages) -> None:
        await begin_and_read_nothing(pages)
        await asyncio.sleep(0.3)
        stopped_at.append(time.monotonic())

    stopped_at: list[float] = []
    with_pages(use)
    assert time.monotonic() - stopped_at[0] < 40  # the heartbeat would close it after 45 s


def test_a_message_that_is_too_long_closes_the_page() -> None:
    async def use(pages: Pages) -> None:
        client = await pages.open()
        await client.socket.send_str('{"type": "sit", "table": "' + MOST_BYTES * "x" + '"}')
        with pytest.raises(ConnectionError, match="1009"):
            await client.next("table")

    with_pages(use)


def test_tables_and_pages_are_limited() -> None:
    async def use(pages: Pages) -> None:
        clients = [await pages.open() for _ in range(3)]
        for client in clients[:2]:
            await client.send(type="new", agents=[None, "random"])
            await client.turn()
        await clients[2].send(type="new", agents=[None, "random"])
        assert "2 tables are open" in (await clients[2].next("error"))["text"]
        with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
            await pages.open()
        await clients[0].finish(randomly(1), clients[0].received[-1])
        await clients[0].socket.close()
        while not any(table.empty for table in pages.room._tables):
            await asyncio.sleep(0.05)
        await clients[2].send(type="new", agents=[None, "random"])  # in place of the one that has ended
        assert (await clients[2].finish(randomly(1)))["over"]

    with_pages(use, tables=2, server={"pages": 3})


def test_a_page_that_begins_anew_needs_no_second_table() -> None:
    """Its own table makes way: one that has ended or is given up, but none at which another user plays."""

    async def use(pages: Pages) -> None:
        client, first = await pages.begin()
        last = await client.finish(randomly(1), first)
        await client.send(type="branch", ply=1, seat=0)
        branch = await client.turn()
        assert branch["table"] != last["table"]
        await client.send(type="move", ply=branch["ply"], choice=0)
        await client.turn()
        await client.send(type="new", agents=[None, None])  # in the middle of a game
        two = await client.turn()
        assert two["ply"] == 0
        await client.send(type="move", ply=0, choice=0)
        await client.next("table")
        await client.send(type="new", agents=[None, "random"])
        assert (await client.next("error"))["text"] == "1 table is open: close the page of another one first"
        await client.send(type="sit", table=two["table"])  # the game is still there
        assert (await client.next("table"))["ply"] == 1

    assert with_pages(use, tables=1)["tables"] == 3


def test_a_page_cannot_fill_the_room_by_itself() -> None:
    """Games that were only begun make way for new ones; a game in use does not."""

    async def use(pages: Pages) -> None:
        (player, table), client = await pages.begin(), await pages.open()
        await player.send(type="move", ply=table["ply"], choice=0)
        played = await player.turn()
        await player.socket.close()
        for _ in range(8):
            await client.send(type="new", agents=[None, "random"])
            assert (await client.turn())["ply"] == 0
        await player_again(pages, played)

    async def player_again(pages: Pages, played: dict[str, Any]) -> None:
        again = await pages.open()
        await again.send(type="sit", table=played["table"])
        assert (await again.turn())["ply"] == played["ply"]

    assert with_pages(use, "goofspiel", tables=3)["tables"] == 9


def test_a_table_that_nobody_looks_at_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.serve.browser.room._SWEEP_S", 0.05)

    async def use(pages: Pages) -> None:
        client, table = await pages.begin()
        await asyncio.sleep(0.6)
        assert len(pages.room._tables) == 1  # a page is open
        await client.socket.close()
        while pages.room._tables:
            await asyncio.sleep(0.05)
        again = await pages.open()
        await again.send(type="sit", table=table["table"])
        assert "this table has been closed" in (await again.next("error"))["text"]

    with_pages(use, idle_s=0.3)


def test_a_server_that_stops_says_so() -> None:
    async def use(pages: Pages) -> None:
        client, _ = await pages.begin()
        pages.stop.set()
        with pytest.raises(ConnectionError, match="1001"):
            await client.next("error")

    assert with_pages(use) == {"tables": 1, "finished": 0}


def test_many_tables_at_once() -> None:
    """Fifty games side by side, each answered by an agent of its own."""

    async def use(pages: Pages) -> None:
        begun = [await pages.begin() for _ in range(50)]
        ends = await asyncio.gather(*(client.finish(randomly(i), table) for i, (client, table) in enumerate(begun)))
        assert all(end["over"] for end in ends)

    assert with_pages(use) == {"tables": 50, "finished": 50}
