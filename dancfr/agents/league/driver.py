"""`dancfr league`: agents play each other, batch by batch, as a budget allows."""

from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from actors.pool import PoolEvent, WorkerPool
from actors.runtime import Ref, Runtime
from dancfr.agents.by_name import make_agent
from dancfr.agents.league.config import Result
from dancfr.agents.league.fingerprint import fingerprint
from dancfr.agents.league.folder import GAMES, RATINGS, LeagueFolder, read_config
from dancfr.agents.league.membership import MINUTES, League, LeagueRequest, apply_request
from dancfr.agents.league.rounds import Batch, next_batches
from dancfr.agents.league.standings import standings
from dancfr.errors import UsageError, require_packages, warn
from dancfr.evaluation.arena import play
from dancfr.methods.agent_name import HUB
from dancfr.methods.launch import one_line_errors
from dancfr.methods.options import check_place
from dancfr.methods.run_actors import make_runtime
from dancfr.methods.stopping import OutOfTime, Stop, catching
from envs.agent import Agent
from envs.game import GameBase

PUBLISH_EVERY_S = 60.0
"""Seconds between writings of the ratings and the picture, at least."""

LINE_EVERY_S = 10.0
"""Seconds between lines of progress, at least."""

DEADLINE_S = 3600.0
"""Seconds after which a worker that plays a batch counts as hanging."""

Draw = Callable[[Path, dict[str, Any]], str]
"""Draws standings into a folder and returns the path of the picture."""


def play_league(request: LeagueRequest, draw: Draw) -> dict[str, Any]:
    """Changes the members of a league, lets them play, and writes the standings; see `dancfr.agents.league.folder`.

    The first Ctrl-C or SIGTERM lets the batches under way end, for a few seconds, and then writes the standings.

    Returns:
        What `standings` returns, and ``folder``, ``games_now`` (played by this call), ``seconds`` and ``files``.

    Raises:
        UsageError: see `LeagueRequest` and `apply_request`, or the folder is in use or holds something else. Nothing
            was written.
        PackageMissing: games are to be played, and torch is not installed. Nothing was written.
        RunError: an agent returned an illegal action, or workers failed. Results so far are kept.
    """
    check_place(request.options)
    if request.games != 0:
        require_packages("torch")  # before the folder is made
    started = monotonic()
    league = apply_request(request, None) if read_config(request.folder) is None else None
    with LeagueFolder(request.folder) as folder:
        stored = read_config(request.folder)
        if league is None or stored is not None:
            league = apply_request(request, stored)
        results = folder.results()
        before = sum(result.games for result in results)
        _tell_changes(league, results)
        folder.write_config(league.config)

        def publish() -> dict[str, Any]:
            found = standings(league.config, results)
            return found | {"files": [str(folder.write(RATINGS, found)), draw(folder.path, found)]}

        if request.games != 0:
            _play(request, league, folder, results, publish)
        found = publish()
    return {
        "folder": str(request.folder),
        **found,
        "games_now": sum(result.games for result in results) - before,
        "seconds": monotonic() - started,
    }


def _tell_changes(league: League, results: list[Result]) -> None:
    """Prints a line about each member that has changed since it was last seen."""
    for member in league.changed:
        games = sum(result.games for result in results if member.fingerprint in result.fingerprints)
        base, what = member.name.partition("?")[0], "has been trained on or plays by other settings"
        how = "iteration (--add {}@N)"
        if base.startswith(HUB):
            base, what, how = base.partition("@")[0], "has a new commit", "commit (--add {}@COMMIT)"
        warn(
            f"{member.name} {what}: its {games:,} games stay in {GAMES} and no longer count, unless the former version "
            f"is added by its {how.format(base)}"
        )


def _play(
    request: LeagueRequest,
    league: League,
    folder: LeagueFolder,
    results: list[Result],
    publish: Callable[[], dict[str, Any]],
) -> None:
    """Plays round after round until the budget is spent or a signal comes; appends to `results` and the folder."""
    budget, progress = Budget(request.minutes, request.games), Progress()
    published = monotonic()
    with one_line_errors(), catching("stopping after the games under way") as stop:
        runtime = make_runtime(request.options)
        try:
            lineup = Lineup(league, runtime)
            with _start_pool(runtime, league.rules) as pool, stop.limited():
                while not (stop.requested or budget.spent):
                    tasks = _tasks(next_batches(league.config, results), lineup, budget, stop)
                    for _, result, _ in pool.run(LeaguePlayer.play, tasks):
                        folder.append(result)
                        results.append(result)
                        progress.show(result)
                    if monotonic() - published >= PUBLISH_EVERY_S:
                        publish()
                        published = monotonic()
        except OutOfTime:
            warn("the games under way did not end in time and are left out")
        finally:
            runtime.shutdown()


def _start_pool(runtime: Runtime, rules: GameBase) -> WorkerPool["LeaguePlayer"]:
    def report(event: PoolEvent) -> None:
        if event.kind in ("died", "late", "raised"):
            warn(str(event))

    return WorkerPool(runtime, LeaguePlayer, (rules,), runtime.workers, deadline_s=DEADLINE_S, on_event=report)


def _tasks(batches: list[Batch], lineup: "Lineup", budget: "Budget", stop: Stop) -> Iterator[tuple[Batch, Ref, Ref]]:
    """Hands out batches until the budget is spent or a signal comes."""
    for batch in batches:
        if stop.requested or budget.spent:
            return
        budget.spend(batch.games)
        one, other = batch.agents
        yield batch, lineup.ref(one), lineup.ref(other)


class LeaguePlayer:
    """Plays batches of games; one per process.

    Args:
        rules: The game.
    """

    def __init__(self, rules: GameBase) -> None:
        self._rules = rules

    def play(self, batch: Batch, one: Agent, other: Agent) -> tuple[Result, None]:
        """Plays the games of a batch; the result depends on the batch's seed and the agents only."""
        match = play(self._rules, (one, other), batch.games, np.random.default_rng(batch.seed))
        return Result.of(match, **batch.about), None


class Lineup:
    """The members' agents where workers can read them; each is made before its first game.

    Args:
        league: The league.
        runtime: Runs the workers.
    """

    def __init__(self, league: League, runtime: Runtime) -> None:
        self._league, self._runtime = league, runtime
        self._known = {member.name: member.fingerprint for member in league.config.members}
        self._refs: dict[str, Ref] = {}

    def ref(self, name: str) -> Ref:
        """Returns a ref to the agent of a member.

        Raises:
            UsageError: the run of the member has been trained on since the command began.
        """
        if name not in self._refs:
            rules = self._league.rules
            agent = self._league.agents.get(name) or make_agent(name, rules)
            if fingerprint(name, rules) != self._known[name]:
                raise UsageError(f"{name} is being trained: wait for its end, or add one of its iterations, as in x@40")
            self._refs[name] = self._runtime.put(agent)
        return self._refs[name]


class Budget:
    """Time and games that a command may play. The clock starts with the first game.

    Args:
        minutes: Minutes; None for no limit, if there is one of games.
        games: Number of games; None for no limit.
    """

    def __init__(self, minutes: float | None, games: int | None) -> None:
        minutes = MINUTES if minutes is None and games is None else minutes
        self._seconds = None if minutes is None else 60 * minutes
        self._games = games
        self._spent = 0
        self._started: float | None = None

    def spend(self, games: int) -> None:
        """Counts games that are handed out."""
        if self._started is None:
            self._started = monotonic()
        self._spent += games

    @property
    def spent(self) -> bool:
        """Whether no further batch may be begun."""
        late = self._seconds is not None and self._started is not None and monotonic() - self._started >= self._seconds
        return late or (self._games is not None and self._spent >= self._games)


class Progress:
    """Prints a line about the newest result from time to time."""

    def __init__(self) -> None:
        self._games = 0
        self._next = monotonic() + LINE_EVERY_S

    def show(self, result: Result) -> None:
        """Counts a result and prints it if the last line is old enough."""
        self._games += result.games
        if monotonic() < self._next:
            return
        self._next = monotonic() + LINE_EVERY_S
        one, other = result.agents
        line = f"{one} has won {result.wins} of {result.games} games against {other}, and lost {result.losses}"
        warn(f"{self._games:,} games; {line}")
