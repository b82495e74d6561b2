"""The mixture of several policies: each game and player draws one of them. `B` states, `A` actions, `N` policies."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, Packed, States
from envs.tree import Tree
from learners.cfr.sequence_form import sequence_form
from learners.dream.regret_matching import draw_actions
from learners.policy_gradient.agent import PolicyAgent


class PolicyMixture:
    """Plays a whole game by one policy, drawn at its start; satisfies `envs.agent.Agent`.

    To an opponent, this is the average of the policies weighted by own reach probability (Kuhn 1953), the average whose
    exploitability goes to 0 in fictitious play and in regret minimisation.

    Args:
        agents: The N policies.
        weights: Of each policy, not negative; they need not add up to 1.
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

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """See `Agent.begin`."""
        self._game = game
        self._drawn = rng.choice(len(self.agents), (batch, game.spec.num_players), p=self.probability)

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

    def evaluate(
        self, packed: Packed, legal: NDArray[np.bool_], players: NDArray[np.int8]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Policies and values of infostates by the guide, see `PolicyAgent.evaluate`."""
        return self.guide.evaluate(packed, legal, players)

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """The average policy of both players at every infoset of a game tree, `float64[S]` for `S` slots.

        Raises:
            ValueError: see `PolicyAgent.tree_policy`.
        """
        form = sequence_form(tree)
        plans = [form.plans(agent.tree_policy(tree)) for agent in self.agents]
        first, second = (np.average([pair[p] for pair in plans], axis=0, weights=self.probability) for p in (0, 1))
        return form.policy((first, second))
