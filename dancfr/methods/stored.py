"""Finds stored strategies and checks them against the configuration of their run, for all methods."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from dancfr.games.rules import check_rules
from dancfr.methods.agent_name import AgentName
from dancfr.methods.settings import RunConfig
from dancfr.runs.run import Run, StrategyFile
from envs.game import Game, GameBase
from learners.networks.settings import CONV_CHANNELS, CONV_KERNEL, NetworkSettings
from learners.settings import Settings


def newest_evaluated(run: Run, wanted: AgentName, every: int) -> StrategyFile:
    """Returns the newest strategy of a run whose method stores strategies with evaluations, see `newest`.

    Args:
        run: The run.
        wanted: Name of the agent.
        every: Iterations between evaluations, 0 without evaluations.
    """
    never = "when it is resumed with evaluation.every=N: it is trained without evaluations"
    return newest(run, wanted, "evaluation", f"at iteration {every}, or when it stops" if every else never)


def newest(run: Run, wanted: AgentName, stored_with: str | None, first: str) -> StrategyFile:
    """Returns the newest strategy of a run up to the iteration of a name.

    Args:
        run: The run.
        wanted: Name of the agent.
        stored_with: See `Method.stored_with`.
        first: When a run stores its first strategy, for the error message.

    Raises:
        UsageError: the run has no strategy yet, or see `files_until`.
    """
    files = files_until(run, wanted, stored_with)
    if not files:
        raise UsageError(f"{wanted.text} has no strategy yet: it gets its first one {first}")
    return files[-1]


def files_until(run: Run, wanted: AgentName, stored_with: str | None) -> list[StrategyFile]:
    """Returns the strategies of a run up to the iteration of a name; empty if the run has not stored any yet.

    Raises:
        UsageError: the strategies were removed, or the run has none of the iteration.
    """
    files = run.list_strategies()
    if not files and stored_with is not None and run.read_metrics(stored_with):
        raise UsageError(
            f"{wanted.shown} has been trained, but its strategies are gone: restore {run.path / 'strategies'} from a "
            "copy, or train it again"
        )
    if wanted.iteration is None:
        return files
    if files and not files[0].iteration <= wanted.iteration <= files[-1].iteration:
        have = f"{files[0].iteration} to {files[-1].iteration}"
        raise UsageError(f"{wanted.shown} has iterations {have}, not {wanted.iteration}")
    until = [file for file in files if file.iteration <= wanted.iteration]
    if until and until[-1].iteration != wanted.iteration:
        after = files[len(until)].iteration
        raise UsageError(
            f"{wanted.shown} has no strategy of iteration {wanted.iteration}: take {until[-1].iteration} or {after}"
        )
    return until


def trained_game(shown: str, config: RunConfig, game: GameBase) -> GameBase:
    """Returns the game that a run was trained on.

    Args:
        shown: Name of the agent, for errors.
        config: Configuration of the run.
        game: The game that the agent will play.

    Raises:
        UsageError: the two are different games, or their rules, actions or infostates differ.
    """
    trained_on = make_game(config.game, **config.game_options)
    here, there = game.spec, trained_on.spec
    if there.name != here.name:
        raise UsageError(
            f"{shown} was trained on {there.name}, not on {here.name}: `dancfr agents {here.name}` lists those of it"
        )
    check_rules(shown, trained_on, game)
    return trained_on


def misfit(file: StrategyFile, error: ValueError) -> UsageError:
    """Returns the error to raise for a stored file that does not match the configuration of its run."""
    return UsageError(f"{file.path} does not fit the run's configuration: {error}")


def refuse_other_network(setting: str, name: str, theirs: Settings, ours: Settings) -> None:
    """Raises UsageError, with the settings to change, if an agent's net has another architecture than a training.

    Args:
        setting: Where the agent was named.
        name: Its name.
        theirs: Settings of its net.
        ours: Settings of the nets of the training.
    """
    if theirs != ours:
        found, wanted = theirs.model_dump(), ours.model_dump()
        differs = " ".join(f"network.{key}={found[key]}" for key in wanted if found[key] != wanted[key])
        raise UsageError(f"{setting}: {name} has another network than this run: set {differs}")


def check_weights(weights: Mapping[str, Any], wanted: Mapping[str, Sequence[int]]) -> None:
    """Checks the names and shapes of the arrays of a net.

    Raises:
        ValueError: an array is missing, unexpected, of another shape or type, or contains values that are not finite.
    """
    for part in sorted(wanted.keys() | weights.keys()):
        found = weights.get(part)
        if part not in wanted:
            raise ValueError(f"{part} is not an array of this net")
        if found is None or found.shape != tuple(wanted[part]) or found.dtype != np.float32:
            have = "missing" if found is None else f"{found.dtype}{list(found.shape)}"
            raise ValueError(f"{part} must be float32{list(wanted[part])}, but is {have}")
        if not np.isfinite(found).all():
            raise ValueError(f"{part} contains values that are not finite")


def value_net_shapes(game: Game, network: NetworkSettings) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the arrays of a net over numbered actions, see `ValueNet.inference_weights`.

    Raises:
        ValueError: the game lacks the encoding or the outputs of the network.
    """
    network.check(game.spec)
    width, outputs = network.width, game.spec.slots[network.outputs]
    shapes: dict[str, tuple[int, ...]] = {f"hidden{i}.w": (width, width) for i in range(network.depth)}
    shapes |= {f"hidden{i}.b": (width,) for i in range(network.depth)}
    inputs = math.prod(game.spec.shapes[network.encoding])
    if network.trunk == "conv":
        channels, height, columns = game.spec.shapes[network.encoding]
        inputs = (height - 1) * (columns - 1) * CONV_CHANNELS
        shapes |= {"conv0.0.w": (channels * CONV_KERNEL**2, CONV_CHANNELS), "conv1.w": (CONV_CHANNELS, CONV_CHANNELS)}
        shapes |= {"conv0.0.b": (CONV_CHANNELS,), "conv1.b": (CONV_CHANNELS,)}
    return shapes | {"hidden0.w": (inputs, width), "out.w": (width, outputs), "out.b": (outputs,)}


def policy_net_shapes(game: Game, network: NetworkSettings) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the arrays of a policy net, whose last output is the value, see `value_net_shapes`.

    Raises:
        ValueError: the game lacks the encoding or the outputs of the network.
    """
    shapes = value_net_shapes(game, network)
    outputs = game.spec.slots[network.outputs] + 1
    return shapes | {"out.w": (network.width, outputs), "out.b": (outputs,)}
