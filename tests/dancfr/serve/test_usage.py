"""Wrong use of `dancfr serve` and `dancfr connect`: one line, before anything is started."""

import os
import socket

import pytest

from tests.dancfr.outcomes import Command, refused

NOWHERE = "ws://127.0.0.1:9/game/me"


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        ("serve chess", 2, ["'chess'", "geister", "guandan"]),
        ("serve kuhn", 2, ["only geister and guandan are served", "dancfr play kuhn opens the page of kuhn"]),
        ("connect chess", 2, ["'chess'"]),
        ("serve --port 70000", 2, ["--port", "70000"]),
        ("serve --host=", 2, ["--host must not be empty", "0.0.0.0 for all"]),
        ("serve --host ../x", 2, ["--host ../x: no host can have this name"]),
        ("serve --matches 0", 2, ["--matches", "got 0"]),
        ("serve --tables 0", 2, ["--tables", "got 0"]),
        ("serve --seed -1", 2, ["--seed", "got -1"]),
        ("serve --clock 0", 2, ["--clock", "got 0"]),
        ("serve --clock nan", 2, ["--clock", "got nan"]),
        ("serve --clock inf", 2, ["--clock", "got inf"]),
        ("serve --rate -2", 2, ["--rate", "got -2"]),
        ("serve --public-url games.example.org", 2, ["--public-url", "'games.example.org'", "https://HOST/PATH"]),
        ("serve --joker-bomb big", 2, ["--joker-bomb", "'big'"]),
        ("serve --agents randm", 2, ["'randm'", "random"]),
        ("serve --agents random,random,random,random", 2, ["--agents"]),
        ("serve --agents a,b,c,d,e", 2, ["--agents", "5 seats"]),
        ("serve --option a_attempts=x", 2, ["a_attempts", "integer", "'x'"]),
        ("serve --option double_tribute=by_luck", 2, ["double_tribute", "by_card"]),
        ("serve --host nowhere.invalid", 2, ["--host", "nowhere.invalid"]),
        ("connect", 2, ["--url", "ws://127.0.0.1:23456/game/NAME"]),
        ("connect --url http://127.0.0.1/", 2, ["--url", "http://127.0.0.1/"]),
        (f"connect --url {NOWHERE} --agent randm", 2, ["'randm'"]),
        (f"connect --url {NOWHERE} --seed -1", 2, ["--seed", "got -1"]),
        (f"connect --url {NOWHERE} --retry -1", 2, ["--retry", "got -1"]),
        (f"connect --url {NOWHERE} --retry inf", 2, ["--retry", "got inf"]),
        ("connect --url ws://nowhere.invalid/game/me", 2, ["nowhere.invalid"]),
        (f"connect --url {NOWHERE}", 1, [NOWHERE, "`dancfr serve guandan`"]),
        ("serve geister --port 70000", 2, ["--port", "70000"]),
        ("serve geister --port 65535", 2, ["--port 65535", "--second-port"]),
        ("serve geister --second-port -1", 2, ["--second-port", "got -1"]),
        ("serve geister --second-port 10000", 2, ["--second-port", "10000"]),
        ("serve geister --games 0", 2, ["--games", "got 0"]),
        ("serve geister --seed -1", 2, ["--seed", "got -1"]),
        ("serve geister --clock 0", 2, ["--clock", "got 0"]),
        ("serve geister --clock nan", 2, ["--clock", "got nan"]),
        ("serve geister --reserve -1", 2, ["--reserve", "got -1"]),
        ("serve geister --pace -1", 2, ["--pace", "got -1"]),
        ("serve geister --pace 1001", 2, ["--pace", "got 1001"]),
        ("serve geister --pace nan", 2, ["--pace", "got nan"]),
        ("serve geister --reserve inf", 2, ["--reserve", "got inf"]),
        ("serve geister --agents rsh", 2, ["'rsh'", "rush"]),
        ("serve geister --agents rush,rush", 2, ["--agents"]),
        ("serve geister --agents a,b,c", 2, ["--agents", "3 seats"]),
        ("serve geister --option random_setup=true", 2, ["random_setup", "ply_limit"]),
        ("serve geister --option ply_limit=0", 2, ["ply_limit", "0"]),
        ("serve geister --records /dev/null/x", 2, ["--records", "/dev/null/x"]),
        ("serve geister --host nowhere.invalid", 2, ["--host", "nowhere.invalid"]),
        ("connect geister --agent rsh", 2, ["'rsh'"]),
        ("connect geister --host ../x", 2, ["--host ../x: no host can have this name"]),
        ("connect geister --port 0", 2, ["--port", "got 0"]),
        ("connect geister --games 0", 2, ["--games", "got 0"]),
        ("connect geister --seed -1", 2, ["--seed", "got -1"]),
        ("connect geister --retry -1", 2, ["--retry", "got -1"]),
        ("connect geister --host nowhere.invalid", 2, ["--host", "nowhere.invalid"]),
        ("connect geister --port 9", 1, ["127.0.0.1:9", "`dancfr serve geister`"]),
    ],
)
def test_an_error_is_one_line_that_names_the_cause(
    command: Command, arguments: str, code: int, named: list[str]
) -> None:
    outcome = command(*arguments.split())
    assert outcome.code == code
    assert outcome.out == ""
    *_, line = outcome.err.splitlines()
    assert line.startswith("dancfr: ")
    assert all(part in line for part in named), line


@pytest.mark.parametrize(
    "arguments",
    [
        "serve guandan --second-port 1",
        "serve guandan --games 3",
        "serve guandan --reserve 1",
        "serve guandan --pace 1",
        "serve --games 3",
        "serve geister --matches 1",
        "serve geister --tables 1",
        "serve geister --rate 1",
        "serve geister --joker-bomb recording",
        "connect guandan --host 127.0.0.1",
        "connect guandan --port 1",
        "connect guandan --games 1",
        "connect geister --url ws://127.0.0.1:9/game/me",
    ],
)
def test_an_option_of_the_other_game_is_refused(command: Command, arguments: str) -> None:
    option = next(part for part in arguments.split() if part.startswith("--"))
    assert option in refused(command(*arguments.split()))


@pytest.mark.parametrize(
    "arguments",
    ["guandan --agents randm,-,-,-", "guandan --host nowhere.invalid", "geister --host nowhere.invalid"],
)
def test_a_refused_command_makes_no_folder(command: Command, arguments: str) -> None:
    refused(command("serve", *arguments.split(), "--records", "made/here"))
    assert os.listdir() == []


@pytest.mark.parametrize(
    ("game", "before", "option"),
    [
        ("guandan", [], "--port"),
        ("geister", [], "--port"),
        ("geister", ["--port", "0"], "--second-port"),
    ],
)
def test_a_port_in_use_is_wrong_use(command: Command, game: str, before: list[str], option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = refused(command("serve", game, *before, option, port))
    assert f"port {port} of 127.0.0.1 is in use" in line
    assert line.endswith(f"with {option}")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (
            "serve guandan",
            "--host --port --matches --tables --agents --clock --rate --seed --joker-bomb --option --json",
        ),
        ("serve geister", "--host --port --second-port --games --agents --clock --reserve --records --option --json"),
        ("connect guandan", "--url --agent --seed --retry --json"),
        ("connect geister", "--host --port --agent --games --seed --retry --json"),
    ],
)
def test_the_help_names_every_option(command: Command, arguments: str, options: str) -> None:
    outcome = command(*arguments.split(), "--help")
    assert outcome.code == 0
    assert all(option in outcome.out for option in options.split())


@pytest.mark.parametrize("name", ["serve", "connect"])
def test_the_help_lists_the_games(command: Command, name: str) -> None:
    outcome = command(name, "--help")
    assert outcome.code == 0
    assert f"dancfr {name} GAME [OPTIONS]" in outcome.out
    assert outcome.out.index("guandan") < outcome.out.index("geister")
