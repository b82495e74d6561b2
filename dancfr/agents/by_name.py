"""Agents by name: the bots of a game, and trained runs.

random, heuristic, rush          a bot
runs/x                           the newest strategies of the run in that folder
runs/x@40                        those it had after iteration 40
runs/x?average=paper             played as exact, sampled, paper, last or net; the run's own choice if left out
runs/x?threshold=0.5             without actions less probable than that share of the likeliest; joined by & to others

leduc.safetensors                a strategy that `dancfr solve --out` has written
x/best-response.safetensors      the nets of a best response that `dancfr exploit --out x` has trained

Runs of dmc play by one net, the newest or the last one stored up to an iteration, and take none of the options.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from dancfr.errors import UsageError, nearest
from dancfr.evaluation.bots import bots, describe_bot
from dancfr.methods.agent_names import AgentName, parse_name
from dancfr.methods.run_agents import load_run
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.game import Game, RaggedGame

RUNS = Path("runs")
"""Where runs are looked for by `list_agents`; a name may lead anywhere."""


def make_agent(name: str, game: Game | RaggedGame) -> Agent:
    """The agent of that name for `game`, new at each call.

    Raises:
        UsageError: no such bot or run, a run of another game or without strategies, or a damaged file.
    """
    known = bots(game)
    wanted = parse_name(name)
    if not wanted.base:
        raise UsageError(f"{name!r} names no agent; there are: {', '.join(known)}, and the folders of runs")
    if len(wanted.base) > 1000:
        raise UsageError(f"{wanted.base[:40]}... is too long for the name of an agent")
    if wanted.base in known:
        if wanted != AgentName(wanted.base):
            raise UsageError(f"{name}: {wanted.base} is a bot: it has no iterations and no options")
        return known[wanted.base]()
    if os.path.exists(os.path.join(wanted.base, "config.json")):
        return load_run(wanted, game, name)
    if wanted.base.endswith(".safetensors"):
        return _load_strategy(wanted, game, name)
    if os.path.exists(wanted.base) or Path(wanted.base).parent != Path("."):
        near = _near_run(wanted.base)
        raise UsageError(f"{wanted.base} holds no run" + (f"; did you mean {near}?" if near else ""))
    raise UsageError(nearest(wanted.base, [*known, *map(str, _run_folders())], f"agent for {game.spec.name}"))


def _load_strategy(wanted: AgentName, game: Any, name: str) -> Agent:
    """The agent of a tabular strategy, or of a best response."""
    from dancfr.methods.best_response.agent import is_response, load_response
    from dancfr.runs.strategies import load_agent

    if wanted != AgentName(wanted.base):
        raise UsageError(f"{name}: {wanted.base} is one strategy: it has no iterations and no options")
    return load_response(wanted.base, game) if is_response(wanted.base) else load_agent(wanted.base, game)


def identity(name: str, game: Game | RaggedGame) -> AgentName:
    """The agent's name taken apart, with a run's folder in its one form: equal for different spellings of one agent.

    Raises:
        UsageError: see `parse_name`.
    """
    wanted = parse_name(name)
    return wanted if wanted.base in bots(game) else replace(wanted, base=os.path.realpath(wanted.base))


def game_options_of(name: str, game: str) -> dict[str, Any]:
    """Options of the game that a run or a strategy was made under; none for a bot, or those of another game."""
    base = parse_name(name).base
    if base.endswith(".safetensors"):
        from dancfr.methods.best_response.agent import is_response, response_options
        from dancfr.runs.strategies import read_strategy

        if is_response(base):
            return response_options(base, game)
        about = read_strategy(base)[1]
        return dict(about.get("game_options", {})) if about.get("game") == game else {}
    if not os.path.exists(os.path.join(base, "config.json")):  # which takes any text
        return {}
    config = Run.open(base).info["config"]
    if not isinstance(config, dict) or config.get("game") != game:
        return {}
    options = config.get("game_options")
    return dict(options) if isinstance(options, dict) else {}


def list_agents(game: Game | RaggedGame, root: Path = RUNS) -> list[dict[str, Any]]:
    """The bots of a game, then the runs of that game below `root` that have a strategy for each player that is to
    have one: but in runs of dream all players share it."""
    found: list[dict[str, Any]] = [
        {"name": name, "kind": "bot", "description": describe_bot(game.spec.name, name, make)}
        for name, make in bots(game).items()
    ]
    for folder in _run_folders(root):
        try:
            run = Run.open(folder)
        except UsageError:  # a damaged run is named by the command that uses it
            continue
        files = run.list_strategies()
        config = run.info["config"]
        if not isinstance(config, dict) or config.get("game") != game.spec.name:
            continue
        needed = game.spec.num_players if run.method == "dream" else 1
        if {file.player for file in files} >= set(range(needed)):
            last = files[-1].iteration
            description = f"{run.preset}, {last} iterations"
            found.append({"name": str(folder), "kind": "run", "iterations": last, "description": description})
    return found


def _run_folders(root: Path = RUNS) -> list[Path]:
    return sorted(file.parent for file in root.glob("*/config.json"))


def _near_run(path: str) -> str | None:
    """The run beside a path that leads to none whose name is most like it."""
    import difflib

    siblings = {folder.name: folder for folder in _run_folders(Path(path).parent)}
    close = difflib.get_close_matches(Path(path).name, list(siblings), n=1, cutoff=0.5)
    return str(siblings[close[0]]) if close else None
