"""Exports nets over numbered actions: one policy net, those of the seats, and mixtures of nets.

In shapes, `B` is the number of infostates, `A` that of actions and `N` that of the nets of a player.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from dancfr.agents.export_result import Written
from dancfr.errors import UsageError
from dancfr.watch.progress import Steps
from envs.agent import Recalls
from envs.game import Game, Packed
from envs.players import choose_uniform
from learners.deep_cfr.average_agent import AveragePolicyAgent
from learners.dream.agent import DreamAgent
from learners.networks.onnx_graph import Policy, policy_graph
from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.agent import PolicyAgent, SeatedAgents
from learners.policy_gradient.mixture import PolicyMixture
from learners.regret_matching import apply_threshold, draw_actions, match_regrets

CHECKED = 16
"""Games of random play, and games of the agent with itself, on whose infostates the exported nets are checked."""
MOST = 4000
"""Infostates after which no more plies of these games are played, of either kind."""

Numbered = PolicyAgent | PolicyMixture | SeatedAgents | AveragePolicyAgent | DreamAgent
Floats = NDArray[np.floating[Any]]
SAMPLED = "sampled"
"""The kind of `Mixing` of policy gradients, and of agents with one net for a player."""
Results = dict[str, NDArray[np.float32]]
"""Results of a graph by name, see `learners.networks.onnx_graph.policy_graph`."""


@dataclass(frozen=True)
class Net:
    """A net of an agent.

    Attributes:
        network, weights: The net.
        player: Whose it is; None: of all players.
        probability: Its share of the nets of a player at the start of a game.
        threshold: Actions with less than this fraction of the highest probability are not played.
        policy: How its policy comes from its outputs.
        has_value: Whether the output behind those of the actions is the value.
    """

    network: NetworkSettings
    weights: Weights
    player: int | None
    probability: float
    threshold: float = 0.0
    policy: Policy = "softmax"
    has_value: bool = False

    def belongs_to(self, player: int) -> bool:
        """Whether a player plays by the net."""
        return self.player in (None, player)

    def inputs(self, game: Game, packed: Packed) -> dict[str, NDArray[Any]]:
        """Returns the inputs of the graph at infostates, without the legal actions."""
        slots = game.output_slots(packed, self.network.outputs).astype(np.int64)
        return {"x": game.encode(packed, self.network.encoding), "slots": slots}

    def graph(self, game: Game, packed: Packed) -> ModelProto:
        """Returns the net as a graph; `packed` are any infostates."""
        summands = game.output_slots(packed[:1], self.network.outputs).shape[2]
        shape, unit = game.spec.shapes[self.network.encoding], game.spec.max_return if self.has_value else None
        return policy_graph(self.network, self.weights, shape, game.spec.num_actions, summands, unit, self.policy)

    def describe(self, game: Game) -> dict[str, Any]:
        """Returns the description of the net for users of the graph."""
        return {
            "player": self.player,
            "probability": self.probability,
            "encoding": self.network.encoding,
            "shape": list(game.spec.shapes[self.network.encoding]),
            "outputs": self.network.outputs,
            "threshold": self.threshold,
            "results": [
                "policy",
                *(["value"] if self.has_value else []),
                *(["advantage"] if self.policy == "regrets" else []),
            ],
        }


class Mixing:
    """The policy of a player in one game by the player's nets, in the way that an exported agent is described.

    Args:
        kind: ``sampled``: one net plays the whole game, drawn with its probability. ``exact``: the average of the
            policies, weighted by probability times own reach, which is the product of the net's probabilities of the
            player's earlier actions. ``paper``: the average weighted by probability alone.
        nets: The player's nets, as described.
    """

    def __init__(self, kind: str, nets: Sequence[Mapping[str, Any]]) -> None:
        self.kind, self.threshold = kind, nets[0]["threshold"]
        self.weights = np.array([net["probability"] for net in nets], np.float64)

    def policy(self, policies: Floats) -> Floats:
        """The policy, `[A]`, at an infostate where the nets have the `policies`, `[N, A]`.

        Of a ``sampled`` net, it is what an opponent expects who has seen the moves, and does not know which net it is.
        """
        mixed: Floats = self.weights @ self._played(policies) / self.weights.sum()
        return mixed if self.kind == "sampled" else apply_threshold(mixed[None], self.threshold)[0]

    def play(self, policies: Floats, action: int) -> None:
        """Takes in an action of the player at this infostate."""
        if self.kind != "paper":
            self.weights *= self._played(policies)[:, action]
            self.weights /= self.weights.sum()

    def _played(self, policies: Floats) -> Floats:
        return apply_threshold(policies, self.threshold) if self.kind == "sampled" else policies


def write_nets(folder: Path, name: str, agent: object, game: Game) -> Written:
    """Writes the nets of an agent, and compares them and the policy that the description makes of them with the agent.

    Raises:
        UsageError: it does not play by nets from infostates of the game to actions.
    """
    if not isinstance(agent, Numbered):
        raise UsageError(
            f"{name} plays by no net from infostates to actions: bots and tables have none, and nets of beliefs see "
            "more; dancfr pack takes runs of any method, and strategies, as they are"
        )
    nets, mixing = nets_of(agent, game)
    packed, legal, players = random_infostates(game, CHECKED)
    graphs = [net.graph(game, packed) for net in nets]
    differences: list[float] = []
    with Steps(f"comparing the exported nets with {name}") as report:
        for player in range(game.spec.num_players):
            at = players == player
            expected = results_of(agent, player, packed[at], legal[at])
            own = [pair for pair in zip(nets, graphs, strict=True) if pair[0].belongs_to(player)]
            for (net, graph), wanted in zip(own, expected, strict=True):
                differences.append(compare(net, graph, game, packed[at], legal[at], wanted))
                report(min(1.0, len(differences) / len(nets)))
    described = [{"file": f"net{number}.onnx", **net.describe(game)} for number, net in enumerate(nets)]
    for each, graph in zip(described, graphs, strict=True):
        onnx.save(graph, str(folder / each["file"]))
    about: dict[str, Any] = {
        key: described[0][key]
        for key in ("encoding", "shape", "outputs", "threshold")
        if all(each[key] == described[0][key] for each in described)
    }
    about |= {
        "actions": legal.shape[1],
        "mixing": mixing,
        "nets": described,
    }
    differences.append(compare_play(agent, game, mixing, described))
    return Written(about, float(np.max(differences)), len(packed))


def nets_of(agent: Numbered, game: Game) -> tuple[list[Net], str]:
    """Returns the nets of an agent and the kind of `Mixing` by which it plays."""
    if isinstance(agent, SeatedAgents):
        return [
            replace(net, player=seat) for seat, each in enumerate(agent.agents) for net in nets_of(each, game)[0]
        ], SAMPLED
    if isinstance(agent, PolicyMixture):
        mixed = zip(agent.agents, agent.probability.tolist(), strict=True)
        return [replace(net, probability=share) for each, share in mixed for net in nets_of(each, game)[0]], SAMPLED
    if isinstance(agent, PolicyAgent):
        shared = len(agent.weights) == 1
        return [
            Net(agent.network, weights, None if shared else player, 1.0, agent.threshold, has_value=True)
            for player, weights in enumerate(agent.weights)
        ], SAMPLED
    if isinstance(agent, AveragePolicyAgent):
        return [Net(agent.network, weights, player, 1.0) for player, weights in enumerate(agent.weights)], SAMPLED
    found = [
        Net(agent.network, weights, player, share, agent.threshold, "regrets")
        for player in range(game.spec.num_players)
        for weights, share in agent.mixed(player)
    ]
    return found, SAMPLED if agent.average == "last" else agent.average


def results_of(agent: Numbered, player: int, packed: Packed, legal: NDArray[np.bool_]) -> list[Results]:
    """Returns the results of each net of a player at infostates of the player, by the agent's own inference."""
    if isinstance(agent, SeatedAgents):
        return results_of(agent.at_seat(player), player, packed, legal)
    if isinstance(agent, PolicyMixture):
        return [found for each in agent.agents for found in results_of(each, player, packed, legal)]
    if isinstance(agent, PolicyAgent):
        policy, values = agent.evaluate(packed, legal, np.full(len(packed), player, np.int8))
        return [{"policy": policy, "value": values}]
    if isinstance(agent, AveragePolicyAgent):
        return [{"policy": agent.policy(packed, legal, player)}]
    advantages = agent.advantages(packed, legal, player)
    policies = np.empty_like(advantages)
    match_regrets(advantages, legal, policies)
    return [{"policy": policy, "advantage": each} for policy, each in zip(policies, advantages, strict=True)]


def compare(
    net: Net, graph: ModelProto, game: Game, packed: Packed, legal: NDArray[np.bool_], expected: Results
) -> float:
    """Returns the largest difference between a net's graph and the agent's own inference at infostates `uint8[B, P]`.

    Of regret matching, advantages are compared with the agent's, and the policy with that of regret matching on the
    graph's advantages: where hardly any advantage is positive, their rounding alone makes another policy.
    """
    if not len(packed):
        return 0.0
    outputs: Any = ReferenceEvaluator(graph).run(None, {**net.inputs(game, packed), "legal": legal})
    found = dict(zip((each.name for each in graph.graph.output), outputs, strict=True))
    differences = [np.abs(found[name] - expected[name]) / game.spec.max_return for name in found.keys() - {"policy"}]
    policy = expected["policy"]
    if net.policy == "regrets":
        policy = np.empty((1, *legal.shape), np.float32)
        match_regrets(found["advantage"][None], legal, policy)
    differences.append(np.abs(found["policy"] - policy))
    return float(np.max([each.max() for each in differences]))


def compare_play(agent: Numbered, game: Game, mixing: str, described: Sequence[Mapping[str, Any]]) -> float:
    """Returns the largest difference between an agent's probabilities, in games with itself, and those that `Mixing`
    makes of its nets as they are described."""
    rng = np.random.default_rng(0)
    states, games, differences, seen = game.reset(CHECKED, rng), np.arange(CHECKED), [0.0], 0
    agent.begin(game, CHECKED, rng)
    own = [[net for net in described if net["player"] in (None, p)] for p in range(game.spec.num_players)]
    mixed = [[Mixing(mixing, nets) for nets in own] for _ in range(CHECKED)]
    while len(going := np.flatnonzero(~game.finished(states))) and seen < MOST:
        states, games, seen = states[going], games[going], seen + len(going)
        mover, legal = game.to_move(states), game.legal(states)
        packed, policy = game.observe(states, mover), np.empty(legal.shape, np.float32)
        for player in np.unique(mover):
            at = np.flatnonzero(mover == player)
            speaker = agent.at_seat(player) if isinstance(agent, SeatedAgents) else agent
            policy[at] = speaker.probabilities(states[at], games[at])
        actions = draw_actions(policy, legal, rng.random(len(states), dtype=np.float32))[0]
        for player in np.unique(mover):
            at = np.flatnonzero(mover == player)
            each = np.stack([found["policy"] for found in results_of(agent, player, packed[at], legal[at])], axis=1)
            for row, policies in zip(at, each, strict=True):
                part = mixed[games[row]][player]
                differences.append(float(np.abs(part.policy(policies) - policy[row]).max()))
                part.play(policies, actions[row])
        if isinstance(agent, Recalls):
            agent.recall(states, games, actions, rng)
        game.step(states, actions, rng)
    return float(np.max(differences))


def random_infostates(game: Game, games: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.int8]]:
    """Returns the infostates of the decisions of random games, `uint8[B, P]`, their legal actions and their players."""
    rng = np.random.default_rng(0)
    states = game.reset(games, rng)
    found, seen = [], 0
    while len(going := np.flatnonzero(~game.finished(states))) and seen < MOST:
        states = states[going]
        legal, mover = game.legal(states), game.to_move(states)
        found.append((game.observe(states, mover), legal, mover))
        game.step(states, choose_uniform(legal, rng.random(len(states), dtype=np.float32)), rng)
        seen += len(states)
    packed, legal, players = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return packed, legal, players
