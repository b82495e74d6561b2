"""`dancfr play` and `dancfr replay`: starts the server, says where the page is, and opens it."""

import asyncio
import os
import secrets
import sys
import webbrowser
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from dancfr.agents.by_name import list_agents, make_agent
from dancfr.agents.league.fingerprint import fingerprint
from dancfr.agents.match_rules import match_rules
from dancfr.agents.pretrained import PREFIX
from dancfr.agents.searching import hurried
from dancfr.errors import DancfrError, UsageError, one_line, warn
from dancfr.evaluation.bots import bots
from dancfr.games.registry import all_games, make_game, read_options
from dancfr.methods.agent_name import parse_name
from dancfr.runs.recorded_games import check_folder, read_record
from dancfr.serve.browser.displays import display_of, offered, page_of
from dancfr.serve.browser.room import Room, RoomSettings
from dancfr.serve.browser.server import ServerSettings, run_server
from dancfr.serve.browser.table import Plain, Step
from dancfr.serve.commands import USER, check_at_least, check_seconds, compile_notice, run_until_signal
from dancfr.serve.network import check_listening, check_port, is_loopback, join_address
from dancfr.serve.origins import read_public_url
from dancfr.serve.position import Position, replayed
from dancfr.serve.thread import leave_agents
from dancfr.values import count, show, split_settings
from envs.agent import Agent
from envs.game import GameBase

RECORDS = Path("runs/games")
"""Where games are recorded unless the command names another folder."""

WATCHED_PACE, PLAYED_PACE = 1.0, 0.5
"""Seconds between moves of agents, where nothing else is asked for."""

_WARM_UP_PLIES = 6


@dataclass(frozen=True)
class PageOptions:
    """Options of both commands; see `dancfr play --help`."""

    host: str = "127.0.0.1"
    port: int = 0
    pace: float | None = None
    tables: int = 64
    idle_minutes: float = 60.0
    open_browser: bool = True
    public_url: str | None = None


@dataclass(frozen=True)
class PlayOptions:
    """Options of `dancfr play`."""

    game: str
    agent: str | None = None
    seat: int | None = None
    agents: str = ""
    study: bool = False
    records: Path | None = RECORDS
    seed: int | None = None
    options: tuple[str, ...] = ()
    page: PageOptions = PageOptions()


def play(wanted: PlayOptions) -> Plain:
    """Serves tables of a game until Ctrl-C.

    Returns:
        The address, and how many tables there were.

    Raises:
        UsageError: a name, option or number is not valid, or the server cannot listen.
    """
    _check(wanted.page)
    check_at_least("--seed", wanted.seed, 0)
    players = make_game(wanted.game, **read_options(wanted.game, wanted.options)).spec.num_players
    seats = _seats(wanted, players)
    named = tuple(dict.fromkeys(name for name in seats if name is not None))
    game, options = match_rules(wanted.game, named, _settings(wanted, seats))
    made = [make_agent(name, game) for name in named]  # a wrong name is reported before the page opens
    quick = [
        agent if hurried(name) == name else make_agent(hurried(name), game)
        for name, agent in zip(named, made, strict=True)
    ]
    with compile_notice():
        _warm_up(game, quick)
    others = [each["name"] for each in list_agents(game)]
    watching = all(name is not None for name in seats)
    pace = wanted.page.pace if wanted.page.pace is not None else WATCHED_PACE if watching else PLAYED_PACE
    settings = RoomSettings(
        name=wanted.game,
        options=options,
        agents=tuple(dict.fromkeys((*named, *others))),
        seats=seats,
        seed=secrets.randbits(64) if wanted.seed is None else wanted.seed,
        records=wanted.records,
        pace=pace,
        study=wanted.study,
        tables=wanted.page.tables,
        idle_s=60 * wanted.page.idle_minutes,
    )

    def make_room(thread: Executor) -> Room:
        room = Room(game, settings, lambda name: make_agent(name, game), thread, cache(partial(fingerprint, game=game)))
        if watching:
            room.watch()
        return room

    return _serve(make_room, wanted.page, _who_plays(wanted, seats), _kept(wanted.records), wanted.records)


def replay(file: Path, page: PageOptions) -> Plain:
    """Shows a recorded game until Ctrl-C.

    Returns:
        The address, and how many tables there were.

    Raises:
        UsageError: the file is not a recorded game, or the server cannot listen.
    """
    _check(page)
    recording = read_record(file)
    header = recording.header
    settings = [f"{name}={show(value)}" for name, value in header.options.items()]
    game = make_game(header.game, **read_options(header.game, settings))
    if len(header.players) != game.spec.num_players:
        raise UsageError(f"{file}: {header.game} has {game.spec.num_players} players, not {len(header.players)}")
    with compile_notice():
        _warm_up(game, ())
    position, actions, damage = replayed(recording, game)
    if damage:
        warn(f"{file}: {damage}; what follows is left out")
    start = Position(game, position.seed, position.deal)
    steps = _steps(start, actions, [move.ms for move in recording.moves])
    names = [player.name for player in header.players]
    agents = [each["name"] for each in list_agents(game)]
    recorded = [player.name for player in header.players if player.kind == "agent" and _base_of(player.name) in agents]
    shown = RoomSettings(
        name=header.game,
        options=dict(header.options),
        agents=tuple(dict.fromkeys((*recorded, *agents))),
        seats=tuple(names),
        seed=position.seed,
        records=None,
        pace=WATCHED_PACE if page.pace is None else page.pace,
        study=True,
        tables=page.tables,
        idle_s=60 * page.idle_minutes,
    )

    def make_room(thread: Executor) -> Room:
        room = Room(game, shown, lambda name: make_agent(name, game), thread)
        room.show(position, steps, names)
        return room

    about = f"{header.game}, {count(len(steps), 'move')}: {_by_seat(names)}"
    return _serve(make_room, page, about, "what is played from here on is not recorded")


def _steps(start: Position, actions: Sequence[Any], times: Sequence[int]) -> list[Step]:
    """The moves of a game, with the states before them."""
    steps = []
    for action, ms in zip(actions, times, strict=False):
        steps.append(Step(start.states, start.mover, action, ms))
        start.play(action)
    return steps


def _base_of(name: str) -> str | None:
    """The name of an agent without iteration and options; None if a record has a text that names none."""
    try:
        return parse_name(name).base
    except UsageError:
        return None


def _check(page: PageOptions) -> None:
    check_port(page.port)
    check_at_least("--tables", page.tables, 1)
    check_seconds("--idle-minutes", page.idle_minutes)
    read_public_url(page.public_url)
    if page.pace is not None:
        check_seconds("--pace", page.pace, zero=True)
        if page.pace > 60:
            raise UsageError(f"--pace must be at most 60 seconds, got {page.pace:g}")


def _seats(wanted: PlayOptions, players: int) -> tuple[str | None, ...]:
    """The agent of each seat, None for a user."""
    if wanted.agents and (wanted.agent is not None or wanted.seat is not None):
        raise UsageError("--agents names all seats: leave out --agent and --seat")
    if wanted.agents:
        names = [part.strip() for part in wanted.agents.split(",")]
        if len(names) != players:
            raise UsageError(
                f"--agents needs {players} names with commas between them, got {len(names)}: - is you, and for one "
                "opponent --agent NAME is enough"
            )
        if "" in names:
            raise UsageError(f"--agents has an empty name, got {wanted.agents!r}: write - for your seat")
        return tuple(None if name == USER else name for name in names)
    seat = 0 if wanted.seat is None else wanted.seat
    if not 0 <= seat < players:
        raise UsageError(f"--seat must be from 0 to {players - 1}, got {seat}")
    agent = default_agent(wanted) if wanted.agent is None else wanted.agent
    return tuple(None if player == seat else agent for player in range(players))


def _settings(wanted: PlayOptions, seats: Sequence[str | None]) -> tuple[str, ...]:
    """The options of the game: those of the command, and those of `GameRecord.for_people` if there are any people."""
    if None not in seats:
        return wanted.options
    given = split_settings(wanted.options)
    record = all_games().get(wanted.game)
    people = {} if record is None else record.for_people
    more = [f"{key}={show(value)}" for key, value in people.items() if key not in given]
    return (*wanted.options, *more)


def default_agent(wanted: PlayOptions) -> str:
    """The pretrained agent of a game, or else its last bot, which is the strongest one in the games of this package."""
    game = make_game(wanted.game, **read_options(wanted.game, wanted.options))
    for each in list_agents(game, root=Path("/nonexistent")):
        if each["name"].replace("-", "_") == f"{PREFIX}{wanted.game}".replace("-", "_"):
            return str(each["name"])
    return list(bots(game))[-1]


def _who_plays(wanted: PlayOptions, seats: Sequence[str | None]) -> str:
    """Describes who has which seat, and how another opponent is chosen if the command has not chosen one."""
    people = [seat for seat, name in enumerate(seats) if name is None]
    names = [name or ("you" if seat == people[0] else "another person") for seat, name in enumerate(seats)]
    told = f"{wanted.game}: {_by_seat(names)}"
    if not people:
        return f"{told}; you watch"
    if len(people) > 1:
        return f"{told}; your page has links for other people"
    if wanted.agents or wanted.agent is not None:
        return told
    return f"{told}; --agent names another opponent, see `dancfr agents {wanted.game}`"


def _by_seat(names: Sequence[str]) -> str:
    return ", ".join(f"seat {seat} is {name}" for seat, name in enumerate(names))


def _kept(records: Path | None) -> str:
    """Describes where games are recorded."""
    return "games are not recorded" if records is None else f"games are recorded in {records}, for `dancfr replay FILE`"


def _serve(
    make_room: Callable[[Executor], Room], page: PageOptions, about: str, kept: str, records: Path | None = None
) -> Plain:
    """Serves a room until a signal.

    Args:
        make_room: Makes the room, given the thread of the agents.
        page: How to listen.
        about: The game and its players, for the terminal.
        kept: What is recorded.
        records: Folder for records, made once nothing else can be refused.
    """
    token = secrets.token_urlsafe(18)
    public = read_public_url(page.public_url)
    address = ""

    def announce(port: int) -> None:
        nonlocal address
        shown = "127.0.0.1" if page.host in ("0.0.0.0", "::") else page.host
        here = f"http://{join_address(shown, port)}"
        address = f"{here if public is None else public}/?token={token}"
        if not is_loopback(page.host):
            warn(f"--host {page.host}: anyone who knows the address with its token can take a seat")
        if public is not None:
            warn(f"listening on {here}, which is where {public} has to lead")
        opens = page.open_browser and _has_browser()
        how = "it opens in your browser" if opens else "open this address in a browser"
        warn(f"{about}\nthe page: {address}\n{how}; {kept}")
        warn("Ctrl-C here ends the server; a page that was closed can be opened again until then")
        if opens:
            webbrowser.open(address)

    async def main(stop: asyncio.Event) -> Plain:
        await check_listening(page.host, page.port)
        check_folder(records)
        settings = ServerSettings(page.host, page.port, token, public=public)
        return await run_server(make_room, settings, stop, announce)

    summary = run_until_signal(main)
    return {"address": address, **summary}


def _warm_up(game: GameBase, agents: Sequence[Agent]) -> None:
    """Plays the first moves of a game and writes them down, so that no user waits for kernels at a page.

    Raises:
        UsageError: the game or an agent fails.
    """
    try:
        _play_first_moves(game, agents)
    except DancfrError:
        raise
    except Exception as error:  # rules of other packages, such as an OpenSpiel game's
        raise UsageError(f"{game.spec.name} cannot be played: {one_line(error)}") from None


def _play_first_moves(game: GameBase, agents: Sequence[Agent]) -> None:
    page_of(game)
    display, position, rng = display_of(game), Position(game, 0), np.random.default_rng(0)
    for agent in agents:
        agent.begin(game, 1, rng)
    while not position.over and position.ply < _WARM_UP_PLIES:
        before = position.states
        for agent in agents:
            agent.act(before, np.zeros(1, np.int64), rng)
        offered(display, before)
        action = position.actions[-1]
        position.play(action)
        for viewer in (None, 0):
            display.scene(position.states[0], viewer)
            display.event(before[0], action, position.states[0], viewer)
    position.returns, position.ending  # noqa: B018


def _has_browser() -> bool:
    """Whether a window can be opened: a browser in the terminal would take it from the server."""
    if not sys.stderr.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def describe(result: Plain) -> str:
    """The result in one line."""
    return f"{count(result['tables'], 'table')}, {count(result['finished'], 'game')} finished"


__all__ = ["PageOptions", "PlayOptions", "describe", "leave_agents", "play", "replay"]
