"""Agents of Deep Monte-Carlo runs: the Q-net stored at an evaluation."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dancfr.evaluation.server import NewestNets
from dancfr.methods.agent_name import AgentName
from dancfr.methods.dmc.config import DmcConfig
from dancfr.methods.stored import check_weights, misfit, newest, trained_game
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.game import RaggedGame
from learners.dmc.agent import QAgent


class DmcPolicies(NewestNets):
    """The newest Q-net of a growing run, policy ``last``.

    Args:
        game: The game as it is trained on.
        config: The run's configuration.
    """

    def __init__(self, game: RaggedGame, config: DmcConfig) -> None:
        super().__init__()
        self._game, self._config = game, config

    def agents(self, iteration: int) -> dict[str, Callable[[], Agent]]:
        """What makes the agent of the newest net.

        Raises:
            ValueError: that is of another iteration.
        """
        weights, config = self.require(iteration), self._config
        return {"last": partial(q_agent, self._game, config.network, weights, config.tribute == "learnt", "last")}


def load_agent(run: Run, wanted: AgentName, game: Any) -> Agent:
    """The agent of the Q-net that a run had after an iteration, or of the newest one stored before it.

    Raises:
        UsageError: the run is of another game or has no net yet, or the file is damaged.
    """
    wanted.options({})
    config = run.config_as(DmcConfig)
    trained_on = trained_game(wanted.base, config, game)
    file = newest(run, wanted, "evaluation", f"at iteration {config.evaluation.every}")
    weights, _ = run.load_strategy(0, file.iteration)
    try:
        return q_agent(trained_on, config.network, weights, config.tribute == "learnt", wanted.text)
    except ValueError as error:
        raise misfit(file, error) from None


def q_agent(game: RaggedGame, network: Any, weights: Mapping[str, Any], learn_scripted: bool, name: str) -> Agent:
    """The agent of a Q-net.

    Args:
        game: The game as it was trained on.
        network: Its `QNetworkSettings`.
        weights: From `QNet.inference_weights`.
        learn_scripted: Whether it was trained on the decisions that the game would leave to its heuristic.
        name: Name of the agent.

    Raises:
        ValueError: game, network and weights do not fit together.
    """
    network.check(game.spec)
    check_weights(weights, _shapes(game, network))
    agent: Any = QAgent(game, network, dict(weights), name, learn_scripted=learn_scripted)
    return agent


def _shapes(game: RaggedGame, network: Any) -> dict[str, tuple[int, ...]]:
    """The arrays of a Q-net, see `QNet.inference_weights`."""
    states, actions = network.inputs(game.spec)
    width = network.width
    shapes: dict[str, tuple[int, ...]] = {"state.w": (states, width), "action.w": (actions, width)}
    shapes |= {f"hidden{i}.w": (width, width) for i in range(1, network.depth)}
    shapes |= {f"hidden{i}.b": (width,) for i in range(network.depth)}
    return shapes | {"out.w": (width, 1), "out.b": (1,)}
