"""The agent of a Q-net, which plays the action with the highest output."""

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent, Named
from envs.capabilities import FullView, Redeals, redeal_by_belief
from envs.game import GameBase, GameOver, ListedGame, Ragged, States
from envs.insight import Insight, limited, normalised, with_gaps
from envs.ragged import best_rows, take_lists
from learners.listed.critic import CriticInference
from learners.listed.decisions import DecisionEncoder, settle_without_net
from learners.listed.rollouts import roll_out
from learners.listed.settings import Outputs, QNetworkSettings
from learners.networks.q_inference import QForward, QInference
from learners.networks.settings import Weights
from learners.search.settings import RolloutSettings

DEALS = 32
"""Deals of the hidden cards over which the values of a critic that sees everything are averaged."""


class QAgent(Named):
    """Plays the action with the highest output of its net; implements `envs.agent.Agent` for ragged games.

    Args:
        game: Game that the network was trained on; encodes infostates and actions.
        network: Settings of the network.
        weights: Weights from `QNet.inference_weights`.
        name: Name in messages.
        learn_scripted: The network also makes scripted decisions (`ListedGame.scripted`), on which it was trained;
            otherwise the game's heuristic makes them.
        forward: Runs the network; by default NumPy on the CPU.
        critic: Values of states for a search, if the training had a critic.
        outputs: What the outputs of the network are.
        win_bonus: Points for winning that the values of network and critic contain (`ListedTrainingSettings`). A search
            adds them to the returns of roll-outs that end; an `Insight` has no values then.

    Raises:
        ValueError: The game does not provide the encodings that the network needs.

    Attributes:
        network: Settings of the Q-network.
        weights: Its weights.
        learn_scripted, critic, outputs, win_bonus: As given.
    """

    def __init__(
        self,
        game: ListedGame,
        network: QNetworkSettings,
        weights: Weights,
        name: str = "net",
        learn_scripted: bool = False,
        forward: QForward | None = None,
        critic: CriticInference | None = None,
        outputs: Outputs = "returns",
        win_bonus: float = 0.0,
    ) -> None:
        network.check(game.spec)
        self.name = name
        self._trained_on = game
        self.learn_scripted = learn_scripted
        self.network, self.weights, self.critic, self.outputs = network, weights, critic, outputs
        self.win_bonus = win_bonus
        self._encode = DecisionEncoder(game, network.encoding_of(game.spec))
        self._forward = forward or QInference(network, weights)
        self._game = game

    def begin(self, game: ListedGame, batch: int, rng: np.random.Generator) -> None:
        """Sets the game to be played. The agent keeps no state of single games."""
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        """Actions for n states in which this agent is to move, `[n]` action records.

        Of several actions with the highest value, the first is played.

        Raises:
            GameOver: One of the games has ended.
        """
        return self.choose(states)[0]

    def choose(self, states: States) -> tuple[NDArray[np.void], NDArray[np.int64]]:
        """The actions as `act` has them, `[n]` records, and which m decisions needed the net, `int64[m]`.

        Raises:
            GameOver: One of the games has ended.
        """
        actions, asked, lists, values = self.decide(states)
        if len(asked):
            actions[asked] = lists.rows[best_rows(lists.offsets, values)]
        return actions, asked

    def settle(self, states: States) -> tuple[NDArray[np.void], NDArray[np.int64], Ragged]:
        """Makes the decisions that need no net; the results are the first three of `decide`.

        Raises:
            GameOver: One of the games has ended.
        """
        choices = self.network.list_choices(self._game, states)
        if (np.diff(choices.offsets) == 0).any():
            raise GameOver(f"{self.name} has no move in a game that has ended")
        chosen, asked = settle_without_net(self._game, states, choices, self.learn_scripted)
        lists, _ = take_lists(choices, asked)
        return choices.rows[chosen], asked, lists

    def decide(self, states: States) -> tuple[NDArray[np.void], NDArray[np.int64], Ragged, NDArray[np.float32]]:
        """Makes the decisions that need no net, and evaluates the others.

        Returns:
            The actions of n states, `[n]` action records; which m states need the net, whose actions are placeholders,
            `int64[m]`; their choices, `N` in all; and the values of these, `float32[N]`.

        Raises:
            GameOver: One of the games has ended.
        """
        actions, asked, lists = self.settle(states)
        if not len(asked):
            return actions, asked, lists, np.empty(0, np.float32)
        undecided = states[asked]
        packed = self._game.observe(undecided, self._game.to_move(undecided))
        notes = self._encode.appraise(packed, lists.offsets, lists.rows)
        features, vectors = self._encode(packed, lists.offsets, lists.rows, notes)
        return actions, asked, lists, self._forward(features, lists.offsets, vectors)

    def think(self, states: States, rng: np.random.Generator) -> Insight:
        """See `envs.insight.Thinks`. Actions that differ in nothing but their reading count as the one considered."""
        actions, asked, lists, outputs = self.decide(states)
        place = places(self._game, states)
        value, value_from = self.critic_value(states, rng)
        policy = np.zeros(len(place))
        if not len(asked):
            policy[place[actions[0].tobytes()]] = 1
            return Insight(policy.tolist(), "settled", value=value, value_from=value_from)
        at = [place[row.tobytes()] for row in lists.rows]
        policy[at[int(np.argmax(outputs))]] = 1
        given = np.full(len(place), np.nan)
        given[at] = outputs
        values, prior = None, None
        if self.outputs == "logits":
            prior = normalised(np.exp(np.where(np.isnan(given), -np.inf, given) - outputs.max()))
        elif not self.win_bonus:
            values = with_gaps(given)
        if value is None and self.outputs == "returns" and not self.win_bonus:
            value, value_from = limited(float(outputs.max()), self._game), "values"
        return Insight(
            policy.tolist(),
            "greedy",
            prior=prior,
            values=values,
            values_are=None if values is None else self.outputs,
            value=value,
            value_from=value_from,
        )

    def critic_value(self, states: States, rng: np.random.Generator) -> tuple[float | None, str | None]:
        """The mean value of a critic that sees all hands, over likely deals of those that the player of a position,
        `[1]`, does not see, and ``critic``; twice None without a critic or deals, or with points for winning. Moves
        without a choice are played first."""
        game = self._game
        if self.critic is None or self.win_bonus or not isinstance(game, Redeals) or not isinstance(game, FullView):
            return None, None
        dealt = np.repeat(states, DEALS)
        movers = self._game.to_move(dealt)
        redeal_by_belief(game, dealt, movers, rng.integers(0, 2**64, DEALS, np.uint64))
        values = roll_out(self._game, self, dealt, movers, None, depth=0, trace=1.0, playouts=0.0)
        return limited(float(values.mean()), self._game), "critic"

    def with_search(self, game: GameBase, settings: RolloutSettings) -> Agent:
        """See `learners.search.evaluator.Searchable`."""
        from learners.listed.search import DealSearch

        return DealSearch(self, game, settings)


def places(game: ListedGame, states: States) -> dict[bytes, int]:
    """Returns the place of each legal action of a position, `[1]`, in their list, by its bytes."""
    return {row.tobytes(): at for at, row in enumerate(game.legal(states).rows)}
