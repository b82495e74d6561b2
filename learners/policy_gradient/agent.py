"""The agent of policy nets, one for all players or one each. `B` states, `A` actions."""

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named, copy_with
from envs.constant_sum import half_of_sum
from envs.game import Game, Packed, States
from envs.tree import Tree
from learners.networks.settings import NetworkSettings, Weights
from learners.other_rules import require_infostates
from learners.policy_gradient.policy import PolicyInference
from learners.regret_matching import apply_threshold, draw_actions

_FIRST = "hidden0.w"
"""Name of the weights of the inputs, `[inputs, width]`."""


class PolicyAgent(Named):
    """Draws actions from the policies of nets; satisfies `envs.agent.Agent`. It has no memory.

    Args:
        game: The game that the nets were trained on.
        network: Settings of the nets.
        nets: Weights of the net of all players, or of each player's net.
        name: Name in messages.
        threshold: Actions with less than this fraction of the highest probability are not played (Ganzfried, Sandholm
            and Waugh 2012).

    Raises:
        ValueError: the game lacks what the network needs, the number of nets is neither 1 nor that of players, or
            `threshold` is out of bounds.

    Attributes:
        network: Settings of the nets.
        weights: Weights of the net of all players, or of each player's net.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        nets: Sequence[Weights],
        name: str,
        threshold: float = 0.0,
        device: str = "cpu",
    ) -> None:
        network.check(game.spec)
        players = game.spec.num_players
        if len(nets) not in (1, players):
            raise ValueError(f"{name} has {len(nets)} nets, which is neither 1 nor one for each of {players} players")
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be from 0 to 1, got {threshold}")
        self.name = name
        self.network, self.weights = network, tuple(nets)
        self.threshold = threshold
        self._trained_on = self._game = game
        self._nets = [PolicyInference(game, network, weights, device) for weights in nets]

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """See `Agent.begin`."""
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Agent.act`."""
        mover = self._game.to_move(states)
        legal = self._game.legal(states)
        packed = self._game.observe(states, mover)
        draws = rng.random(len(states), dtype=np.float32)
        return draw_actions(self.policies(packed, legal, mover), legal, draws)[0]

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float32]:
        """See `envs.agent.StatesPolicy`."""
        mover = self._game.to_move(states)
        return self.policies(self._game.observe(states, mover), self._game.legal(states), mover)

    @cached_property
    def offset(self) -> float:
        """Half of the constant sum of returns, which the values of `evaluate` leave out, as the samples do."""
        return half_of_sum(self._trained_on)

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """The policy of all players at every infoset of a game tree, `float64[S]` for `S` slots (infoset, action).

        Raises:
            OtherRules: the infostates of the tree are not those of the game that the nets were trained on.
        """
        require_infostates(self.name, self._trained_on, tree)
        return tree.to_policy(self.policies(tree.observed, tree.legal(), tree.player))

    def evaluate(
        self, packed: Packed, legal: NDArray[np.bool_], players: NDArray[np.int8]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluates infostates `uint8[B, P]` of `players[b]` with legal actions `bool[B, A]`.

        Returns:
            The policy before the threshold, `float32[B, A]`, and the value of each infostate to its player,
            `float32[B]`, less `offset`.
        """
        if len(self._nets) == 1:
            return self._nets[0](packed, legal)
        policy, values = np.empty(legal.shape, np.float32), np.empty(len(packed), np.float32)
        for player, net in enumerate(self._nets):
            at = np.flatnonzero(players == player)
            if len(at):
                policy[at], values[at] = net(packed[at], legal[at])
        return policy, values

    def widened(self, game: Game) -> "PolicyAgent":
        """See `envs.agent.Widens`: weights of 0 for the further inputs; convolutional nets stay as they are."""
        if self.network.trunk != "flat":
            return self
        inputs = game.spec.shapes["flat"][0]
        nets = [net | {_FIRST: _widened(net[_FIRST], inputs)} for net in self.weights]
        return PolicyAgent(game, self.network, nets, self.name, self.threshold)

    def policies(self, packed: Packed, legal: NDArray[np.bool_], players: NDArray[np.int8]) -> NDArray[np.float32]:
        """Policies with the threshold, `float32[B, A]`, at infostates of `players[b]`; see `evaluate`."""
        return apply_threshold(self.evaluate(packed, legal, players)[0], self.threshold)


def _widened(matrix: NDArray[np.float32], inputs: int) -> NDArray[np.float32]:
    """A matrix with rows of zeros for further inputs."""
    return np.concatenate([matrix, np.zeros((inputs - len(matrix), matrix.shape[1]), np.float32)])


class SeatedAgents(Named):
    """Plays each seat by an agent of its own; satisfies `envs.agent.Agent`.

    Args:
        agents: Agent of each player.
        name: Name in messages.
    """

    def __init__(self, agents: Sequence[PolicyAgent], name: str) -> None:
        self.agents, self.name = tuple(agents), name
        self._game: Game

    def __copy__(self) -> "SeatedAgents":
        return copy_with(self, agents=tuple(copy(agent) for agent in self.agents))

    def at_seat(self, player: int) -> PolicyAgent:
        """See `envs.agent.Seated`."""
        return self.agents[player]

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """See `Agent.begin`."""
        self._game = game
        for agent in self.agents:
            agent.begin(game, batch, rng)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Agent.act`."""
        mover = self._game.to_move(states)
        actions = np.empty(len(states), np.int64)
        for player, agent in enumerate(self.agents):
            at = np.flatnonzero(mover == player)
            if len(at):
                actions[at] = agent.act(states[at], games[at], rng)
        return actions

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """The policy of all players at every infoset of a game tree, `float64[S]`; see `PolicyAgent.tree_policy`."""
        policies = np.stack([agent.tree_policy(tree) for agent in self.agents])
        return policies[tree.player[tree.slot_infoset], np.arange(tree.num_slots)]
