"""The commands `dancfr serve guandan` and `dancfr connect guandan`."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.by_name import make_agent
from dancfr.games.registry import make_game_as, read_options
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
from dancfr.serve.guandan.client import MATCH, Client
from dancfr.serve.guandan.connect import check_url, play_at
from dancfr.serve.guandan.hosted_table import TableRecord, TableRules
from dancfr.serve.guandan.lobby import MakeClient
from dancfr.serve.guandan.notation import JokerBomb
from dancfr.serve.guandan.server import ServerSettings, run_server
from dancfr.serve.guandan.table import Table
from dancfr.serve.network import announce, check_listening, check_port
from dancfr.serve.origins import read_public_url
from dancfr.watch.progress import duration
from envs.game import ListedGame, States
from envs.guandan import GuanDan
from envs.guandan.rules.state import SEATS

_WARM_UP_ROUNDS = 2


@dataclass(frozen=True)
class ServeOptions:
    """The options of `dancfr serve guandan`; see its help.

    Attributes:
        options: Options of the game, as ``key=value``.
    """

    host: str
    port: int
    matches: int
    tables: int | None
    agents: str
    clock: float
    rate: float
    seed: int
    joker_bomb: JokerBomb
    options: Sequence[str] = ()
    records: Path | None = None
    public_url: str | None = None


def serve(options: ServeOptions) -> dict[str, Any]:
    """Runs a server until a signal arrives or all tables are played.

    Raises:
        UsageError: An option is wrong, or the server cannot listen at the address.
    """
    rules = _check(options)
    names = split_agents(options.agents, SEATS)
    agents = [None if name is None else (name, _maker(name, rules.game, options.seed)) for name in names]
    public = read_public_url(options.public_url)
    settings = ServerSettings(options.host, options.port, options.tables, options.rate, public)
    asyncio.run(check_listening(settings.host, settings.port))
    players = [make_agent(name, rules.game) for name in dict.fromkeys(filter(None, names))]
    check_folder(options.records)
    warm_up(players, rules.game)
    started = time.monotonic()

    def on_listening(url: str) -> None:
        users = names.count(None)
        announce(settings.host, f"{url}NAME; {users} {'users fill' if users > 1 else 'user fills'} a table")

    records = run_until_signal(lambda stop: run_server(settings, rules, agents, stop, on_listening))
    return _result(records, time.monotonic() - started)


def _check(options: ServeOptions) -> TableRules:
    check_port(options.port)
    check_at_least("--matches", options.matches, 1)
    check_at_least("--tables", options.tables, 1)
    check_at_least("--seed", options.seed, 0)
    check_seconds("--clock", options.clock)
    check_seconds("--rate", options.rate)
    game_options = {"length": "match", "situation": "first"} | read_options("guandan", options.options)
    game = make_game_as(GuanDan, "guandan", **game_options)
    return TableRules(
        game, options.matches, options.clock, options.joker_bomb, options.seed, options.records, game_options
    )


def _maker(name: str, game: GuanDan, seed: int) -> MakeClient:
    """Makes clients of the agent `name`, a new agent for each table and seat."""
    return lambda table, seat: Client(make_agent(name, game), game, seed_of(seed, table, seat, 1))


def _result(records: list[TableRecord], seconds: float) -> dict[str, Any]:
    return {
        "tables": [asdict(record) for record in records],
        "matches": sum(record.matches for record in records),
        "decisions": sum(record.decisions for record in records),
        "timeouts": sum(sum(record.timeouts) for record in records),
        "seconds": round(seconds, 3),
    }


def describe_served(result: dict[str, Any]) -> str:
    """The result of `dancfr serve guandan` for people."""
    return (
        f"tables: {count_statuses(result['tables'])}; {result['matches']} matches, {result['decisions']:,} decisions, "
        f"{result['timeouts']:,} out of time; {duration(result['seconds'])}"
    )


def connect(url: str, agent: str, seed: int, patience_s: float) -> dict[str, Any]:
    """Lets an agent play at a server until the server ends the matches.

    Raises:
        UsageError: There is no such agent, or an option is wrong.
        RunError: See `dancfr.serve.guandan.connect.play_at`.
    """
    check_url(url)
    check_at_least("--seed", seed, 0)
    check_seconds("--retry", patience_s, zero=True)
    player = make_agent(agent, MATCH)
    warm_up([player], MATCH)
    client = Client(player, MATCH, seed)
    return asdict(run_until_signal(lambda stop: play_at(url, client, patience_s, stop))) | {"agent": agent}


def describe_connected(result: dict[str, Any]) -> str:
    """The result of `dancfr connect guandan` for people."""
    how = {"finished": "the matches are played", "ended": "the server has ended the game", "stopped": "stopped"}
    seat, won = result["seat"], result["victories"]
    score = "" if won is None or seat is None else f", {won[seat]} won to {won[(seat + 1) % SEATS]}"
    return f"{how[result['status']]}{score}: {result['decisions']:,} decisions, {duration(result['seconds'])}"


def warm_up(agents: list[Any], game: GuanDan) -> None:
    """Lets agents play some rounds, so that kernels are compiled before any clock runs."""
    with compile_notice():
        for agent in agents or [_FirstAction()]:
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


class _FirstAction:
    """An agent that plays the first legal action."""

    name = "first action"

    def begin(self, game: ListedGame, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        return self._game.legal(states).rows[:1]
