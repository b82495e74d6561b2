"""Makes agents from names, which denote bots of a game, trained runs, or files.

random, heuristic, rush          a bot
runs/x                           the newest strategies of the run in this folder
runs/x@40                        its strategies after iteration 40
runs/x?average=paper             options of the run's method, joined by &: how to play an average ...
runs/x?threshold=0.5             ... and the smallest probability to play, as a fraction of the largest one
runs/x?search=512, runs/x?ms=50  search before each move, see `learners.search.settings.RolloutSettings`

packed                           a folder written by `dancfr pack`; options as those of a run, if it is one
pretrained:geister               an agent that comes with the program; options as those of a run, if it is one
hf:OWNER/NAME                    an agent of the Hugging Face hub, see `dancfr.agents.hub`
hf:OWNER/NAME@REVISION           the same at a branch, a tag or a commit
leduc.safetensors                a strategy written by `dancfr solve --out`
x/best-response.safetensors      the nets of a best response trained by `dancfr exploit --out x`
"""

import difflib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dancfr.agents.adapted import AdaptedAgent, adapter_of
from dancfr.agents.cards import summary
from dancfr.agents.given import fitted, game_noted, note_game
from dancfr.agents.hub.fetch import fetched
from dancfr.agents.pretrained import card_of, path_of, pretrained_names
from dancfr.agents.searching import searching, split_search
from dancfr.arguments import checked
from dancfr.errors import UsageError, nearest
from dancfr.evaluation.bots import bots, describe_bot
from dancfr.games.registry import DEFAULT, make_game, rules_made_with
from dancfr.methods import all_methods, method_named
from dancfr.methods.agent_name import HUB, AgentName, parse_name
from dancfr.runs.folder import is_packed, no_run, runs_and_seeds_below, runs_below
from dancfr.runs.run import Run
from dancfr.runs.strategies import describe_file, file_kind, read_strategy
from dancfr.runs.strategies import load_agent as load_strategy_agent
from envs.agent import Agent
from envs.game import GameBase, numbered

T = TypeVar("T")

RUNS = Path("runs")
"""Folder in which `list_agents` searches for runs. The name of an agent may be any path."""


@checked
def make_agent(name: str, game: str | GameBase | None = None) -> Agent:
    """Makes a new agent for a game.

    Args:
        name: Name of the agent, see `dancfr.agents.by_name`.
        game: A game; or the name of one, which then has the options that the agent was made for; None: that of the
            agent. An agent with rules of its own keeps the game as its attribute ``made_for``.

    Raises:
        UsageError: the bot or run does not exist, the run belongs to another game or has no strategies, or a file is
            damaged; or the game is left out and the agent is a bot, which plays several.
    """
    if game is None or isinstance(game, str):
        if game is None and (missing := _no_run_at(parse_agent(name).base)):
            raise UsageError(missing)
        chosen = named_game((name,), game)
        return make_agent(name, make_game(chosen, **game_options_of(name, chosen)))
    wanted, settings = split_search(parse_agent(name))
    known = bots(game)
    if not wanted.base:
        raise UsageError(f"{name!r} names no agent; there are: {', '.join(known)}, and folders of runs")
    if len(wanted.base) > 1000:
        raise UsageError(f"{wanted.base[:40]}... is too long for the name of an agent")
    if wanted.base in known:
        if settings is not None or not wanted.plain:
            raise UsageError(f"{name}: {wanted.base} is a bot: it has no iterations and no options")
        return known[wanted.base]()
    if (adapter := adapter_of(name, game, game_options_of(name, game.spec.name))) is not None:
        return note_game(AdaptedAgent(make_agent(name, adapter.game), adapter, numbered(game)), game)
    stored = _load_stored(wanted, game)
    return note_game(stored if settings is None else searching(stored, game, settings, wanted), game)


def agent_for(given: str | T, game: GameBase) -> Agent | T:
    """Returns the agent of a name, or one that is given as an object, for a game.

    Raises:
        UsageError: see `make_agent`; or the object was made for another game or other rules.
    """
    return make_agent(given, game) if isinstance(given, str) else fitted(given, game)


def parse_agent(name: str) -> AgentName:
    """Parses a name, with the folder of a pretrained agent, or of one that is fetched from the hub, in place of its
    name.

    Raises:
        UsageError: see `parse_name`, `path_of` and `fetched`.
    """
    wanted = parse_name(name)
    own = wanted.base.startswith(HUB)
    return replace(wanted, base=fetched(wanted.base).path if own else path_of(wanted.base))


def _load_stored(wanted: AgentName, game: GameBase) -> Agent:
    """Loads the agent of a run or a file."""
    if os.path.exists(os.path.join(wanted.base, "config.json")):
        run = Run.open(wanted.base)
        run.require_game()
        agent: Agent = method_named(run.method).load_agent(run, wanted, game)
        return agent
    if wanted.base.endswith(".safetensors"):
        return _load_file(wanted, game)
    if missing := _no_run_at(wanted.base):
        raise UsageError(missing)
    raise UsageError(nearest(wanted.base, [each["name"] for each in list_agents(game)], f"agent for {game.spec.name}"))


def _no_run_at(base: str) -> str | None:
    """Returns the message that a path holds no run; None if it holds one or a strategy, or is a mere name."""
    if os.path.exists(os.path.join(base, "config.json")) or base.endswith(".safetensors"):
        return None
    if not os.path.exists(base) and Path(base).parent == Path("."):
        return None
    near = None if runs_below(Path(base)) else _near_run(base)
    return f"{base} holds no run; did you mean {near}?" if near else no_run(Path(base))


def _load_file(wanted: AgentName, game: GameBase) -> Agent:
    """Loads the agent of a tabular strategy, or of a file written by a method."""
    if not wanted.plain:
        raise UsageError(f"{wanted.text}: {wanted.shown} is one strategy: it has no iterations and no options")
    kind = file_kind(wanted.base)
    load = next((each.load_file for each in all_methods().values() if kind and each.file_kind == kind), None)
    agent: Agent = load_strategy_agent(wanted.base, game, wanted.shown) if load is None else load(wanted.base, game)
    agent.name = wanted.text
    return agent


def identity(name: str, game: GameBase) -> AgentName:
    """Parses the name of an agent into a canonical form, which is equal for different spellings of the same agent.

    Raises:
        UsageError: see `parse_name`.
    """
    wanted = parse_agent(name)
    base = wanted.base if wanted.base in bots(game) else os.path.realpath(wanted.base)
    return replace(wanted, text="", base=base)


def game_of(agents: Sequence[object], given: str | None = None, default: str = DEFAULT) -> str:
    """Returns the game that is given, or else that of the first agent that belongs to one, as runs and strategies do,
    or else the default."""
    if given is not None:
        return given
    games = (_described(agent).get("game") for agent in agents)
    return next((game for game in games if isinstance(game, str)), default)


def named_game(agents: Sequence[object], given: str | None = None) -> str:
    """Returns the game that is given, or else that of the first agent which belongs to one.

    Raises:
        UsageError: there is none. Unlike a command, a call has no game by default.
    """
    game = game_of(agents, given, "")
    if given is None and not game:
        by_name = any(isinstance(each, str) for each in agents)
        why = "bots play many games" if by_name else "these agents do not say which one they play"
        raise UsageError(f"name the game, such as geister, leduc or guandan: {why}; `dancfr games` lists all")
    return game


def game_options_of(agent: object, game: str) -> dict[str, Any]:
    """Returns the options of the game that an agent, or one of a name, was made for; empty for bots and for other
    games."""
    about = _described(agent)
    options = about.get("game_options") if about.get("game") == game else None
    return dict(options) if isinstance(options, dict) else {}


def _described(agent: object) -> dict[str, Any]:
    """The description in a run's configuration or a strategy's file, or the game and the options that an object
    notes; empty for bots."""
    if not isinstance(agent, str):
        made_for = game_noted(agent)
        return {} if made_for is None else {"game": made_for.spec.name, "game_options": rules_made_with(made_for)}
    base = parse_agent(agent).base
    if base.endswith(".safetensors"):
        return describe_file(base) if file_kind(base) else read_strategy(base)[1]
    if not os.path.exists(os.path.join(base, "config.json")):  # os.path.exists accepts any text
        return {}
    config = Run.open(base).info["config"]
    return config if isinstance(config, dict) else {}


def list_agents(game: GameBase, root: Path = RUNS) -> list[dict[str, Any]]:
    """Lists the bots of a game, its pretrained agents, then the runs and packed agents below `root` with a strategy for
    every player.

    Methods whose strategies belong to all players need a single strategy.
    """
    found: list[dict[str, Any]] = [
        {"name": name, "kind": "bot", "description": describe_bot(name, make)} for name, make in bots(game).items()
    ]
    for name in pretrained_names():
        card = card_of(name)
        if card.game == game.spec.name:
            about = {"iterations": card.training.iterations, "description": summary(card)}
            found.append({"name": name, "kind": "pretrained", **about, "card": card.model_dump(mode="json")})
    for folder in runs_and_seeds_below(root):
        try:
            run = Run.open(folder)
        except UsageError:  # a damaged run, which is reported by the command that uses it
            continue
        files = run.list_strategies(average=None)  # a packed agent may have averages alone
        config = run.info["config"]
        if not isinstance(config, dict) or config.get("game") != game.spec.name:
            continue
        method = all_methods().get(run.method)
        needed = game.spec.num_players if method is not None and method.strategy_per_player else 1
        if {file.player for file in files} >= set(range(needed)):
            last = files[-1].iteration
            description = f"{run.preset}, {last} iterations"
            kind = "packed" if is_packed(folder) else "run"
            found.append({"name": str(folder), "kind": kind, "iterations": last, "description": description})
    return found


def _near_run(path: str) -> str | None:
    """Returns the run next to a non-existent path whose name is most similar, or None."""

    siblings = {folder.name: folder for folder in runs_below(Path(path).parent)}
    close = difflib.get_close_matches(Path(path).name, list(siblings), n=1, cutoff=0.5)
    return str(siblings[close[0]]) if close else None
