"""The evaluations that run beside the training, on an actor of their own."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from dancfr.evaluation.arena import play
from dancfr.evaluation.bots import bots
from dancfr.evaluation.lengths import evaluated_as
from dancfr.methods.run_agents import q_agent
from envs.agent import Agent
from envs.game import Game, RaggedGame
from learners.dmc.settings import QNetworkSettings
from learners.dream.agent import DreamAgent
from learners.dream.average_policy import AveragePolicyAgent
from learners.dream.settings import Play
from learners.networks.settings import NetworkSettings, Weights


class EvaluationServer:
    """Holds the nets of a growing run and plays matches of its policies against bots.

    Args:
        game: The game as it is trained on.
        evaluated: The game as it is evaluated, with its own ply limit.
        network: Description of the advantage nets.
        opponents: Names of bots.
        average: How the average policy is played.
        average_power: How nets are weighed in it, see `DreamAgent`.
        threshold: Of the average, see `DreamAgent`; the last iterate is evaluated as it is.
        last: Evaluate the last iterate too.
        exact: Compute exploitability on the game's tree.
    """

    def __init__(
        self,
        game: Game,
        evaluated: Game,
        network: NetworkSettings,
        opponents: Sequence[str],
        average: Play,
        average_power: float,
        threshold: float,
        last: bool,
        exact: bool = False,
    ) -> None:
        self._average_power = average_power
        self._threshold = threshold
        self._game = game
        self._evaluated = evaluated
        self._network = network
        self._opponents = opponents
        self._policies: dict[str, Play] = {"average": average} | ({"last": "last"} if last else {})
        self._strategies: dict[int, list[tuple[int, Weights]]] = {p: [] for p in range(game.spec.num_players)}
        self._averages: dict[int, Weights] = {}
        self._form = None
        if exact:
            from envs.tree import compile_tree
            from learners.cfr.sequence_form import sequence_form

            tree: Any = game
            self._form = sequence_form(compile_tree(tree))

    def add(self, player: int, iteration: int, weights: Weights) -> None:
        """One more net of a player."""
        self._strategies[player].append((iteration, weights))

    def set_average(self, player: int, weights: Weights) -> None:
        """The net that plays the average of a player from now on."""
        self._averages[player] = weights

    def evaluate(self, iteration: int, games: int, seed: tuple[int, ...]) -> list[dict[str, Any]]:
        """Matches of each policy against each opponent, and their exploitability; rows for `metrics.jsonl`."""
        policies = {policy: partial(self._agent, policy, average) for policy, average in self._policies.items()}
        rows = evaluation_rows(self._evaluated, policies, self._opponents, iteration, games, seed)
        form = self._form
        return rows + (
            [exact_row(form, iteration, policy, make()) for policy, make in policies.items()] if form else []
        )

    def _agent(self, policy: str, average: Play) -> DreamAgent | AveragePolicyAgent:
        if average == "net":
            return AveragePolicyAgent(self._game, self._network, self._averages, policy)
        threshold = 0.0 if policy == "last" else self._threshold
        return DreamAgent(self._game, self._network, self._strategies, average, policy, self._average_power, threshold)


class QEvaluationServer:
    """Plays matches of the newest Q-net of a run against bots, policy ``last``.

    Args:
        game: The game as it is trained on; evaluations have their own length, see `LENGTHS`.
        network: Description of the Q-net.
        opponents: Names of bots.
        learn_scripted: The net decides what the game would leave to its heuristic, too.
    """

    def __init__(
        self, game: RaggedGame, network: QNetworkSettings, opponents: Sequence[str], learn_scripted: bool = False
    ) -> None:
        self._game = game
        self._evaluated = evaluated_as(game)
        self._network = network
        self._opponents = opponents
        self._learn_scripted = learn_scripted
        self._weights: Weights = {}
        self._iteration = 0

    def add(self, iteration: int, weights: Weights) -> None:
        """The net of an iteration, in the place of the one before."""
        self._iteration, self._weights = iteration, weights

    def evaluate(self, iteration: int, games: int, seed: tuple[int, ...]) -> list[dict[str, Any]]:
        """Matches of the newest net, which is that of `iteration`; rows for `metrics.jsonl`.

        Raises:
            ValueError: the newest net is of another iteration.
        """
        if self._iteration != iteration:
            raise ValueError(f"iteration {iteration} is to be evaluated, but the newest net is of {self._iteration}")
        policies = {"last": partial(q_agent, self._game, self._network, self._weights, self._learn_scripted, "last")}
        return evaluation_rows(self._evaluated, policies, self._opponents, iteration, games, seed)


def exact_row(form: Any, iteration: int, policy: str, agent: Any) -> dict[str, Any]:
    """Value and exploitability of an agent that plays both sides; a row for `metrics.jsonl`.

    Args:
        form: The `SequenceForm` of the game.
        agent: One that says what it plays at every infoset of a tree.
    """
    from learners.cfr.exact_evaluation import evaluate_policy

    started = perf_counter()
    found = evaluate_policy(form, agent.tree_policy(form.tree)).as_dict()
    row = {"kind": "exploitability", "iteration": iteration, "policy": policy}
    return row | found | {"time/exploitability_s": perf_counter() - started}


def evaluation_rows(
    game: Game | RaggedGame,
    policies: Mapping[str, Callable[[], Agent]],
    opponents: Sequence[str],
    iteration: int,
    games: int,
    seed: tuple[int, ...],
) -> list[dict[str, Any]]:
    """Matches of each policy against each opponent.

    Args:
        policies: What makes an agent that plays by each.
        seed: Entropy; each match adds the numbers of its policy and opponent.
    """
    rows = []
    start = perf_counter()
    for number, (policy, make) in enumerate(policies.items()):
        agent = make()
        for place, opponent in enumerate(opponents):
            rng = np.random.default_rng(np.random.SeedSequence((*seed, number, place)))
            result = play(game, (agent, bots(game)[opponent]()), games, rng)
            row = {"kind": "evaluation", "iteration": iteration, "policy": policy, "opponent": opponent}
            rows.append(row | result.as_dict())
    for row in rows:
        row["time/evaluation_s"] = perf_counter() - start
    return rows
