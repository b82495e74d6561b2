"""The server of pages, over real sockets: whole games, lost pages, several users, and refusals."""

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.games.registry import GAMES, all_games, make_game
from dancfr.runs.recorded_games import read_record
from dancfr.serve.browser.displays import page_of
from dancfr.serve.browser.messages import MOST_BYTES
from dancfr.serve.browser.rules_page import rules_page
from dancfr.serve.browser.server import PAGE
from dancfr.serve.browser.table import outcome_of
from dancfr.serve.position import Position, replayed
from tests.dancfr.serve.browser.pages import LIMIT_S, TOKEN, Client, Pages, with_pages

GAME_PAGES = {name: record.page.parent for name, record in GAMES.items() if record.page is not None}


def randomly(seed: int) -> Any:
    """Chooses at random."""
    rng = np.random.default_rng(seed)
    return lambda table: int(rng.integers(len(table["choices"])))


@pytest.mark.parametrize(
    "game", ["kuhn", "leduc", "goofspiel", "oshi_zumo", "liars_dice", "phantom_ttt", "pettingzoo:envs.leduc.env"]
)
def test_whole_games_are_played_and_recorded(game: str, tmp_path: Path) -> None:
    rules = {"max_return": 13.0} if game.startswith("pettingzoo") else {}

    async def use(pages: Pages) -> None:
        for seed in range(3):
            client = await pages.open()
            await client.send(type="new", agents=[None, "random"] if seed % 2 else ["random", None])
            last = await client.finish(randomly(seed))
            assert sum(last["returns"]) == pytest.approx(0)
            assert [event["ply"] for event in last["events"]] == list(range(last["ply"]))
            recording = read_record(tmp_path / last["record"])
            position, _, damage = replayed(recording, make_game(game, **rules))
            assert (position.over, position.returns, damage) == (True, last["returns"], "")

    assert with_pages(use, game, rules=rules, records=tmp_path) == {"tables": 3, "finished": 3}


def test_a_game_whose_rules_fail_ends_its_table_alone() -> None:
    """The returns of this environment exceed the adapter's maximum, whoever makes the last move."""

    async def use(pages: Pages) -> None:
        client, other = await pages.open(), await pages.open()
        await client.send(type="new", agents=[None, None])
        first = await client.turn()
        await other.send(type="sit", table=first["invitations"]["1"])
        ends = await asyncio.gather(client.finish(lambda table: 0, first), other.finish(lambda table: 0))
        assert all("a return of 1 exceeds max_return=0.5" in end["failed"] for end in ends)
        assert (await pages.begin())[1]["choices"]

    with_pages(use, "pettingzoo:envs.leduc.env", rules={"max_return": 0.5})


def test_nothing_hidden_leaves_the_server() -> None:
    """Games that agree in all that a user knows send the same messages, whatever the others hold."""
    seen: dict[str, set[str]] = {}

    async def use(pages: Pages) -> None:
        for _ in range(120):
            client, first = await pages.begin()
            await client.finish(lambda table: len(table["choices"]) - 1, first)
            known: list[Any] = []
            for message in client.received[1:]:
                if message["over"]:
                    continue
                facts = message["scene"]["facts"]
                known.append([facts[0]["cards"], facts[2]["cards"], [event["label"] for event in message["events"]]])
                plain = {k: v for k, v in message.items() if k not in ("table", "record", "events")}
                events = [{k: v for k, v in event.items() if k != "ms"} for event in message["events"]]
                seen.setdefault(json.dumps(known), set()).add(json.dumps([plain, events]))
            await client.socket.close()

    with_pages(use)
    assert all(len(messages) == 1 for messages in seen.values())
    assert len(seen) > 20


def test_nobody_sees_how_long_another_player_thought_before_the_end() -> None:
    async def use(pages: Pages) -> None:
        client, first = await pages.begin()
        last = await client.finish(randomly(1), first)
        seen = [event for message in client.received[1:] if not message["over"] for event in message["events"]]
        assert {("ms" in event, event["player"]) for event in seen} == {(True, 0), (False, 1)}
        assert all("ms" in event for event in last["events"])

    with_pages(use, "goofspiel")


@pytest.mark.parametrize(("game", "told"), [("phantom_ttt", False), ("phantom_ttt_abrupt", True)])
def test_a_user_is_told_of_the_opponents_failed_tries_only_where_they_lose_the_turn(game: str, told: bool) -> None:
    failed = 0

    async def use(pages: Pages) -> None:
        nonlocal failed
        for seed in range(6):
            client = await pages.open()
            await client.send(type="new", agents=["random", None])
            last = await client.finish(randomly(seed))
            events: list[Any] = []
            for message in client.received[1:]:
                if message["over"]:
                    break
                assert message["since"] <= len(events), "every message follows from those before it"
                events = events[: message["since"]] + message["events"]
                assert message["ply"] == len(events) == len({event["ply"] for event in events})
                assert message["mover"] == 0 or events[-1]["player"] == 0 or "note" in events[-1]
            theirs = [event for event in last["events"][:-1] if event["player"] == 0]
            failed += sum("note" in event for event in theirs)
            seen = [event for event in events if event["player"] == 0]
            assert all(event["hidden"] and not event["label"] and "note" not in event for event in seen)
            assert len(seen) == sum(told or "note" not in event for event in theirs)
            client.received.clear()
            await client.send(type="look", ply=last["ply"] + 1)
            assert (await client.next("error"))["text"].startswith(f"there are {last['ply']} moves, and this is")

    with_pages(use, game)
    assert failed > 3


def test_requests_that_are_no_http_are_refused_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    async def use(pages: Pages) -> None:
        host, port = pages.address.removeprefix("http://").split(":")
        for request in (b"\0\1\2\r\n\r\n", b"GET /" + 9000 * b"a" + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(request)
            assert b" 400 " in await asyncio.wait_for(reader.readline(), LIMIT_S)
            writer.close()
        assert (await pages.open()).received[0]["type"] == "hello"

    with_pages(use)
    assert capfd.readouterr().err == ""


def test_the_page_needs_its_token_and_origin() -> None:
    async def use(pages: Pages) -> None:
        for query in ("", "?token=", "?token=wrong", f"?token={TOKEN}x"):
            async with pages.session.get(f"{pages.address}/{query}") as answer:
                assert answer.status == 403
                assert "the address lacks the right token" in await answer.text()
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await pages.session.ws_connect(f"{pages.address}/play{query}")
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await pages.open(origin="http://elsewhere.example")
        await pages.open(origin=pages.address)
        async with pages.session.get(f"{pages.address}/?token={TOKEN}") as answer:
            assert (answer.status, answer.content_type) == (200, "text/html")
            assert "default-src 'self'" in answer.headers["Content-Security-Policy"]

    with_pages(use)


def test_only_files_of_the_page_are_served() -> None:
    async def use(pages: Pages) -> None:
        for prefix, folder in (("", PAGE), ("game/", GAME_PAGES["leduc"])):
            for file in folder.iterdir():
                async with pages.session.get(f"{pages.address}/{prefix}{file.name}") as answer:
                    assert (answer.status, await answer.read()) == (200, file.read_bytes())
        outside = ("none.js", "..%2fserver.py", "%2e%2e/room.py", "../../errors.py", "page/main.js", ".", "%00")
        for path in (*outside, "game", "game/", "game/none.js", "game/..%2fgame.py", "game/%2e%2e/__init__.py"):
            async with pages.session.get(f"{pages.address}/{path}") as answer:
                assert answer.status in (403, 404), path

    with_pages(use)


def test_game_without_a_page_gets_the_general_one() -> None:
    async def use(pages: Pages) -> None:
        page = await pages.open()
        assert page.received[0]["page"] == "general.js"
        async with pages.session.get(f"{pages.address}/game/leduc.js") as answer:
            assert answer.status == 404

    with_pages(use, game="pettingzoo:pettingzoo.classic.tictactoe_v3")


@pytest.mark.parametrize("game", ["leduc", "phantom_ttt_abrupt"])
def test_page_leads_to_the_rules_of_its_game(game: str) -> None:
    async def use(pages: Pages) -> None:
        rules = (await pages.open()).received[0]["rules"]
        async with pages.session.get(f"{pages.address}/{rules}") as answer:
            assert (answer.status, answer.content_type) == (200, "text/html")
            folder = all_games()[game].page
            assert folder is not None
            assert await answer.text() == rules_page(folder.parents[1] / "README.md")
        async with pages.session.get(f"{pages.address}/game/{folder.name}") as other:
            for name in ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cache-Control"):
                assert answer.headers[name] == other.headers[name]

    with_pages(use, game=game)


def test_game_of_another_package_has_no_rules() -> None:
    async def use(pages: Pages) -> None:
        assert (await pages.open()).received[0]["rules"] is None
        async with pages.session.get(f"{pages.address}/game/rules.html") as answer:
            assert answer.status == 404

    with_pages(use, game="pettingzoo:classic/tictactoe-v3")


def test_page_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kuhn = replace(all_games()["kuhn"], page=tmp_path / "kuhn.js")
    monkeypatch.setitem(all_games(), "kuhn", kuhn)
    with pytest.raises(UsageError, match=r"the page of kuhn, .*kuhn\.js, does not exist"):
        page_of(make_game("kuhn"))


@pytest.mark.parametrize("page", ["frame", *GAME_PAGES])
def test_all_files_of_a_page_are_small_and_fetch_nothing(page: str) -> None:
    files = sorted((GAME_PAGES | {"frame": PAGE})[page].iterdir())
    assert sum(file.stat().st_size for file in files) < 50_000
    for file in files:
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text.replace("${", ""), file
        assert "https://" not in text, file


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


def test_a_closed_page_comes_back_to_its_game() -> None:
    """The whole game so far is sent again, and nothing that was hidden."""

    async def use(pages: Pages) -> None:
        client, table = await pages.begin()
        await client.send(type="move", ply=0, choice=0)
        before = await client.turn()
        await client.socket.close()
        again = await pages.open()
        await again.send(type="sit", table=table["table"])
        back = await again.turn()
        assert (back["ply"], back["scene"], back["you"]) == (before["ply"], before["scene"], 0)
        assert [event["label"] for event in back["events"]][:1] == ["call"]
        assert (await again.finish(randomly(1), back))["over"]

    with_pages(use, agents=("random",))


def test_two_pages_at_one_seat_see_the_same() -> None:
    async def use(pages: Pages) -> None:
        (first, table), second = await pages.begin(), await pages.open()
        await second.send(type="sit", table=table["table"])
        assert (await second.turn())["scene"] == table["scene"]
        await second.send(type="move", ply=0, choice=0)
        assert (await first.next("table"))["events"] == (await second.next("table"))["events"]
        await first.send(type="move", ply=0, choice=0)  # too late
        assert (await first.next("error"))["text"] == "it is not your turn"

    with_pages(use)


def test_two_users_play_each_other() -> None:
    """The second one comes by the link of the first; neither sees the other's card before the end."""

    async def use(pages: Pages) -> None:
        first, second = await pages.open(), await pages.open()
        await first.send(type="new", agents=[None, None])
        opened = await first.turn()
        assert list(opened["invitations"]) == ["1"]
        await second.send(type="sit", table=opened["invitations"]["1"])
        joined = await second.next("table")
        assert (joined["you"], joined["invitations"], joined["choices"]) == (1, {}, [])
        assert (opened["scene"]["facts"][1]["cards"], joined["scene"]["facts"][0]["cards"]) == ([None], [None])
        ends = await asyncio.gather(first.finish(randomly(1), opened), second.finish(randomly(2)))
        assert ends[0]["returns"] == ends[1]["returns"]
        assert ends[0]["scene"] == ends[1]["scene"]  # everything is shown at the end
        assert None not in ends[0]["scene"]["facts"][1]["cards"]

    with_pages(use, study=True)


def test_nobody_looks_on_while_a_user_plays() -> None:
    async def use(pages: Pages) -> None:
        (_client, _), other = await pages.begin(), await pages.open()
        (table,) = pages.room._tables
        await other.send(type="sit", table=table.spectator)
        assert "begin a new game" in (await other.next("error"))["text"]

    with_pages(use)


def test_earlier_positions_show_what_the_user_knew_until_the_game_has_ended() -> None:
    async def use(pages: Pages) -> None:
        client, table = await pages.begin()
        await client.send(type="move", ply=0, choice=0)
        await client.turn()
        await client.send(type="look", ply=0)
        found = await client.next("at")
        assert found["scene"] == table["scene"]
        assert found["event"] is None
        again = await pages.open()
        await again.send(type="sit", table=table["table"])
        await again.finish(randomly(2))
        await again.send(type="look", ply=0)
        assert None not in (await again.next("at"))["scene"]["facts"][1]["cards"]

    with_pages(use)


def test_another_line_is_played_from_an_earlier_position(tmp_path: Path) -> None:
    """From either side, with the same cards; its record holds the moves before it, too."""

    async def use(pages: Pages) -> None:
        client, first = await pages.begin()
        last = await client.finish(lambda table: 0, first)
        for seat in (0, 1):
            await client.send(type="sit", table=last["table"])
            await client.next("table")
            await client.send(type="branch", ply=1, seat=seat)
            branch = await client.turn()
            assert branch["you"] == seat
            assert branch["table"] != last["table"]
            first = next(each for each in client.received if each.get("table") == branch["table"])
            assert first["events"][0]["label"] == last["events"][0]["label"]
            own = branch["scene"]["facts"][seat]["cards"]
            assert own == last["scene"]["facts"][seat]["cards"]
            end = await client.finish(randomly(seat), branch)
            position, actions, damage = replayed(read_record(tmp_path / end["record"]), make_game("leduc"))
            assert (position.over, len(actions), damage) == (True, end["ply"], "")

    with_pages(use, records=tmp_path)


def test_agents_are_watched_at_a_chosen_pace() -> None:
    async def use(pages: Pages) -> None:
        table = pages.room.watch()
        client = await pages.open()
        assert client.received[0]["table"] == table.spectator
        await client.send(type="sit", table=table.spectator)
        first = await client.next("table")
        assert (first["you"], first["open"], first["choices"]) == (None, True, [])
        await client.send(type="pace", seconds=0, paused=True)
        paused = await client.next("table")
        while not paused["clock"]["paused"]:
            paused = await client.next("table")
        await asyncio.sleep(0.3)
        assert table.position.ply <= paused["ply"] + 1  # the move that an agent was making
        await client.send(type="pace", seconds=0, paused=False)
        while not (last := await client.next("table"))["over"]:
            pass
        assert last["returns"] == table.position.returns

    with_pages(use, "goofspiel", seats=("random", "random"))


def test_a_return_above_the_mean_of_all_players_is_a_win(monkeypatch: pytest.MonkeyPatch) -> None:
    position = Position(make_game("kuhn"), 0)
    while not position.over:
        position.play(position.actions[0])
    kind = type(position.game)
    monkeypatch.setattr(kind, "returns", lambda self, states, before=kind.returns: before(self, states) + 3)
    assert min(position.returns) > 0
    assert sorted(outcome_of(position, seat) for seat in (0, 1)) == [-1, 1]


@pytest.mark.parametrize(
    ("game", "rules", "opposed"), [("leduc", {}, True), ("guandan", {}, True), ("cheat", {"players": 3}, False)]
)
def test_a_page_learns_whether_one_side_wins_what_the_other_loses(
    game: str, rules: dict[str, Any], opposed: bool
) -> None:
    async def use(pages: Pages) -> None:
        assert (await pages.open()).received[0]["opposed"] is opposed

    with_pages(use, game, rules=rules)


def test_a_pause_holds_back_the_move_that_is_waiting() -> None:
    async def use(pages: Pages) -> None:
        table = pages.room.watch()
        client = await pages.open()
        await client.send(type="sit", table=table.spectator)
        await asyncio.sleep(0.2)
        await client.send(type="pace", seconds=0, paused=True)
        await asyncio.sleep(0.3)
        assert table.position.ply == 0
        await client.send(type="pace", seconds=0, paused=False)
        while not (await client.next("table"))["over"]:
            pass

    with_pages(use, "goofspiel", seats=("random", "random"), pace=60.0)


def test_an_agent_that_fails_ends_its_table_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        name = "broken"

        def begin(self, game: Any, batch: int, rng: Any) -> None: ...

        def act(self, states: Any, games: Any, rng: Any) -> Any:
            raise ValueError("a weight is not a number")

    import tests.dancfr.serve.browser.pages as helper

    real = helper.make_agent
    monkeypatch.setattr(helper, "make_agent", lambda name, game: Broken() if name == "broken" else real(name, game))

    async def use(pages: Pages) -> None:
        client, other = await pages.open(), await pages.open()
        await other.send(type="new", agents=[None, "random"])
        await client.send(type="new", agents=["broken", None])
        assert (await client.turn())["failed"] == "broken has failed: ValueError: a weight is not a number"
        assert (await other.finish(randomly(1)))["over"]

    with_pages(use, agents=("random", "broken"))


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
