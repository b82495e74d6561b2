"""Agents by name: the bots of a game, and trained runs.

random, heuristic, rush          a bot
runs/x                           the newest strategies of the run in that folder
runs/x@40                        those it had after iteration 40
runs/x?average=paper             played as exact, sampled, paper or last; the run's own choice if left out
runs/x?threshold=0.5             without actions less probable than that share of the likeliest; joined by & to others

leduc.safetensors                a strategy that `dancfr solve --out` has written

Runs of dmc play by one net, the newest or the last one stored up to an iteration, and take none of the options.
"""

import inspect
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dancfr.errors import UsageError, nearest
from dancfr.experiments.settings import RunConfig
from dancfr.runs import Run, StrategyFile
from envs.agent import Agent
from envs.game import Game, RaggedGame
from envs.players import RandomAgent

RUNS = Path("runs")
"""Where runs are looked for by `list_agents`; a name may lead anywhere."""

_BOTS = {  # shares of games of geister: `dancfr evaluate heuristic --against rush --games 20000 --seed 1`, and so on
    "heuristic": "runs a blue ghost for an exit, keeps the blue ones clear of the opponent's and some ghosts at home; "
    "wins 85 % of geister against random, 1.6 % against rush",
    "rush": "runs a blue ghost for an exit at more risk, its red ghosts on guard at home; the strongest bot",
}


@dataclass(frozen=True)
class AgentName:
    """An agent's name, taken apart.

    Attributes:
        base: Name of a bot, or path of a run.
        iteration: What stands after ``@``; None is the newest.
        average: Value of the query ``average``; None if left out.
        threshold: Value of the query ``threshold``; None if left out.
    """

    base: str
    iteration: int | None = None
    average: str | None = None
    threshold: float | None = None


def parse_name(name: str) -> AgentName:
    """Takes ``runs/x@40?average=exact`` apart.

    Raises:
        UsageError: an unknown query key, or a value that is none of those allowed.
    """
    from learners.dream.settings import Average

    rest, _, query = name.partition("?")
    average, threshold, seen = None, None, set[str]()
    for part in filter(None, query.split("&")):
        key, _, value = part.partition("=")
        if key in seen:
            raise UsageError(f"{name}: {key} is given twice")
        seen.add(key)
        if key == "average":
            if value not in get_args(Average):
                raise UsageError(f"{name}: {nearest(value, list(get_args(Average)), 'average')}")
            average = value
        elif key == "threshold":
            threshold = _share(name, value)
        else:
            raise UsageError(f"{name}: {nearest(key, ['average', 'threshold'], 'agent option')}")
    base, at, iteration = rest.rpartition("@")
    if not at or os.path.isdir(rest):  # a folder may have an @ in its own name
        return AgentName(rest, None, average, threshold)
    if not iteration.isdecimal() or len(iteration) > 9:
        raise UsageError(f"{name}: after @ stands an iteration, such as {base}@40, not {iteration!r}")
    return AgentName(base, int(iteration), average, threshold)


def _share(name: str, value: str) -> float:
    """A number from 0 to 1."""
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:  # nor nan
        raise UsageError(f"{name}: threshold must be a number from 0 to 1, not {value!r}")
    return share


def bots(game: Game | RaggedGame) -> Mapping[str, Callable[[], Agent]]:
    """The bots that play a game, by name; `random` plays any."""
    if game.spec.name in ("geister", "mini-geister"):
        from envs.geister.players import BOTS

        return BOTS
    if game.spec.name == "guandan":
        from envs.guandan import players

        ragged: Any = players.BOTS  # agents of either kind go by one type here; the arena knows which game takes which
        return ragged
    return {"random": RandomAgent}


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
    """The agent of a tabular strategy."""
    from dancfr.strategies import load_agent

    if wanted != AgentName(wanted.base):
        raise UsageError(f"{name}: {wanted.base} is one strategy: it has no iterations and no options")
    return load_agent(wanted.base, game)


def identity(name: str, game: Game | RaggedGame) -> AgentName:
    """The agent's name taken apart, with a run's folder in its one form: equal for different spellings of one agent.

    Raises:
        UsageError: see `parse_name`.
    """
    wanted = parse_name(name)
    return wanted if wanted.base in bots(game) else replace(wanted, base=os.path.realpath(wanted.base))


def load_run(wanted: AgentName, game: Game | RaggedGame, name: str) -> Agent:
    """The agent of a run's strategies up to an iteration.

    Raises:
        UsageError: see `make_agent`.
    """
    run = Run.open(wanted.base)
    if run.method not in _LOADERS:
        raise UsageError(f"{wanted.base} is a run of {run.method}: only runs of {' and '.join(_LOADERS)} can play")
    return _LOADERS[run.method](run, wanted, game, name)


def _load_dmc(run: Run, wanted: AgentName, game: Any, name: str) -> Agent:
    """The Q-net that the run had after an iteration, or the newest one stored before it."""
    from dancfr.experiments.dmc_config import DmcConfig

    for query, value in (("average", wanted.average), ("threshold", wanted.threshold)):
        if value is not None:
            raise UsageError(f"{name}: a run of dmc plays by one net, without {query}: leave it out")
    config = run.config_as(DmcConfig)
    trained_on: Any = _trained_on(wanted.base, config, game)
    files = _files_until(run, wanted)
    if not files:
        raise UsageError(f"{name} has no strategy yet: it gets its first one at iteration {config.evaluation.every}")
    weights, _ = run.load_strategy(0, files[-1].iteration)
    try:
        return q_agent(trained_on, config.network, weights, config.tribute == "learnt", name)
    except ValueError as error:
        raise UsageError(f"{files[-1].path} does not fit the run's configuration: {error}") from None


def q_agent(game: RaggedGame, network: Any, weights: Mapping[str, Any], learn_scripted: bool, name: str) -> Agent:
    """The agent of a Q-net.

    Args:
        game: The game as it was trained on.
        network: Its `QNetworkSettings`.
        weights: From `QNet.inference_weights`.
        learn_scripted: Whether it was trained on the decisions that the game would leave to its heuristic.
        name: For messages.

    Raises:
        ValueError: game, network and weights do not fit together.
    """
    from learners.dmc.agent import QAgent

    network.check(game.spec)
    _check_weights(weights, _q_shapes(game, network))
    agent: Any = QAgent(game, network, dict(weights), name, learn_scripted=learn_scripted)
    return agent


def _check_weights(weights: Mapping[str, Any], wanted: Mapping[str, tuple[int, ...]]) -> None:
    """Raises a ValueError for the first array that is not the one wanted, or that is no array of numbers."""
    for part in sorted(wanted.keys() | weights.keys()):
        found = weights.get(part)
        if part not in wanted:
            raise ValueError(f"{part} is one array too many")
        if found is None or found.shape != wanted[part] or found.dtype != np.float32:
            told = "missing" if found is None else f"{found.dtype}{list(found.shape)}"
            raise ValueError(f"{part} is {told} where float32{list(wanted[part])} is needed")
        if not np.isfinite(found).all():
            raise ValueError(f"{part} holds numbers that are not finite")


def _advantage_shapes(game: Game, network: Any, weights: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The arrays of an advantage net, see `ValueNet.inference_weights`. What a convolution hands on depends on the
    board, so those of that trunk, and the inputs of the first layer after it, are as they are."""
    width, outputs = network.width, game.spec.slots[network.outputs]
    shapes: dict[str, tuple[int, ...]] = {f"hidden{i}.w": (width, width) for i in range(network.depth)}
    shapes |= {f"hidden{i}.b": (width,) for i in range(network.depth)}
    if network.trunk == "flat":
        inputs = math.prod(game.spec.shapes["flat"])
    else:
        shapes |= {name: array.shape for name, array in weights.items() if name.startswith("conv")}
        shapes.setdefault("conv1.w", ())
        inputs = weights["hidden0.w"].shape[0] if "hidden0.w" in weights else 0
    return shapes | {"hidden0.w": (inputs, width), "out.w": (width, outputs), "out.b": (outputs,)}


def _q_shapes(game: RaggedGame, network: Any) -> dict[str, tuple[int, ...]]:
    """The arrays of a Q-net, see `QNet.inference_weights`."""
    states, actions = network.inputs(game.spec)
    width = network.width
    shapes: dict[str, tuple[int, ...]] = {"state.w": (states, width), "action.w": (actions, width)}
    shapes |= {f"hidden{i}.w": (width, width) for i in range(1, network.depth)}
    shapes |= {f"hidden{i}.b": (width,) for i in range(network.depth)}
    return shapes | {"out.w": (width, 1), "out.b": (1,)}


def _load_dream(run: Run, wanted: AgentName, game: Any, name: str) -> Agent:
    """The agent of a run's advantage nets up to an iteration."""
    from dancfr.experiments.config import DreamConfig
    from learners.dream.agent import DreamAgent

    config = run.config_as(DreamConfig)
    trained_on = _trained_on(wanted.base, config, game)
    files = _files_until(run, wanted)
    average: Any = wanted.average or config.average
    if average != "last":
        last = max((file.iteration for file in files), default=0)
        run.require_strategies({(t, p) for t in range(1, last) for p in config.updated_players(t)})
    threshold = wanted.threshold
    if threshold is None:
        threshold = 0.0 if average == "last" else config.average_threshold
    strategies: dict[int, list[tuple[int, Any]]] = {p: [] for p in range(game.spec.num_players)}
    newest = {player: [f for f in files if f.player == player][-1:] for player in strategies}
    for file in files if average != "last" else [f for found in newest.values() for f in found]:
        weights, meta = run.load_strategy(file.player, file.iteration)
        try:
            _check_weights(weights, _advantage_shapes(trained_on, config.network, weights))
        except ValueError as error:
            raise UsageError(f"{file.path} does not fit the run's configuration: {error}") from None
        strategies[file.player].append((int(meta.get("count", file.iteration)), weights))
    for player, found in strategies.items():
        if files and not found:
            first = next((f.iteration for f in run.list_strategies(player)), None)
            cure = f"say {wanted.base}@{first} or later" if first else "train at least one iteration for each"
            raise UsageError(f"{name} has no strategy of player {player} yet: {cure}")
    try:
        return DreamAgent(trained_on, config.network, strategies, average, name, config.average_power, threshold)
    except ValueError as error:
        raise UsageError(str(error)) from None


_LOADERS: dict[str, Callable[[Run, AgentName, Any, str], Agent]] = {"dream": _load_dream, "dmc": _load_dmc}
"""What makes the agent of a run, by method."""

_STORED_WITH = {"dream": "train", "dmc": "evaluation"}
"""The rows of a record beside which strategies are stored, by method."""


def _files_until(run: Run, wanted: AgentName) -> list[StrategyFile]:
    """The strategies of a run up to the iteration that was asked for; none if it has not stored one yet.

    Raises:
        UsageError: those it had are gone, or it does not have that iteration.
    """
    files = run.list_strategies()
    if not files and run.read_metrics(_STORED_WITH[run.method]):
        raise UsageError(
            f"{wanted.base} has been trained, but its strategies are gone: restore {run.path / 'strategies'} from a "
            "copy, or train anew"
        )
    if wanted.iteration is None:
        return files
    if files and not files[0].iteration <= wanted.iteration <= files[-1].iteration:
        have = f"{files[0].iteration} to {files[-1].iteration}"
        raise UsageError(f"{wanted.base} has iterations {have}, not {wanted.iteration}")
    return [file for file in files if file.iteration <= wanted.iteration]


def _trained_on(base: str, config: RunConfig, game: Game) -> Game:
    """The game of a run, unless that, or its actions and infostates, are other than those of `game`."""
    from dancfr.registry import make_game

    trained_on = make_game(config.game, **config.game_options)
    here, there = game.spec, trained_on.spec
    if there.name != here.name:
        raise UsageError(f"{base} was trained on {there.name}, not on {here.name}: use --game {there.name}")
    if (there.num_actions, there.packed_size, there.shapes) != (here.num_actions, here.packed_size, here.shapes):
        raise UsageError(
            f"{base} was trained under other rules of {there.name}: it knows {there.num_actions} actions, "
            f"the game at hand has {here.num_actions}"
        )
    return trained_on


def game_options_of(name: str, game: str) -> dict[str, Any]:
    """Options of the game that a run or a strategy was made under; none for a bot, or those of another game."""
    base = parse_name(name).base
    if base.endswith(".safetensors"):
        from dancfr.strategies import read_strategy

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
    have one: in runs of dmc all players share it."""
    found: list[dict[str, Any]] = [
        {"name": name, "kind": "bot", "description": _describe_bot(name, make)} for name, make in bots(game).items()
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
        needed = 1 if run.method == "dmc" else game.spec.num_players
        if {file.player for file in files} >= set(range(needed)):
            last = files[-1].iteration
            description = f"{run.preset}, {last} iterations"
            found.append({"name": str(folder), "kind": "run", "iterations": last, "description": description})
    return found


def _describe_bot(name: str, make: Callable[[], Agent]) -> str:
    """What a bot does: what is said of it here, else the first sentence of its docstring."""
    first = (inspect.getdoc(make) or name).split(".")[0]
    return _BOTS.get(name) or " ".join(f"{first[:1].lower()}{first[1:]}".split())


def _run_folders(root: Path = RUNS) -> list[Path]:
    return sorted(file.parent for file in root.glob("*/config.json"))


def _near_run(path: str) -> str | None:
    """The run beside a path that leads to none whose name is most like it."""
    import difflib

    siblings = {folder.name: folder for folder in _run_folders(Path(path).parent)}
    close = difflib.get_close_matches(Path(path).name, list(siblings), n=1, cutoff=0.5)
    return str(siblings[close[0]]) if close else None
