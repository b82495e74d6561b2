"""The agent of DREAM, which plays the last iterate or an average over all iterations.

Each player has `T` advantage networks, t = 1 .. T in the order of their training. One batched forward pass over stacked
weights evaluates all networks that a decision needs. In shapes, `B` is the number of states and `A` that of actions.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named, copy_with
from envs.game import Game, Packed, States
from envs.tree import Tree
from learners.dream.settings import Average
from learners.networks.inference import Inference, encoder
from learners.networks.kernels import action_values
from learners.networks.settings import NetworkSettings, Weights
from learners.other_rules import require_infostates
from learners.regret_matching import apply_threshold, draw_actions, match_regrets

Strategies = Mapping[int, Sequence[tuple[int, Weights]]]
"""All advantage networks of each player with the iterations of the run that trained them, in ascending order.

In averages, the k-th network of a player has iteration number t = k. If the players take turns, t is thus the number of
fits of that player (paper 000, 5.3)."""

_MAX_OUTPUTS = 4_000_000
"""Number of network outputs computed at a time, which bounds the memory."""


class _PlayerNets:
    """The networks of one player, and the state of each game in the batch."""

    def __init__(
        self,
        settings: NetworkSettings,
        strategies: Sequence[tuple[int, Weights]],
        average_power: float,
        numbers: Sequence[int] | None,
    ) -> None:
        self.inference = Inference(settings, [weights for _, weights in strategies])
        self.log_weight = average_power * np.log(numbers or np.arange(1, len(strategies) + 1))
        probability = np.exp(self.log_weight - np.logaddexp.reduce(self.log_weight))
        self.probability = probability / probability.sum()
        self.log_reach = np.zeros((0, len(strategies)))  # [batch, T] own reach probability of each network
        self.drawn = np.zeros(0, np.int64)  # [batch] network drawn for a game

    def only(self, number: int) -> "_PlayerNets":
        """Returns one of the networks."""
        one, nets = np.array([number]), copy(self)
        nets.inference = self.inference.subset(one)
        nets.log_weight, nets.probability = np.zeros(1), np.ones(1)
        return nets

    def begin(self, batch: int, rng: np.random.Generator) -> None:
        self.log_reach = np.zeros((batch, len(self.log_weight)))
        self.drawn = rng.choice(len(self.probability), size=batch, p=self.probability)


class DreamAgent(Named):
    """Plays the policies of both players' advantage networks; implements `envs.agent.Agent`.

    Args:
        game: Game that the networks were trained on; encodes infostates.
        network: Settings of the networks.
        strategies: Networks of each player.
        average: How the policies pi_t of the networks are combined.
            ``exact``: sum_t t * x_i^t(s) * pi_t(s), normalised, where x_i^t is the player's own reach probability under
            network t (paper 000, eq. 4, with linear weights).
            ``sampled``: one network per game, drawn with probability proportional to t. This plays the same policy as
            ``exact`` (Steinberger 2019).
            ``paper``: weights t without own reach (paper 000, 6.1).
            ``last``: the last network alone.
        name: Name in messages.
        average_power: Exponent of t in the weights above: 1 is linear averaging, 0 uniform averaging.
        threshold: Actions with less than this fraction of the highest probability are not played (Ganzfried, Sandholm
            and Waugh 2012): 0 plays the average itself, 1 purifies it. This removes actions that are in the average
            only because of the noise of single networks.
        numbers: Number t of each network of each player in the averages, if networks were left out; None: 1, 2, ...

    Raises:
        ValueError: A player has no network, `average` is unknown, or `threshold` is out of bounds.

    Attributes:
        network, average, threshold: As given.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        strategies: Strategies,
        average: Average,
        name: str = "dream",
        average_power: float = 1.0,
        threshold: float = 0.0,
        numbers: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be from 0 to 1, got {threshold}")
        if average not in get_args(Average):
            raise ValueError(f"average must be one of {', '.join(get_args(Average))}, got {average}")
        for player in range(game.spec.num_players):
            if not strategies.get(player):
                raise ValueError(
                    f"{name} has no network of player {player} yet: train at least one iteration per player"
                )
        self.name = name
        self.average = average
        self.threshold = threshold
        self._trained_on = game
        self.network = network
        self._encode = encoder(game, network)
        self._game = game
        last = slice(-1, None) if average == "last" else slice(None)
        self._players = [
            _PlayerNets(network, strategies[p][last], average_power, None if numbers is None else numbers[p][last])
            for p in range(game.spec.num_players)
        ]

    def __copy__(self) -> "DreamAgent":
        return copy_with(self, _players=[copy(nets) for nets in self._players])

    def mixed(self, player: int) -> list[tuple[Weights, float]]:
        """The arrays of each network of a player, and its share of the average at the start of a game."""
        nets = self._players[player]
        return list(zip(nets.inference.unstacked(), nets.probability.tolist(), strict=True))

    def parts(self, player: int) -> list[tuple[float, "DreamAgent"]]:
        """See `envs.agent.Mixes`. An exact average with a threshold is not a mixture."""
        if self.average != "sampled" and (self.average != "exact" or self.threshold):
            return []
        before, own, after = self._players[:player], self._players[player], self._players[player + 1 :]
        return [
            (share, copy_with(self, average="last", _players=[*before, own.only(number), *after]))
            for number, share in enumerate(own.probability.tolist())
        ]

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._game = game
        for nets in self._players:
            nets.begin(batch, rng)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Actions `int64[B]`, drawn from the policy of the player to move in each state.

        Args:
            states: States, `[B]` records.
            games: Index of each state's game in the batch that `begin` has started, `int64[B]`.
            rng: Source of the draws.
        """
        mover = self._game.to_move(states)
        legal = self._game.legal(states)
        packed = self._game.observe(states, mover)
        draws = rng.random(len(states), dtype=np.float32)
        actions = np.empty(len(states), np.int64)
        for player, nets in enumerate(self._players):
            at = np.flatnonzero(mover == player)
            if len(at):
                policy = apply_threshold(self._policy(nets, packed[at], legal[at], games[at]), self.threshold)
                actions[at] = draw_actions(policy, legal[at], draws[at])[0]
                self._update_reach(nets, games[at], actions[at])
        return actions

    def recall(
        self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """See `envs.agent.Recalls`. With ``sampled``, it redraws the network of each game, given the moves."""
        if self.average not in ("exact", "sampled"):
            return
        mover, legal = self._game.to_move(states), self._game.legal(states)
        packed = self._game.observe(states, mover)
        for player, nets in enumerate(self._players):
            at = np.flatnonzero(mover == player)
            if not len(at):
                continue
            policies = self._played_policies(nets, packed[at], legal[at])
            with np.errstate(divide="ignore"):
                nets.log_reach[games[at]] += np.log(policies[:, np.arange(len(at)), actions[at]]).T
            if self.average == "sampled":
                limits = np.cumsum(_shares(nets.log_weight + nets.log_reach[games[at]]), axis=1)
                nets.drawn[games[at]] = (limits <= rng.random((len(at), 1)) * limits[:, -1:]).sum(axis=1)

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float32]:
        """See `envs.agent.StatesPolicy`."""
        mover, legal = self._game.to_move(states), self._game.legal(states)
        packed = self._game.observe(states, mover)
        found = np.zeros(legal.shape, np.float32)
        for player, nets in enumerate(self._players):
            at = np.flatnonzero(mover == player)
            if len(at):
                weight = nets.log_weight + (nets.log_reach[games[at]] if self.average in ("exact", "sampled") else 0)
                found[at] = self._average(np.atleast_2d(weight), self._played_policies(nets, packed[at], legal[at]))
        return found

    def _average(self, log_weight: NDArray[np.float64], played: NDArray[np.float32]) -> NDArray[np.float32]:
        """The average policy `float32[B, A]` of policies from `_played_policies`, with the threshold once."""
        policy = _mix(log_weight, played)
        return policy if self.average == "sampled" else apply_threshold(policy, self.threshold)

    def _played_policies(self, nets: _PlayerNets, packed: Packed, legal: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The policy of every network, `float32[T, B, A]`; with the threshold if networks play singly (``sampled``)."""
        policies = self._all_policies(nets, packed, legal)
        if self.average != "sampled":
            return policies
        return apply_threshold(policies.reshape(-1, legal.shape[1]), self.threshold).reshape(policies.shape)

    def policy(self, packed: Packed, legal: NDArray[np.bool_], player: int) -> NDArray[np.float32]:
        """Policy `float32[B, A]` at the infostates of B new games, where every own reach probability is 1.

        With ``sampled``, this is the average over the networks, each with the threshold. The state of the games in play
        is neither used nor changed.
        """
        nets = self._players[player]
        return self._average(nets.log_weight[None], self._played_policies(nets, packed, legal))

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """The policy of both players at every infoset of a game tree, `float64[S]` for `S` slots (infoset, action).

        With ``sampled``, this is the average over the networks, each with the threshold: the policy that the draws
        play.

        Raises:
            OtherRules: The infostates of the tree are not those of the game that the networks were trained on.
        """
        require_infostates(self.name, self._trained_on, tree)
        legal = tree.legal()
        table = np.zeros(legal.shape, np.float32)
        for player, nets in enumerate(self._players):
            own = np.flatnonzero(tree.player == player)
            policies = self._played_policies(nets, tree.observed[own], legal[own])
            log_weight = np.tile(nets.log_weight, (len(own), 1))
            if self.average in ("exact", "sampled"):
                log_weight += own_log_reach(tree, own, policies)
            table[own] = self._average(log_weight, policies)
        return tree.to_policy(table)

    def _policy(
        self, nets: _PlayerNets, packed: Packed, legal: NDArray[np.bool_], games: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        if self.average == "sampled":
            return self._drawn_policy(nets, packed, legal, nets.drawn[games])
        self._policies = self._all_policies(nets, packed, legal)
        log_weight = nets.log_weight[None]
        if self.average == "exact":
            log_weight = log_weight + nets.log_reach[games]
        return _mix(log_weight, self._policies)

    def advantages(self, packed: Packed, legal: NDArray[np.bool_], player: int) -> NDArray[np.float32]:
        """The advantages of the actions by every network of a player, `float32[T, B, A]`; 0 for illegal ones."""
        return self._advantages(self._players[player], packed, legal)

    def _all_policies(self, nets: _PlayerNets, packed: Packed, legal: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The policy pi_t of every network, `float32[T, B, A]`."""
        policies = self._advantages(nets, packed, legal)
        match_regrets(policies, legal, policies)
        return policies

    def _advantages(self, nets: _PlayerNets, packed: Packed, legal: NDArray[np.bool_]) -> NDArray[np.float32]:
        advantages = np.empty((nets.inference.nets, *legal.shape), np.float32)
        outputs = nets.inference.weights["out.b"].shape[1]
        rows = max(1, _MAX_OUTPUTS // (nets.inference.nets * outputs))
        for start in range(0, len(packed), rows):
            part = slice(start, start + rows)
            slots = self._trained_on.output_slots(packed[part], self.network.outputs)
            advantages[:, part] = nets.inference.action_values([self._encode(packed[part])], slots, legal[part])
        return advantages

    def _drawn_policy(
        self, nets: _PlayerNets, packed: Packed, legal: NDArray[np.bool_], drawn: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """The policy of the network `drawn` for each row. Rows are grouped by network and padded to equal lengths."""
        order = np.argsort(drawn, kind="stable")
        used, first, count = np.unique(drawn[order], return_index=True, return_counts=True)
        group = np.repeat(np.arange(len(used)), count)
        index = np.arange(len(drawn)) - np.repeat(first, count)  # within the group
        features = self._trained_on.encode(packed, self.network.encoding)
        padded = np.zeros((len(used), count.max(), *features.shape[1:]), np.float32)
        padded[group, index] = features[order]
        outputs = nets.inference.subset(used)([padded])
        chosen = np.empty((len(drawn), outputs.shape[2]), np.float32)
        chosen[order] = outputs[group, index]
        slots = self._trained_on.output_slots(packed, self.network.outputs)
        advantages, policy = np.empty((2, 1, *legal.shape), np.float32)
        action_values(chosen[None], slots, legal, advantages)
        match_regrets(advantages, legal, policy)
        return np.asarray(policy[0])

    def _update_reach(self, nets: _PlayerNets, games: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        if self.average == "exact":
            played = self._policies[:, np.arange(len(games)), actions].T
            with np.errstate(divide="ignore"):
                nets.log_reach[games] += np.log(played)


def own_log_reach(tree: Tree, own: NDArray[np.int64], policies: NDArray[np.float32]) -> NDArray[np.float64]:
    """Log of a player's own reach probability of their infosets under each network, `float64[I', T]`.

    Args:
        tree: Game tree.
        own: All infosets of the player in ascending order, `int64[I']`, so that parents come first.
        policies: Policy of each network at these infosets, `float32[T, I', A]`.
    """
    log_reach = np.zeros((len(own), len(policies)))
    before = tree.parent_slot[own]
    parent = np.where(before < 0, -1, tree.slot_infoset[before] - own[:1])
    open_infosets = np.flatnonzero(parent >= 0)
    known = parent < 0
    while len(open_infosets):  # each pass extends the known infosets by one move of the player
        ready = open_infosets[known[parent[open_infosets]]]
        with np.errstate(divide="ignore"):
            step = np.log(policies[:, parent[ready], tree.slot_action[before[ready]]].T)
        log_reach[ready] = log_reach[parent[ready]] + step
        known[ready] = True
        open_infosets = open_infosets[~known[open_infosets]]
    return log_reach


def _mix(log_weight: NDArray[np.float64], policies: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weighted mean `[B, A]` of `policies` `[T, B, A]`, with weights exp(`log_weight`), `[B, T]` or `[1, T]`.

    The weights are normalised here. Where no network reaches the infostate, all networks weigh the same.
    """
    weight = _shares(log_weight)
    if len(weight) == 1:
        return np.asarray(np.einsum("t,tba->ba", weight[0], policies))
    return np.asarray(np.einsum("bt,tba->ba", weight, policies))


def _shares(log_weight: NDArray[np.float64]) -> NDArray[np.float32]:
    """Weights exp(`log_weight`) `[B, T]` whose sum is 1 in each row; equal ones where all are 0."""
    greatest = log_weight.max(axis=1, keepdims=True)
    weight = np.where(np.isfinite(greatest), np.exp(log_weight - np.where(np.isfinite(greatest), greatest, 0)), 1)
    weight = weight.astype(np.float32)
    weight /= weight.sum(axis=1, keepdims=True)
    return weight
