"""The commands `dancfr serve geister` and `dancfr connect geister`."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dancfr.agents.by_name import make_agent
from dancfr.agents.match_rules import match_rules
from dancfr.errors import UsageError
from dancfr.games.registry import read_options
from dancfr.runs.recorded_games import check_folder
from dancfr.serve.commands import (
    check_at_least,
    check_seconds,
    compile_notice,
    count_statuses,
    run_until_signal,
    seed_of,
    split_agents,
)
from dancfr.serve.geister.client import Client
from dancfr.serve.geister.connect import play_at
from dancfr.serve.geister.hosted_game import GameRecord, GameRules
from dancfr.serve.geister.protocol import MOVE_REQUEST, SETUP_REQUEST
from dancfr.serve.geister.referee import RULES, Referee
from dancfr.serve.geister.server import PORT_OPTIONS, ServerSettings, run_server
from dancfr.serve.network import announce, check_host, check_listening, check_port
from dancfr.watch.progress import duration
from envs.agent import Agent
from envs.geister import Geister

Player = tuple[Agent, Geister]
"""An agent, and the rules that it plays by."""

AGENT_PACE_MS, MAX_PACE_MS = 20.0, 1000.0
_WARM_UP_PLIES = 4
_SERVER_OPTIONS = ("ply_limit", "forced_escape")
"""Options of the game that a server uses. The others are fixed by the protocol, or matter to agents only."""


@dataclass(frozen=True)
class ServeOptions:
    """The options of `dancfr serve geister`; see its help.

    Attributes:
        second_port: None is the port after `port`.
        pace: Shortest time between two lines to a player, in milliseconds; None is `AGENT_PACE_MS` against an agent of
            the server, which answers immediately, and 0 between two users.
        options: Options of the game, as ``key=value``.
    """

    host: str
    port: int
    second_port: int | None
    games: int | None
    agents: str
    clock: float
    reserve: float
    records: Path | None
    seed: int
    pace: float | None = None
    options: Sequence[str] = ()


def serve(options: ServeOptions) -> dict[str, Any]:
    """Runs a server until a signal arrives or all games are played.

    Raises:
        UsageError: An option is wrong, or the server cannot listen on a port.
    """
    names = split_agents(options.agents, 2)
    settings, rules = _settings(options, AGENT_PACE_MS if any(names) else 0.0), _rules(options)
    players = [None if name is None else _player(name) for name in names]
    for seat, option in enumerate(PORT_OPTIONS):
        if names[seat] is None:
            asyncio.run(check_listening(settings.host, settings.ports[seat], option))
    check_folder(options.records)
    warm_up([player for player in players if player is not None])
    agents = [
        None if name is None or player is None else (name, Client(*player, seed_of(options.seed, seat)))
        for seat, (name, player) in enumerate(zip(names, players, strict=True))
    ]
    started = time.monotonic()

    def on_listening(ports: list[int | None]) -> None:
        seats = [
            f"port {port} for the {'second' if seat else 'first'} player"
            for seat, port in enumerate(ports)
            if port is not None
        ]
        announce(settings.host, f"{settings.host}, {' and '.join(seats)}")

    records = run_until_signal(lambda stop: run_server(settings, rules, agents, stop, on_listening))
    return _result(records, time.monotonic() - started)


def _settings(options: ServeOptions, default_pace: float) -> ServerSettings:
    check_port(options.port)
    second = options.second_port
    if second is None:
        second = options.port + 1 if options.port else 0
        if second > 65_535:
            raise UsageError(f"--port {options.port} is the last one: choose the second player's with --second-port")
    check_port(second, "--second-port")
    if second == options.port != 0:
        raise UsageError(f"--second-port {second} is the port of the first player: choose another")
    check_at_least("--games", options.games, 1)
    pace = default_pace if options.pace is None else options.pace
    if not 0 <= pace <= MAX_PACE_MS:
        raise UsageError(f"--pace must be from 0 to {MAX_PACE_MS:g} milliseconds, got {pace:g}")
    return ServerSettings(options.host, (options.port, second), options.games, pace / 1000)


def _rules(options: ServeOptions) -> GameRules:
    check_at_least("--seed", options.seed, 0)
    check_seconds("--clock", options.clock)
    check_seconds("--reserve", options.reserve, zero=True)
    game_options = read_options("geister", options.options)
    for key in game_options:
        if key not in _SERVER_OPTIONS:
            raise UsageError(f"--option {key} has no effect on a server: use {' or '.join(_SERVER_OPTIONS)}")
    try:
        return GameRules(replace(RULES, **game_options), options.reserve, options.clock, options.records)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _player(name: str) -> Player:
    """An agent, and the rules under which it was trained, with the ply limit of the competition.

    Raises:
        UsageError: See `make_agent`.
    """
    game = match_rules("geister", (name,), (), RULES.ply_limit)[0]
    assert isinstance(game, Geister)
    return make_agent(name, game), game


def _result(records: list[GameRecord], seconds: float) -> dict[str, Any]:
    winners = Counter(record.winner for record in records if record.status == "finished")
    return {
        "games": [asdict(record) for record in records],
        "won": [winners[0], winners[1]],
        "drawn": winners[None],
        "plies": sum(record.plies for record in records),
        "seconds": round(seconds, 3),
    }


def describe_served(result: dict[str, Any]) -> str:
    """The result of `dancfr serve geister` for people."""
    first, second = result["won"]
    return (
        f"games: {count_statuses(result['games'])}; won by the first player {first}, by the second {second}, "
        f"drawn {result['drawn']}; {result['plies']:,} plies, {duration(result['seconds'])}"
    )


def connect(host: str, port: int, agent: str, games: int, seed: int, patience_s: float) -> dict[str, Any]:
    """Lets an agent play games at a server.

    Raises:
        UsageError: There is no such agent or host, or an option is wrong.
        RunError: See `dancfr.serve.geister.connect.play_at`.
    """
    check_host(host)
    check_port(port, least=1)
    check_at_least("--games", games, 1)
    check_at_least("--seed", seed, 0)
    check_seconds("--retry", patience_s, zero=True)
    player = _player(agent)
    warm_up([player])
    client = Client(*player, seed)
    result = run_until_signal(lambda stop: play_at(host, port, client, games, patience_s, stop))
    return asdict(result) | {"agent": agent}


def describe_connected(result: dict[str, Any]) -> str:
    """The result of `dancfr connect geister` for people."""
    count = result["games"]
    return (
        f"{result['status']}: {count} {'game' if count == 1 else 'games'}, {result['won']} won, {result['lost']} lost, "
        f"{result['drawn']} drawn; {result['decisions']:,} decisions, {duration(result['seconds'])}"
    )


def warm_up(players: Sequence[Player]) -> None:
    """Lets agents play the first moves in either seat, so that kernels are compiled before any clock runs."""
    with compile_notice():
        for seat, player in ((seat, player) for player in [*players, None] for seat in (0, 1)):
            referee = Referee()
            client = None if player is None else Client(*player)
            referee.choose(1 - seat, "SET:ABCD")
            referee.choose(seat, "SET:ABCD" if client is None else str(client.receive(SETUP_REQUEST)))
            while not referee.ending and referee.plies < _WARM_UP_PLIES:
                if client is not None and referee.mover == seat:
                    client.receive(referee.move(str(client.receive(MOVE_REQUEST + referee.board(seat)))))
                else:
                    referee.move("MOV:A,SOUTH" if referee.plies // 2 % 2 else "MOV:A,NORTH")
