"""The agent that plays by the nets of the depth-limited method and tracks beliefs."""

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named
from envs.compiled import kernel
from envs.game import Game, Packed, States
from envs.geister import Geister
from envs.geister.arrangements import contradicts
from learners.belief_search.policies import BeliefPolicies, BeliefWeights
from learners.belief_search.tracker import BeliefTracker
from learners.belief_search.view import BeliefGeister
from learners.geister_beliefs.arrangements import Arrangements, Beliefs
from learners.geister_beliefs.belief import Update
from learners.networks.settings import NetworkSettings
from learners.regret_matching import apply_threshold, draw_actions


class BeliefNetAgent(Named):
    """Plays by the nets. Satisfies `envs.agent.Agent`.

    It uses only what its player can observe: the squares of all ghosts, the colours of captured ghosts and its own
    colours. The opponent is assumed to play the same policy. If moves were played that the agent has not seen, its
    beliefs restart at even odds.

    Args:
        game: The game that the nets were trained on.
        network: Settings of the advantage and policy nets.
        weights: Weights of the nets.
        belief: How beliefs are updated.
        name: Name of the agent in messages.
        threshold: Actions less probable than this share of the likeliest one are not played.
        doubt: See `BeliefTracker`.
        policy: ``average`` plays the policy net; ``last`` by regret matching on the advantage net.
    """

    def __init__(
        self,
        game: Geister,
        network: NetworkSettings,
        weights: BeliefWeights,
        belief: Update,
        name: str = "belief-search",
        threshold: float = 0.0,
        policy: str = "average",
        doubt: float = 0.0,
    ) -> None:
        self.name = name
        self.threshold = threshold
        self._doubt = doubt
        self._last = policy == "last"
        self._belief: Update = belief
        view = BeliefGeister.of(game)
        self._policies = BeliefPolicies(view, network, network, weights._replace(value=None))
        self._trained_on = view
        self._tracker: BeliefTracker | None = None

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """Raises ValueError if the game is another one, or if its colours are not drawn at the start."""
        if not isinstance(game, Geister) or game.size != self._trained_on.size:
            raise ValueError(f"{self.name} plays {self._trained_on.spec.name}, not {game.spec.name}")
        if not game.random_setup:
            raise ValueError(f"{self.name}: beliefs begin when the colours are drawn: they need random_setup=true")
        arrangements = Arrangements(game.size, self._belief)
        self._tracker = BeliefTracker(BeliefGeister.of(game), arrangements, self._policies, self._doubt)
        self._start = game.reset(1, np.random.default_rng(0))
        self._beliefs = arrangements.even(batch)
        self._states = np.repeat(self._start, batch)  # states before the agent's last moves
        self._states["ply"] = -1
        self._actions = np.zeros(batch, np.int64)  # the agent's last moves

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Agent.act`; raises RuntimeError before `begin`."""
        tracker, public, mover, beliefs = self._catch_up(states, games)
        legal = tracker.game.legal(public)
        policy = self._policy(tracker.observe(public, mover, beliefs), legal)
        actions, _ = draw_actions(policy, legal, rng.random(len(states), dtype=np.float32))
        self._states[games], self._actions[games], self._beliefs[games] = public, actions, beliefs
        return actions

    def recall(
        self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """See `envs.agent.Recalls`."""
        _, public, _, beliefs = self._catch_up(states, games)
        self._states[games], self._actions[games], self._beliefs[games] = public, actions, beliefs

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float32]:
        """See `envs.agent.StatesPolicy`."""
        tracker, public, mover, beliefs = self._catch_up(states, games)
        return self._policy(tracker.observe(public, mover, beliefs), tracker.game.legal(public))

    def red_probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float32]:
        """Probability that each ghost of the opponent is red, by its number, `float32[n, 8]`."""
        tracker, public, mover, beliefs = self._catch_up(states, games)
        return tracker.arrangements.red_probabilities(public, mover, beliefs)

    def _policy(self, infostates: Packed, legal: NDArray[np.bool_]) -> NDArray[np.float32]:
        policy = self._policies.current(infostates, legal) if self._last else self._policies.average(infostates, legal)
        return apply_threshold(policy, self.threshold)

    def _catch_up(
        self, states: States, games: NDArray[np.int64]
    ) -> tuple[BeliefTracker, States, NDArray[np.int8], Beliefs]:
        """Works out the beliefs after the agent's last move and the opponent's answer.

        The agent's own move is processed only now, because the colour of a ghost that it captured was not known before.

        Returns:
            The tracker, the states without what the agent cannot know, the players to move, and the beliefs.
        """
        tracker = self._begun(self._tracker)
        mover = tracker.game.to_move(states)
        now = states.copy()
        hide(now, mover, tracker.arrangements.red)
        before, beliefs = self._states[games], self._beliefs[games]
        begins = now["ply"] <= 1
        before[begins] = self._start
        moved = ~begins & (before["ply"] == now["ply"] - 2)
        beliefs[~moved] = tracker.arrangements.even(1)
        before["red"] = now["red"]
        at = np.flatnonzero(moved)
        if len(at):
            self._play(tracker, before, beliefs, at, self._actions[games][at])
        answers = np.empty(len(now), np.int64)
        last_actions(before, now, mover, tracker.game.size, answers)
        at = np.flatnonzero(answers >= 0)
        if len(at):
            self._play(tracker, before, beliefs, at, answers[at])
        return tracker, now, mover, beliefs

    @staticmethod
    def _play(
        tracker: BeliefTracker, states: States, beliefs: Beliefs, at: NDArray[np.int64], actions: NDArray[np.int64]
    ) -> None:
        """Plays a move in the games `at`, in place."""
        some, believed = states[at], beliefs[at]
        tracker.play(some, believed, actions)
        states[at], beliefs[at] = some, believed


@kernel
def hide(states, players, arrangements):
    """Overwrites the colours of the other player's ghosts by the first arrangement that fits the captured ghosts.

    Afterwards nothing in `states` depends on what `players[b]` cannot know in game b.
    """
    for b in range(states.shape[0]):
        state = states[b]
        other = 1 - players[b]
        for k in range(len(arrangements)):
            if not contradicts(arrangements[k], state, other):
                state.red[other] = arrangements[k]
                break


@kernel
def last_actions(before, now, players, size, actions):
    """Writes the other player's move that leads from one position to the next to `int64[B]`; -1 if there is none."""
    for b in range(before.shape[0]):
        other = 1 - players[b]
        actions[b] = -1
        if before[b].ply != now[b].ply - 1:
            continue
        for ghost in range(8):
            step = np.int64(now[b].square[other, ghost]) - np.int64(before[b].square[other, ghost])
            if step == 0 or now[b].square[other, ghost] < 0:
                continue
            for direction in range(4):
                if step == (-size, 1, -1, size)[direction]:
                    actions[b] = 4 * ghost + direction
