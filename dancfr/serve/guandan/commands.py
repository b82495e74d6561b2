"""`dancfr serve guandan` and `dancfr connect guandan`."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dancfr.agents.by_name import make_agent
from dancfr.errors import UsageError, warn
from dancfr.games.registry import make_game, read_options
from dancfr.serve.commands import (
    LONGEST_S,
    check_game,
    check_listening,
    check_port,
    check_seconds,
    run_until_signal,
    split_agents,
    telling_of_compiling,
)
from dancfr.serve.guandan.client import MATCH, Client
from dancfr.serve.guandan.connect import Stay, check_url, is_loopback, stay
from dancfr.serve.guandan.hosted_table import Record, Rules
from dancfr.serve.guandan.lobby import MakeClient
from dancfr.serve.guandan.notation import JOKER_BOMBS, JokerBomb
from dancfr.serve.guandan.server import ServerSettings, run_server
from dancfr.serve.guandan.table import Table
from dancfr.watch.progress import duration
from envs.agent import RaggedAgent
from envs.guandan import GuanDan
from envs.guandan.state import SEATS

GAMES = ("guandan",)
_WARM_UP_ROUNDS = 2


@dataclass(frozen=True)
class ServeRequest:
    """What `dancfr serve guandan` was asked for; see its options.

    Attributes:
        joker_bomb: One of `JOKER_BOMBS`.
        options: Of the game, as ``key=value``.
    """

    game: str
    host: str
    port: int
    matches: int
    tables: int | None
    agents: str
    clock: float
    rate: float
    seed: int
    joker_bomb: str
    options: Sequence[str] = ()


def serve_command(request: ServeRequest) -> dict[str, Any]:
    """Runs a server until a signal comes or its tables are played.

    Raises:
        UsageError: an option that does not fit, or no listening there.
    """
    check_game(request.game, GAMES)
    rules = _rules(request)
    names = split_agents(request.agents)
    agents = [None if name is None else (name, _maker(name, rules.game, request.seed)) for name in names]
    settings = ServerSettings(request.host, request.port, request.tables, request.rate)
    asyncio.run(check_listening(settings.host, settings.port))
    warm_up([make_agent(name, rules.game) for name in dict.fromkeys(filter(None, names))], rules.game)
    started = time.monotonic()

    def listening(url: str) -> None:
        free = names.count(None)
        if not is_loopback(settings.host):
            warn(f"--host {settings.host}: whoever reaches this machine can take a seat")
        warn(f"listening on {url}NAME; {free} {'users make' if free > 1 else 'user makes'} a table; Ctrl-C ends")

    records = run_until_signal(lambda stop: run_server(settings, rules, agents, stop, listening))
    return _served(records, time.monotonic() - started)


def _rules(request: ServeRequest) -> Rules:
    check_port(request.port)
    for option, value, least in (("--matches", request.matches, 1), ("--seed", request.seed, 0)):
        if value < least:
            raise UsageError(f"{option} must be at least {least}, not {value}")
    if request.tables is not None and request.tables < 1:
        raise UsageError(f"--tables must be at least 1, not {request.tables}")
    for option, number in (("--clock", request.clock), ("--rate", request.rate)):
        check_seconds(option, number)
    if request.joker_bomb not in JOKER_BOMBS:
        raise UsageError(f"--joker-bomb is {' or '.join(JOKER_BOMBS)}, not {request.joker_bomb!r}")
    joker_bomb: JokerBomb = "recording" if request.joker_bomb == "recording" else "competition"
    options = {"length": "match", "situation": "first"} | read_options(request.game, request.options)
    game: Any = make_game(request.game, **options)
    return Rules(game, request.matches, request.clock, joker_bomb, request.seed)


def _maker(name: str, game: GuanDan, seed: int) -> MakeClient:
    def make(table: int, seat: int) -> Client:
        of_seat = np.random.SeedSequence([seed, table, seat, 1]).generate_state(1)[0]
        return Client(_agent(name, game), game, int(of_seat))

    return make


def _agent(name: str, game: GuanDan) -> RaggedAgent:
    agent: Any = make_agent(name, game)
    return agent


def _served(records: list[Record], seconds: float) -> dict[str, Any]:
    return {
        "tables": [record.as_result() for record in records],
        "matches": sum(record.matches for record in records),
        "decisions": sum(record.decisions for record in records),
        "timeouts": sum(sum(record.timeouts) for record in records),
        "seconds": round(seconds, 3),
    }


def describe_served(result: dict[str, Any]) -> str:
    """The result of `dancfr serve`."""
    tables = result["tables"]
    states = Counter(table["status"] for table in tables)
    told = ", ".join(f"{count} {status}" for status, count in states.items()) or "none"
    return (
        f"tables: {told}; {result['matches']} matches, {result['decisions']:,} decisions, "
        f"{result['timeouts']:,} out of time; {duration(result['seconds'])}"
    )


def connect_command(game: str, url: str, agent: str, seed: int, patience_s: float) -> dict[str, Any]:
    """Lets an agent play at a server until that ends the game.

    Raises:
        UsageError: no such game or agent, or no address.
        RunError: see `dancfr.serve.guandan.connect.stay`.
    """
    check_game(game, GAMES)
    check_url(url)
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, not {seed}")
    if not 0 <= patience_s < LONGEST_S:
        raise UsageError(f"--retry must be at least 0 and below {LONGEST_S:,.0f}, not {patience_s:g}")
    player = _agent(agent, MATCH)
    warm_up([player], MATCH)
    client = Client(player, MATCH, seed)
    told: Stay = run_until_signal(lambda stop: stay(url, client, patience_s, stop))
    return told.as_result() | {"agent": agent}


def describe_stay(result: dict[str, Any]) -> str:
    """The result of `dancfr connect`."""
    how = {"finished": "the matches are played", "ended": "the server has ended the game", "stopped": "stopped"}
    seat, won = result["seat"], result["victories"]
    score = "" if won is None or seat is None else f", {won[seat]} won to {won[(seat + 1) % SEATS]}"
    return f"{how[result['status']]}{score}: {result['decisions']:,} decisions, {duration(result['seconds'])}"


def warm_up(agents: list[Any], game: GuanDan) -> None:
    """Lets agents play some rounds, so that no clock runs while something is compiled."""
    with telling_of_compiling():
        for agent in agents or [_First()]:
            clients = [Client(agent, game) for _ in range(SEATS)]
            table = Table(game, 0)
            while not table.over and table.state["number"] < _WARM_UP_ROUNDS:
                for seat, message in table.opening() if table.round_ended else ():
                    for each in range(SEATS) if seat is None else [seat]:
                        clients[each].receive(message)
                answer = clients[table.seat].receive(table.act())
                assert answer is not None
                for _, message in table.play(answer["actIndex"]):
                    for client in clients:
                        client.receive(message)


class _First:
    """Plays the first legal action."""

    def begin(self, game: Any, batch: int, rng: Any) -> None:
        self._game = game

    def act(self, states: Any, games: Any, rng: Any) -> Any:
        return self._game.legal(states).rows[:1]
