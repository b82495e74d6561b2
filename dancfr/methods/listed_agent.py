"""Agents of runs that learn over listed actions, which play by the Q-net stored at an evaluation."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dancfr.errors import UsageError
from dancfr.evaluation.server import NewestNets
from dancfr.methods.agent_name import AgentName
from dancfr.methods.listed_settings import ListedConfig
from dancfr.methods.packed import Packed, refuse_nets
from dancfr.methods.stored import check_weights, misfit, newest_evaluated, refuse_other_network, trained_game
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.capabilities import full_view
from envs.game import GameBase, ListedGame, listed
from learners.listed.agent import QAgent
from learners.listed.critic import NAME, CriticInference, without_critic
from learners.listed.settings import ListedTrainingSettings, QNetworkSettings
from learners.networks.settings import Weights


class ListedPolicies(NewestNets):
    """The newest Q-net of a run during training, as the policy ``last``.

    Args:
        game: The game of the training.
        config: Configuration of the run.
    """

    def __init__(self, game: ListedGame, config: ListedConfig) -> None:
        super().__init__()
        self._game, self._config = game, config

    def agents(self, iteration: int) -> dict[str, Callable[[], Agent]]:
        """Returns a factory for the agent of the newest net.

        Raises:
            ValueError: the newest net belongs to another iteration.
        """
        weights, config = self.require(iteration), self._config
        return {"last": partial(q_agent, self._game, config, weights, "last")}


def load_agent(kind: type[ListedConfig], run: Run, wanted: AgentName, game: GameBase) -> Agent:
    """Returns the agent of the newest Q-net of a run, or of the newest one up to an iteration.

    Args:
        kind: Class of the settings of the run's method.
        run, wanted, game: See `Method.load_agent`.

    Raises:
        UsageError: the run belongs to another game or has no net yet, or the file is damaged.
    """
    wanted.options({})
    config = run.config_as(kind)
    trained_on = listed(trained_game(wanted.shown, config, game))
    file = newest_evaluated(run, wanted, config.evaluation.every)
    weights, _ = run.load_strategy(0, file.iteration)
    try:
        return q_agent(trained_on, config, weights, wanted.text)
    except ValueError as error:
        raise misfit(file, error) from None


def pack(kind: type[ListedConfig], run: Run, wanted: AgentName, nets: int | None) -> Packed:
    """The packed agent of a name: its Q-net and, for searches, its critic.

    Args:
        kind: Class of the settings of the run's method.
        run, wanted, nets: See `Method.pack`.

    Raises:
        UsageError: see `load_agent`; or a number of nets is given.
    """
    wanted.options({})
    refuse_nets(wanted, nets)
    config = run.config_as(kind)
    file = newest_evaluated(run, wanted, config.evaluation.every)
    arrays, meta = run.load_strategy(0, file.iteration)
    return Packed.of(config.model_dump(mode="json"), file, arrays, meta)


def q_agent(game: ListedGame, config: ListedConfig, weights: Mapping[str, Any], name: str) -> Agent:
    """Returns the agent of a Q-net and, if the training had one, its critic.

    Args:
        game: The game that the net was trained on.
        config: Configuration of the training.
        weights: Weights of the net and the critic, from `QNet.inference_weights` or that of `QWithCritic`.
        name: Name of the agent.

    Raises:
        ValueError: game, configuration and weights are not compatible.
    """
    network, training = config.network, config.training
    network.check(game.spec)
    with_critic = any(part.startswith(NAME) for part in weights)  # runs of earlier versions stored the net alone
    full = full_view(game) if with_critic and config.trace is not None else None
    critics = {} if full is None else _critic_shapes(full.full_inputs, training)
    check_weights(weights, _shapes(game, network) | critics)
    critic = None if full is None else CriticInference(full, dict(weights))
    learnt, plain = config.tribute == "learnt", without_critic(dict(weights))
    bonus = training.win_bonus
    return QAgent(game, network, plain, name, learnt, critic=critic, outputs=config.outputs, win_bonus=bonus)


def starting_net(name: str, agent: Agent, config: ListedConfig) -> Weights:
    """Weights of an agent's Q-net for a training to begin with, and of its critic if the training has one of its size.

    Args:
        name: Name of the agent.
        agent: The agent.
        config: Configuration of the training.

    Raises:
        UsageError: the agent has no Q-net of this architecture.
    """
    if not isinstance(agent, QAgent):
        raise UsageError(f"start: {name} has no Q-net: name a run of dmc or candidate-policy")
    refuse_other_network("start", name, agent.network, config.network)
    weights = dict(agent.weights)
    if agent.critic is not None and config.trace is not None:
        critic = agent.critic.weights
        if {part: array.shape for part, array in critic.items()} == _critic_shapes(
            len(critic[f"{NAME}.0.w"]), config.training
        ):
            weights |= critic
    scale = np.float32(1 if agent.outputs == "logits" else config.start_scale)
    return weights | {part: weights[part] * scale for part in ("out.w", "out.b")}


def _shapes(game: ListedGame, network: QNetworkSettings) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the arrays of a Q-net, see `QNet.inference_weights`."""
    states, actions = network.inputs(game.spec)
    width, tower = network.width, network.tower_width
    shapes: dict[str, tuple[int, ...]] = {"state.w": (network.joined(game.spec), width), "action.w": (actions, width)}
    shapes |= {f"tower{i}.w": (tower if i else states, tower) for i in range(network.tower)}
    shapes |= {f"tower{i}.b": (tower,) for i in range(network.tower)}
    shapes |= {f"hidden{i}.w": (width, width) for i in range(1, network.depth)}
    shapes |= {f"hidden{i}.b": (width,) for i in range(network.depth)}
    return shapes | {"out.w": (width, 1), "out.b": (1,)}


def _critic_shapes(inputs: int, training: ListedTrainingSettings) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the arrays of a critic, see `QWithCritic.inference_weights`."""
    sizes = [inputs] + [training.critic_width] * training.critic_depth + [1]
    layers = list(enumerate(pairwise(sizes)))
    return {f"{NAME}.{i}.w": pair for i, pair in layers} | {f"{NAME}.{i}.b": pair[1:] for i, pair in layers}
