"""The evaluation that runs beside the training, on its own actor."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from dancfr.evaluation.agents import make_agent
from dancfr.evaluation.arena import play
from envs.game import Game
from learners.dream.agent import DreamAgent
from learners.dream.settings import Average
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
    """

    def __init__(
        self,
        game: Game,
        evaluated: Game,
        network: NetworkSettings,
        opponents: Sequence[str],
        average: Average,
        average_power: float,
        threshold: float,
        last: bool,
    ) -> None:
        self._average_power = average_power
        self._threshold = threshold
        self._game = game
        self._evaluated = evaluated
        self._network = network
        self._opponents = opponents
        self._policies: dict[str, Average] = {"average": average} | ({"last": "last"} if last else {})
        self._strategies: dict[int, list[tuple[int, Weights]]] = {p: [] for p in range(game.spec.num_players)}

    def add(self, player: int, iteration: int, weights: Weights) -> None:
        """One more net of a player."""
        self._strategies[player].append((iteration, weights))

    def evaluate(self, iteration: int, games: int, seed: tuple[int, ...]) -> list[dict[str, Any]]:
        """Matches of each policy against each opponent; rows for `metrics.jsonl`."""
        rows = []
        start = perf_counter()
        for number, (policy, average) in enumerate(self._policies.items()):
            threshold = 0.0 if policy == "last" else self._threshold
            agent = DreamAgent(
                self._game, self._network, self._strategies, average, policy, self._average_power, threshold
            )
            for place, opponent in enumerate(self._opponents):
                rng = np.random.default_rng(np.random.SeedSequence((*seed, number, place)))
                bot = make_agent(opponent, self._evaluated)
                result = play(self._evaluated, (agent, bot), games, rng)
                rows.append(
                    {"kind": "evaluation", "iteration": iteration, "policy": policy, "opponent": opponent}
                    | result.as_dict()
                )
        for row in rows:
            row["time/evaluation_s"] = perf_counter() - start
        return rows
