"""Nets of agents for a training to begin with: that of a policy, of its adversaries, or of a response to an agent."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dancfr.errors import UsageError
from dancfr.runs.folder import is_run
from dancfr.runs.run import Run
from envs.agent import Adapted, Agent
from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.agent import PolicyAgent, SeatedAgents
from learners.policy_gradient.mixture import PolicyMixture


def starting_net(name: str, agent: Agent, setting: str = "starts") -> tuple[NetworkSettings, Weights]:
    """Architecture and weights of an agent's policy net, of a mixture its guide, for a training to begin with.

    A best response has the net that was best in each seat, and often one net is in both. An agent that is shown less
    than the game has may offer itself `with_inputs` for all of it.

    Args:
        name: Name of the agent.
        agent: The agent.
        setting: Where it was named, for errors.

    Raises:
        UsageError: the agent has no policy net, or another for each player, or batch normalisation.
    """
    if isinstance(agent, Adapted):
        agent = agent.with_inputs()
    if isinstance(agent, PolicyMixture):
        agent = agent.guide
    if isinstance(agent, SeatedAgents):
        if not _all_alike(agent.agents):
            raise UsageError(f"{setting}: {name} has another net in each seat: name one, as in {_newest_net(name)}")
        agent = agent.agents[0]
    if not isinstance(agent, PolicyAgent) or len(agent.weights) != 1:
        raise UsageError(
            f"{setting}: {name} has no policy net that plays all seats: name a policy-gradient run with nets=shared"
        )
    if agent.network.norm == "batch":
        raise UsageError(f"{setting}: {name} has network.norm=batch, and no training can begin with such a net")
    return agent.network, agent.weights[0]


def _newest_net(name: str) -> str:
    """The name of the newest net of the run of a best response, which is named by its folder or its file."""
    folder = Path(name).parent if Path(name).suffix == ".safetensors" else Path(name)
    stored = Run.open(folder).list_strategies() if is_run(folder) else []
    return f"{folder}@{stored[-1].iteration if stored else 'ITERATION'}"


def _all_alike(agents: Sequence[PolicyAgent]) -> bool:
    """Whether all agents have the same net."""
    first, *others = agents
    return all(
        other.network == first.network
        and all(np.array_equal(array, other.weights[0][key]) for key, array in first.weights[0].items())
        for other in others
    )
