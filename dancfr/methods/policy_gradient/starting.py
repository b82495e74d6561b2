"""Nets of agents for a training to begin with: that of a policy, of its adversaries, or of a response to an agent."""

from dancfr.errors import UsageError
from envs.agent import Adapted, Agent
from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.agent import PolicyAgent, SeatedAgents
from learners.policy_gradient.mixture import PolicyMixture


def starting_net(name: str, agent: Agent, setting: str = "starts") -> tuple[NetworkSettings, Weights]:
    """Architecture and weights of an agent's policy net, of a mixture its guide, for a training to begin with.

    An agent that is shown less than the game has may offer itself `with_inputs` for all of it.

    Args:
        name: Name of the agent.
        agent: The agent.
        setting: Where it was named, for errors.

    Raises:
        UsageError: the agent has no policy net, or one for each player, or batch normalisation.
    """
    if isinstance(agent, Adapted):
        agent = agent.with_inputs()
    if isinstance(agent, PolicyMixture):
        agent = agent.guide
    if isinstance(agent, SeatedAgents):
        raise UsageError(f"{setting}: {name} has a net for each seat: name one of a run, as in {name}@ITERATION")
    if not isinstance(agent, PolicyAgent) or len(agent.weights) != 1:
        raise UsageError(
            f"{setting}: {name} has no policy net that plays all seats: name a policy-gradient run with nets=shared"
        )
    if agent.network.norm == "batch":
        raise UsageError(f"{setting}: {name} has network.norm=batch, and no training can begin with such a net")
    return agent.network, agent.weights[0]
