"""`dancfr serve` and `dancfr connect`."""

import asyncio
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from dancfr.errors import UsageError, nearest, warn
from dancfr.evaluation.agents import make_agent
from dancfr.output import Result
from dancfr.progress import COMPILING, duration
from dancfr.registry import make_game, read_options
from dancfr.serve.client import MATCH, Client
from dancfr.serve.connect import Stay, check_url, is_loopback, stay
from dancfr.serve.lobby import MakeClient
from dancfr.serve.notation import JOKER_BOMBS, JokerBomb
from dancfr.serve.room import Record, Rules
from dancfr.serve.server import ServerSettings, check_listening, run_server
from dancfr.serve.table import Table
from envs.agent import RaggedAgent
from envs.guandan import GuanDan
from envs.guandan.state import SEATS

GAMES = ("guandan",)
LONGEST_S = 1e6
NO_AGENT = "-"
SILENT_S = 4.0
"""Kernels that are cached are loaded in less."""

_WARM_UP_ROUNDS = 2

T = TypeVar("T")


@dataclass(frozen=True)
class ServeRequest:
    """What `dancfr serve` was asked for; see its options.

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


def serve_command(request: ServeRequest) -> Result:
    """Runs a server until a signal comes or its tables are played.

    Raises:
        UsageError: an option that does not fit, or no listening there.
    """
    check_game(request.game)
    rules = _rules(request)
    names = split_agents(request.agents)
    agents = [None if name is None else (name, _maker(name, rules.game, request.seed)) for name in names]
    settings = ServerSettings(request.host, request.port, request.tables, request.rate)
    asyncio.run(check_listening(settings))
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
    if not 0 <= request.port <= 65_535:
        raise UsageError(f"--port must be from 0 to 65535, not {request.port}")
    for option, value, least in (("--matches", request.matches, 1), ("--seed", request.seed, 0)):
        if value < least:
            raise UsageError(f"{option} must be at least {least}, not {value}")
    if request.tables is not None and request.tables < 1:
        raise UsageError(f"--tables must be at least 1, not {request.tables}")
    for option, number in (("--clock", request.clock), ("--rate", request.rate)):
        if not 0 < number < LONGEST_S:
            raise UsageError(f"{option} must be above 0 and below {LONGEST_S:,.0f}, not {number:g}")
    if request.joker_bomb not in JOKER_BOMBS:
        raise UsageError(f"--joker-bomb is {' or '.join(JOKER_BOMBS)}, not {request.joker_bomb!r}")
    joker_bomb: JokerBomb = "recording" if request.joker_bomb == "recording" else "competition"
    options = {"length": "match", "situation": "first"} | read_options(request.game, request.options)
    game: Any = make_game(request.game, **options)
    return Rules(game, request.matches, request.clock, joker_bomb, request.seed)


def split_agents(text: str) -> list[str | None]:
    """Names of agents by seat, None for users: ``-,planner,-,planner``, or fewer names for the last seats.

    Raises:
        UsageError: more names than seats, or no seat left for a user.
    """
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if len(parts) > SEATS:
        raise UsageError(f"--agents names {len(parts)} seats, but there are {SEATS}")
    names = [None] * (SEATS - len(parts)) + [None if part in ("", NO_AGENT) else part for part in parts]
    if None not in names:
        raise UsageError("--agents leaves no seat for a user: use `dancfr evaluate` to let agents play one another")
    return names


def _maker(name: str, game: GuanDan, seed: int) -> MakeClient:
    def make(table: int, seat: int) -> Client:
        of_seat = np.random.SeedSequence([seed, table, seat, 1]).generate_state(1)[0]
        return Client(_agent(name, game), game, int(of_seat))

    return make


def _agent(name: str, game: GuanDan) -> RaggedAgent:
    agent: Any = make_agent(name, game)
    return agent


def _served(records: list[Record], seconds: float) -> Result:
    return {
        "tables": [record.as_result() for record in records],
        "matches": sum(record.matches for record in records),
        "decisions": sum(record.decisions for record in records),
        "timeouts": sum(sum(record.timeouts) for record in records),
        "seconds": round(seconds, 3),
    }


def describe_served(result: Result) -> str:
    """The result of `dancfr serve`."""
    tables = result["tables"]
    states = Counter(table["status"] for table in tables)
    told = ", ".join(f"{count} {status}" for status, count in states.items()) or "none"
    return (
        f"tables: {told}; {result['matches']} matches, {result['decisions']:,} decisions, "
        f"{result['timeouts']:,} out of time; {duration(result['seconds'])}"
    )


def connect_command(game: str, url: str, agent: str, seed: int, patience_s: float) -> Result:
    """Lets an agent play at a server until that ends the game.

    Raises:
        UsageError: no such game or agent, or no address.
        RunError: see `dancfr.serve.connect.stay`.
    """
    check_game(game)
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


def describe_stay(result: Result) -> str:
    """The result of `dancfr connect`."""
    how = {"finished": "the matches are played", "ended": "the server has ended the game", "stopped": "stopped"}
    seat, won = result["seat"], result["victories"]
    score = "" if won is None or seat is None else f", {won[seat]} won to {won[(seat + 1) % SEATS]}"
    return f"{how[result['status']]}{score}: {result['decisions']:,} decisions, {duration(result['seconds'])}"


def check_game(game: str) -> None:
    """Refuses games that have no messages."""
    if game not in GAMES:
        raise UsageError(nearest(game, GAMES, "game with the competition's messages"))


def warm_up(agents: list[Any], game: GuanDan) -> None:
    """Lets agents play some rounds, so that no clock runs while something is compiled."""
    slow = threading.Timer(SILENT_S, warn, [COMPILING])
    slow.start()
    try:
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
    finally:
        slow.cancel()


class _First:
    """Plays the first legal action."""

    def begin(self, game: Any, batch: int, rng: Any) -> None:
        self._game = game

    def act(self, states: Any, games: Any, rng: Any) -> Any:
        return self._game.legal(states).rows[:1]


def run_until_signal(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine with an event that Ctrl-C and SIGTERM set; the second signal ends at once.

    Returns:
        What the coroutine returns; what it raises goes on to the caller.
    """

    async def run() -> T:
        """What `main` returns; the handlers are of the loop that it runs in."""
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)

        def asked() -> None:
            """The first signal; the next one takes its usual way."""
            stop.set()
            for number in signals:
                loop.remove_signal_handler(number)

        with suppress(NotImplementedError, ValueError, RuntimeError):  # not in the main thread
            for number in signals:
                loop.add_signal_handler(number, asked)
        return await main(stop)

    return asyncio.run(run())
