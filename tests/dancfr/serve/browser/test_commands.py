"""`dancfr play` and `dancfr replay` as processes: the address, the end, kills, and wrong use."""

import asyncio
import json
import os
import signal
from pathlib import Path

import aiohttp
import pytest

from dancfr.runs.recorded_games import read_record
from dancfr.serve.browser.commands import PlayOptions, default_agent
from dancfr.serve.position import replayed
from envs.leduc import Leduc
from tests.dancfr.outcomes import Command
from tests.dancfr.serve.browser.pages import Client
from tests.dancfr.serve.processes import Process, Processes

ADDRESS = r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)"


def start(processes: Processes, *arguments: str) -> tuple[Process, str, str]:
    """A server, its address and its token."""
    process = processes.start(*arguments, "--port", "0", "--no-open")
    found = process.wait_for(ADDRESS)
    return process, found[1], found[2]


@pytest.mark.parametrize(
    ("game", "agent"),
    [
        ("geister", "pretrained:geister"),
        ("phantom_ttt", "pretrained:phantom-ttt"),
        ("phantom_ttt_abrupt", "pretrained:phantom-ttt-abrupt"),
        ("dark_hex3", "pretrained:dark-hex3"),
        ("dark_hex3_abrupt", "pretrained:dark-hex3-abrupt"),
        ("liars_dice_2d5f", "pretrained:liars-dice-2d5f"),
        ("kuhn", "random"),
    ],
)
def test_the_opponent_is_the_pretrained_agent_of_the_game(game: str, agent: str) -> None:
    assert default_agent(PlayOptions(game)) == agent


async def use_page(address: str, token: str, moves: int) -> list[str]:
    """Plays at most some moves of a new game; returns the types of all messages."""
    async with aiohttp.ClientSession() as session:
        client = Client(await session.ws_connect(f"{address}/play?token={token}"))
        hello = await client.next("hello")
        if hello["table"] is None:
            await client.send(type="new", agents=hello["seats"])
        else:
            await client.send(type="sit", table=hello["table"])
        table = await client.turn()
        for _ in range(moves):
            if table["over"]:
                break
            await client.send(type="move", ply=table["ply"], choice=0)
            table = await client.turn()
        return [each["type"] for each in client.received]


def test_a_game_is_played_recorded_and_replayed(processes: Processes, tmp_path: Path) -> None:
    process, address, token = start(
        processes, "play", "leduc", "--agent", "random", "--records", str(tmp_path), "--pace", "0", "--json"
    )
    asyncio.run(use_page(address, token, 20))
    process.signal(signal.SIGINT)
    result = process.result()
    assert (result["tables"], result["finished"]) == (1, 1)
    assert result["address"] == f"{address}/?token={token}"
    (file,) = tmp_path.glob("*.jsonl")
    assert [player.version for player in read_record(file).header.players] == ["", "random"]
    process, address, token = start(processes, "replay", str(file), "--json")
    assert f"leduc, {len(read_record(file).moves)} moves: seat 0 is user, seat 1 is random\n" in process.told
    assert asyncio.run(use_page(address, token, 0)) == ["hello", "table"]
    process.signal(signal.SIGTERM)
    result = process.result()
    assert (result["tables"], result["finished"]) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ("kuhn", "kuhn: seat 0 is you, seat 1 is random; --agent names another opponent, see `dancfr agents kuhn`"),
        ("kuhn --agent random --seat 1", "kuhn: seat 0 is random, seat 1 is you"),
        (
            "kuhn --agents -,-",
            "kuhn: seat 0 is you, seat 1 is another person; your page has links for other people",
        ),
        ("kuhn --agents random,random", "kuhn: seat 0 is random, seat 1 is random; you watch"),
    ],
)
def test_the_terminal_tells_who_plays_where_and_how_it_ends(
    processes: Processes, tmp_path: Path, arguments: str, first: str
) -> None:
    recorded = "--seat" in arguments
    process, address, token = start(
        processes, "play", *arguments.split(), "--records", str(tmp_path) if recorded else "none"
    )
    process.wait_for("Ctrl-C")
    process.signal(signal.SIGINT)
    kept = f"games are recorded in {tmp_path}, for `dancfr replay FILE`" if recorded else "games are not recorded"
    assert process.end()[1].splitlines() == [
        first,
        f"the page: {address}/?token={token}",
        f"open this address in a browser; {kept}",
        "Ctrl-C here ends the server; a page that was closed can be opened again until then",
    ]


def test_a_killed_server_has_lost_nothing(processes: Processes, tmp_path: Path) -> None:
    process, address, token = start(
        processes, "play", "leduc", "--agent", "random", "--records", str(tmp_path), "--pace", "0"
    )
    asyncio.run(use_page(address, token, 1))
    process.stop()
    (file,) = tmp_path.glob("*.jsonl")
    assert file.read_bytes().endswith(b"}\n")
    position, actions, damage = replayed(read_record(file), Leduc())
    assert (len(actions), damage) == (position.ply, "")
    assert position.ply >= 2  # the user's move and the agent's answer


def test_the_command_ends_while_an_agent_searches(processes: Processes) -> None:
    """An agent with ten minutes for a move delays neither the first page nor the end."""
    agent = "pretrained:geister?ms=600000"
    process, address, token = start(
        processes,
        "play",
        "geister",
        "--agent",
        agent,
        "--seat",
        "1",
        "--option",
        "random_setup=true",
        "--records",
        "none",
    )

    async def begin() -> None:
        async with aiohttp.ClientSession() as session:
            client = Client(await session.ws_connect(f"{address}/play?token={token}"))
            await client.send(type="new", agents=[agent, None])
            assert (await client.next("table"))["mover"] == 0
            await asyncio.sleep(1.0)

    asyncio.run(begin())
    process.signal(signal.SIGINT)
    assert process.end()[0] == "1 table, 0 games finished\n"


def test_cards_are_dealt_anew_each_time(processes: Processes, tmp_path: Path) -> None:
    for _ in range(2):
        process, address, token = start(processes, "play", "leduc", "--agent", "random", "--records", str(tmp_path))
        asyncio.run(use_page(address, token, 0))
        process.stop()
    first, second = (read_record(file).header.seed for file in tmp_path.glob("*.jsonl"))
    assert first != second


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], "nosuch"),
        (["leduc", "--agent", "randon"], "did you mean random"),
        (["leduc", "--seat", "2"], "--seat must be from 0 to 1, got 2"),
        (["leduc", "--agents", "random"], "--agents needs 2 names with commas between them, got 1"),
        (["leduc", "--agents", "random,"], "--agents has an empty name, got 'random,': write - for your seat"),
        (["leduc", "--agents", "-,random", "--seat", "0"], "leave out --agent and --seat"),
        (["leduc", "--agent", ""], "'' names no agent"),
        (["leduc", "--host", ""], "--host must not be empty"),
        (["leduc", "--port", "99999"], "--port must be from 0 to 65535"),
        (["leduc", "--pace", "-1"], "--pace must be at least 0"),
        (["leduc", "--pace", "61"], "--pace must be at most 60"),
        (["leduc", "--tables", "0"], "--tables must be at least 1"),
        (["leduc", "--idle-minutes", "0"], "--idle-minutes must be above 0"),
        (["leduc", "--public-url", "https://x?y"], "--public-url 'https://x?y' is not the address of a page"),
        (["leduc", "--seed", "-1"], "--seed must be at least 0"),
        (["leduc", "--host", "192.0.2.1"], "--host 192.0.2.1 is not an address of this machine"),
        (["leduc", "--option", "suits=x"], "suits"),
        (["pettingzoo:envs.leduc.env", "--option", "max_return=0.5"], "cannot be played: ReturnTooLarge"),
        (["leduc", "--records", "/dev/null/x"], "name a folder that can be written"),
    ],
)
def test_wrong_use_ends_in_one_line(command: Command, arguments: list[str], words: str) -> None:
    outcome = command("play", *arguments, "--no-open")
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert os.listdir() == []


def test_a_pipe_or_a_device_is_no_record(command: Command, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/zero", str(tmp_path)):
        outcome = command("replay", path, "--no-open")
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err == f"dancfr: {path} is not a file: name the file of a recorded game\n"


def test_a_record_whose_game_fails_is_refused_in_one_line(command: Command, tmp_path: Path) -> None:
    pytest.importorskip("pyspiel")
    file = tmp_path / "go.jsonl"
    header = {"format": "dancfr-game", "version": 1, "game": "openspiel:go(board_size=99)", "options": {}, "seed": 1,
              "players": [{"kind": "user", "name": "user"}] * 2}  # fmt: skip
    file.write_text(json.dumps(header) + "\n")
    outcome = command("replay", str(file), "--no-open")
    assert (outcome.code, outcome.out) == (2, "")
    last = outcome.err.splitlines()[-1]  # OpenSpiel may print a line of its own before
    assert last.startswith("dancfr: openspiel:go(board_size=99): OpenSpiel refuses 'go(board_size=99)': The current Go")
    assert "Traceback" not in outcome.err


def test_what_cannot_be_replayed(command: Command, tmp_path: Path) -> None:
    for content, words in (
        (None, "none.jsonl"),
        ("{}", "is not a recorded game"),
        (
            json.dumps(
                {"format": "dancfr-game", "version": 1, "game": "leduc", "options": {"raises": "many"}, "seed": 1,
                 "players": [{"kind": "user", "name": "user"}] * 2}
            ),
            "raises",
        ),
        (
            json.dumps(
                {"format": "dancfr-game", "version": 1, "game": "leduc", "options": {}, "seed": 1,
                 "players": [{"kind": "user", "name": "user"}]}
            ),
            "leduc has 2 players, not 1",
        ),
    ):  # fmt: skip
        file = tmp_path / "none.jsonl"
        if content is not None:
            file.write_text(content + "\n")
        outcome = command("replay", str(file), "--no-open")
        assert (outcome.code, outcome.out) == (2, "")
        assert words in outcome.err
        assert len(outcome.err.splitlines()) == 1
