"""The mixture of several policies: each game and player draws one of them. `B` states, `A` actions, `N` policies."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named
from envs.game import Game, Packed, States
from envs.tree import Tree
from learners.cfr.sequence_form import realization_plan, shares
from learners.cfr.treeplex import make_treeplex
from learners.policy_gradient.agent import PolicyAgent
from learners.regret_matching import draw_actions


class PolicyMixture(Named):
    """Plays a whole game by one policy, drawn at its start; satisfies `envs.agent.Agent`.

    To an opponent, this is the average of the policies weighted by own reach probability (Kuhn 1953), the average whose
    exploitability goes to 0 in fictitious play and in regret minimisation.

    Args:
        agents: The N policies.
        weights: Weight of each policy, not negative; they need not add up to 1.
        guide: A single policy with values for what cannot use a mixture, such as a search.
        name: Name in messages.

    Raises:
        ValueError: there is no policy, or not a weight for each.
    """

    def __init__(self, agents: Sequence[PolicyAgent], weights: Sequence[float], guide: PolicyAgent, name: str) -> None:
        if not agents or len(weights) != len(agents):
            raise ValueError(f"{name} mixes {len(agents)} policies with {len(weights)} weights")
        self.agents, self.guide, self.name = tuple(agents), guide, name
        self.threshold = guide.threshold
        self.probability = np.array(weights, np.float64) / np.sum(weights, dtype=np.float64)
        self._game: Game
        self._drawn: NDArray[np.int64]
        self._log_reach: NDArray[np.float64]  # [batch, players, N] own reach probability of recalled moves

    def parts(self, player: int) -> list[tuple[float, PolicyAgent]]:
        """See `envs.agent.Mixes`."""
        return list(zip(self.probability.tolist(), self.agents, strict=True))

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """See `Agent.begin`."""
        self._game = game
        self._drawn = rng.choice(len(self.agents), (batch, game.spec.num_players), p=self.probability)
        self._log_reach = np.zeros((batch, game.spec.num_players, len(self.agents)))

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Agent.act`."""
        mover, legal = self._game.to_move(states), self._game.legal(states)
        packed = self._game.observe(states, mover)
        drawn = self._drawn[games, mover]
        policy = np.empty(legal.shape, np.float32)
        for number in np.unique(drawn):
            at = np.flatnonzero(drawn == number)
            policy[at] = self.agents[number].policies(packed[at], legal[at], mover[at])
        return draw_actions(policy, legal, rng.random(len(states), dtype=np.float32))[0]

    def recall(
        self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """See `envs.agent.Recalls`: redraws the policy of each game, given the moves."""
        mover, at = self._game.to_move(states), np.arange(len(states))
        policies = self._each(states, games, mover)
        with np.errstate(divide="ignore"):
            self._log_reach[games, mover] += np.log(policies[:, at, actions].T)
        limits = np.cumsum(self._posterior(games, mover), axis=1)
        drawn = (limits <= rng.random((len(states), 1)) * limits[:, -1:]).sum(axis=1)
        self._drawn[games, mover] = drawn

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `envs.agent.StatesPolicy`."""
        mover = self._game.to_move(states)
        return np.asarray(np.einsum("bt,tba->ba", self._posterior(games, mover), self._each(states, games, mover)))

    def _posterior(self, games: NDArray[np.int64], mover: NDArray[np.int8]) -> NDArray[np.float64]:
        """Probability of each policy given the moves recalled, `float64[n, N]`; as at first where none plays them."""
        log = self._log_reach[games, mover]
        best = log.max(axis=1, keepdims=True)
        played = np.isfinite(best)
        weight = self.probability * np.where(played, np.exp(log - np.where(played, best, 0)), 1)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def _each(self, states: States, games: NDArray[np.int64], mover: NDArray[np.int8]) -> NDArray[np.float32]:
        """The policies that may have been drawn, `float32[N, n, A]`; 0 for those that have not."""
        legal, packed = self._game.legal(states), self._game.observe(states, mover)
        policies = np.zeros((len(self.agents), *legal.shape), np.float32)
        for number in np.flatnonzero(self._posterior(games, mover).any(axis=0)):
            policies[number] = self.agents[number].policies(packed, legal, mover)
        return policies

    def evaluate(
        self, packed: Packed, legal: NDArray[np.bool_], players: NDArray[np.int8]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Policies and values of infostates by the guide, see `PolicyAgent.evaluate`."""
        return self.guide.evaluate(packed, legal, players)

    @property
    def offset(self) -> float:
        """See `PolicyAgent.offset`."""
        return self.guide.offset

    def widened(self, game: Game) -> PolicyAgent:
        """See `envs.agent.Widens`; of a mixture this is its guide."""
        return self.guide.widened(game)

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """The average policy of all players at every infoset of a game tree, `float64[S]` for `S` slots.

        Raises:
            ValueError: see `PolicyAgent.tree_policy`.
        """
        policies, average = [agent.tree_policy(tree) for agent in self.agents], tree.uniform()
        for player in range(tree.num_players):
            treeplex = make_treeplex(tree, player)
            own = np.stack([treeplex.from_slots(policy) for policy in policies], axis=1)
            reach = realization_plan(treeplex, own) @ self.probability
            treeplex.to_slots(shares(treeplex, reach[:, None])[:, 0], average)
        return average
