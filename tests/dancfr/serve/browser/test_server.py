"""The server of pages, over real sockets: whole games, lost pages, and several users."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dancfr.games.registry import make_game
from dancfr.runs.recorded_games import read_record
from dancfr.serve.browser.table import outcome_of
from dancfr.serve.position import Position, replayed
from tests.dancfr.serve.browser.pages import Pages, randomly, with_pages


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


def test_no_line_is_played_from_the_end_of_a_game(tmp_path: Path) -> None:
    """It would be a second game, over before it begins, whose record has no result."""

    async def use(pages: Pages) -> None:
        client, first = await pages.begin()
        last = await client.finish(randomly(1), first)
        await client.send(type="branch", ply=last["ply"], seat=0)
        assert "the game has ended in this position" in (await client.next("error"))["text"]
        await client.send(type="branch", ply=last["ply"] - 1, seat=last["events"][-1]["player"])
        assert (await client.turn())["ply"] == last["ply"] - 1

    assert with_pages(use, records=tmp_path) == {"tables": 2, "finished": 1}
    assert len(list(tmp_path.iterdir())) == 2


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
