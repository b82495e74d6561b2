"""`dancfr serve geister` and `dancfr connect geister`."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dancfr.agents.by_name import make_agent
from dancfr.agents.match_rules import match_rules
from dancfr.errors import UsageError, warn
from dancfr.games.registry import read_options
from dancfr.serve.commands import (
    LONGEST_S,
    check_listening,
    check_port,
    check_seconds,
    run_until_signal,
    split_agents,
    telling_of_compiling,
)
from dancfr.serve.geister.client import Client
from dancfr.serve.geister.connect import Stay, stay
from dancfr.serve.geister.protocol import MOVE_ASKED, SET_ASKED
from dancfr.serve.geister.referee import RULES, Referee
from dancfr.serve.geister.server import ServerSettings, run_server
from dancfr.serve.geister.table import Record, TableRules
from dancfr.serve.guandan.connect import is_loopback
from dancfr.serve.records import Recorder
from dancfr.watch.progress import duration
from envs.agent import Agent
from envs.geister import Geister

Player = tuple[Agent, Geister]
"""An agent of ours, and the rules that it is told of."""

_WARM_UP_PLIES = 4
_OWN_OPTIONS = ("ply_limit", "forced_escape")
"""Options of the game that make sense here; the others are the protocol's, or an agent's."""


@dataclass(frozen=True)
class ServeRequest:
    """What `dancfr serve geister` was asked for; see its options.

    Attributes:
        port, second_port: Of the first player and of the second; None for the second is the one after the first's.
        games: None is any number.
        clock, reserve: Seconds for a move, and before that in all.
        options: Of the game, as ``key=value``.
    """

    host: str
    port: int
    second_port: int | None
    games: int | None
    agents: str
    clock: float
    reserve: float
    records: str | None
    seed: int
    options: Sequence[str] = ()


def serve_command(request: ServeRequest) -> dict[str, Any]:
    """Runs a server until a signal comes or its games are played.

    Raises:
        UsageError: an option that does not fit, or no listening there.
    """
    settings, rules = _settings(request), _rules(request)
    names = split_agents(request.agents, 2)
    players = [None if name is None else _player(name) for name in names]
    for seat, option in enumerate(("--port", "--second-port")):
        if names[seat] is None:
            asyncio.run(check_listening(settings.host, settings.ports[seat], option))
    recorder = Recorder(request.records)
    warm_up([player for player in players if player is not None])
    agents = [
        None if name is None or player is None else (name, Client(*player, _seed_of(request.seed, seat)))
        for seat, (name, player) in enumerate(zip(names, players, strict=True))
    ]
    started = time.monotonic()

    def listening(ports: list[int | None]) -> None:
        if not is_loopback(settings.host):
            warn(f"--host {settings.host}: whoever reaches this machine can take a seat")
        told = [
            f"port {port} for the {'second' if seat else 'first'} player"
            for seat, port in enumerate(ports)
            if port is not None
        ]
        warn(f"listening on {settings.host}, {' and '.join(told)}; Ctrl-C ends")

    records = run_until_signal(lambda stop: run_server(settings, rules, agents, recorder, stop, listening))
    return _served(records, time.monotonic() - started)


def _settings(request: ServeRequest) -> ServerSettings:
    check_port(request.port)
    second = request.second_port
    if second is None:
        second = request.port + 1 if request.port else 0
        if second > 65_535:
            raise UsageError(f"--port {request.port} leaves no port after it for the second player: say --second-port")
    check_port(second, "--second-port")
    if second == request.port != 0:
        raise UsageError(f"--second-port {second} is that of the first player: choose another")
    if request.games is not None and request.games < 1:
        raise UsageError(f"--games must be at least 1, not {request.games}")
    return ServerSettings(request.host, (request.port, second), request.games)


def _rules(request: ServeRequest) -> TableRules:
    _check_seed(request.seed)
    check_seconds("--clock", request.clock)
    if not 0 <= request.reserve < LONGEST_S:
        raise UsageError(f"--reserve must be at least 0 and below {LONGEST_S:,.0f}, not {request.reserve:g}")
    options = read_options("geister", request.options)
    for key in options:
        if key not in _OWN_OPTIONS:
            raise UsageError(f"--option {key} does not matter to a server of Geister: {' and '.join(_OWN_OPTIONS)} do")
    try:
        return TableRules(replace(RULES, **options), request.reserve, request.clock)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _seed_of(seed: int, seat: int) -> int:
    return int(np.random.SeedSequence([seed, seat]).generate_state(1)[0])


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, not {seed}")


def _player(name: str) -> Player:
    """An agent, and the rules under which it was trained, at the length of the competition.

    Raises:
        UsageError: see `make_agent`.
    """
    game: Any = match_rules("geister", (name,), (), RULES.ply_limit)[0]
    return make_agent(name, game), game


def _served(records: list[Record], seconds: float) -> dict[str, Any]:
    winners = Counter(record.winner for record in records if record.status == "finished")
    return {
        "games": [record.as_result() for record in records],
        "won": [winners[0], winners[1]],
        "drawn": winners[None],
        "plies": sum(record.plies for record in records),
        "seconds": round(seconds, 3),
    }


def describe_served(result: dict[str, Any]) -> str:
    """The result of `dancfr serve geister`."""
    states = Counter(game["status"] for game in result["games"])
    told = ", ".join(f"{count} {status}" for status, count in states.items()) or "none"
    first, second = result["won"]
    return (
        f"games: {told}; won by the first player {first}, by the second {second}, drawn {result['drawn']}; "
        f"{result['plies']:,} plies, {duration(result['seconds'])}"
    )


def connect_command(host: str, port: int, agent: str, games: int, seed: int, patience_s: float) -> dict[str, Any]:
    """Lets an agent play games at a server.

    Raises:
        UsageError: no such agent or host, or a number out of range.
        RunError: see `dancfr.serve.geister.connect.stay`.
    """
    if not 1 <= port <= 65_535:
        raise UsageError(f"--port must be from 1 to 65535, not {port}")
    if games < 1:
        raise UsageError(f"--games must be at least 1, not {games}")
    _check_seed(seed)
    if not 0 <= patience_s < LONGEST_S:
        raise UsageError(f"--retry must be at least 0 and below {LONGEST_S:,.0f}, not {patience_s:g}")
    player = _player(agent)
    warm_up([player])
    client = Client(*player, seed)
    told: Stay = run_until_signal(lambda stop: stay(host, port, client, games, patience_s, stop))
    return told.as_result() | {"agent": agent}


def describe_stay(result: dict[str, Any]) -> str:
    """The result of `dancfr connect geister`."""
    count = result["games"]
    return (
        f"{result['status']}: {count} {'game' if count == 1 else 'games'}, {result['won']} won, {result['lost']} lost, "
        f"{result['drawn']} drawn; {result['decisions']:,} decisions, {duration(result['seconds'])}"
    )


def warm_up(players: Sequence[Player]) -> None:
    """Lets agents play the first moves at either seat, so that no clock runs while something is compiled."""
    with telling_of_compiling():
        for seat, player in ((seat, player) for player in [*players, None] for seat in (0, 1)):
            referee = Referee()
            client = None if player is None else Client(*player)
            referee.choose(1 - seat, "SET:ABCD")
            referee.choose(seat, "SET:ABCD" if client is None else str(client.receive(SET_ASKED)))
            while not referee.ending and referee.plies < _WARM_UP_PLIES:
                if client is not None and referee.mover == seat:
                    client.receive(referee.move(str(client.receive(MOVE_ASKED + referee.board(seat)))))
                else:
                    referee.move("MOV:A,SOUTH" if referee.plies // 2 % 2 else "MOV:A,NORTH")
