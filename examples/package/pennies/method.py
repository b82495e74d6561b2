"""Hedge (Freund and Schapire 1997): both players weigh each side by the exponential of its past winnings."""

from functools import partial

import numpy as np
from pydantic import Field

from dancfr.evaluation.server import NewestNets
from dancfr.methods.curves import APART_KEYS, Curves, Metric
from dancfr.methods.loop import Loop, timed
from dancfr.methods.method import Method, Preset
from dancfr.methods.recovery import run_to_end
from dancfr.methods.run_actors import RunActors
from dancfr.methods.settings import EvaluationSettings, RunConfig
from dancfr.methods.stored import newest, trained_game
from dancfr.runs.checkpoints import reading
from dancfr.watch.progress import Speed
from envs.agent import Agent
from pennies.game import Pennies


class HedgeConfig(RunConfig):
    """Hedge by self-play.

    Attributes:
        rate: Learning rate.
    """

    game: str = "pennies"
    iterations: int = Field(50, ge=1)
    rate: float = Field(0.1, gt=0)
    evaluation: EvaluationSettings = EvaluationSettings(every=2, opponents=("stubborn",), games=100)


class Hedge(Loop):
    """The scores of both players, and the sum of their policies."""

    def __init__(self, run, config, tracker, progress, placement):
        self.config = config
        self.game = Pennies(**config.game_options)
        actors = HedgeActors(placement, progress.event)
        actors.start_evaluation(HedgePolicies(), self.game, config.evaluation.opponents)
        super().__init__(run, config, tracker, progress, actors)
        self.scores, self.total = np.zeros((2, 2)), np.zeros((2, 2))

    def learn(self):
        """For t = 1, 2, ...: both players play by their weights, and add up the winnings of each side."""
        wins = np.array([[self.game.bonus, -1], [-1, 1]])  # of player 1, by what is hidden and what is guessed
        for t, row in self.iterations():
            with timed(row, "play"):
                policy = np.exp(self.config.rate * (self.scores - self.scores.max(axis=1, keepdims=True)))
                policy /= policy.sum(axis=1, keepdims=True)
                self.scores += np.stack([-wins @ policy[1], wins.T @ policy[0]])
                self.total += policy
            row |= {"samples/games": t, "hedge/heads": policy[0, 0], "play/games_per_second": 1 / row["time/play_s"]}
            if self.evaluation_due(t):
                self.evaluate(t)

    def prepare_evaluation(self, t):
        self.store_evaluated(t, {"policy": self.total / self.total.sum(axis=1, keepdims=True)}, {})

    def ready(self):
        return bool(self.total.any())

    def state(self, folder):
        return {"scores": self.scores.tolist(), "total": self.total.tolist()}

    def adopt(self, state, folder):
        with reading(folder):
            self.scores, self.total = np.array(state["scores"]), np.array(state["total"])

    def samples_offered(self):
        return self.iteration


class HedgeActors(RunActors):
    """The evaluation alone."""

    def enter(self, game):
        pass

    def files(self, folder):
        return []


class HedgePolicies(NewestNets):
    """The average policy."""

    def agents(self, iteration):
        return {"average": partial(HedgeAgent, self.require(iteration)["policy"], "average")}


class HedgeAgent(Agent):
    """Plays a side by its probability."""

    def __init__(self, policy, name):
        self.policy, self.name = policy, name

    def begin(self, game, batch, rng):
        self.game = game

    def act(self, states, places, rng):
        tails = self.policy[self.game.to_move(states), 1]
        return (rng.random(len(states)) < tails).astype(np.int64)


def load_agent(run, wanted, game):
    """The agent of a run's average policy."""
    trained_game(wanted.base, run.config_as(HedgeConfig), game)  # refuses other rules
    file = newest(run, wanted, "evaluation", "at the first evaluation")
    return HedgeAgent(run.load_strategy(0, file.iteration)[0]["policy"], wanted.text)


METHOD = Method(
    name="hedge",
    config=HedgeConfig,
    train=partial(run_to_end, Hedge),
    load_agent=load_agent,
    presets=(Preset("pennies-hedge", HedgeConfig(), "Hedge on matching pennies"),),
    speed=Speed("play/games_per_second", "games"),
    samples="samples/games",
    stored_with="evaluation",
    curves=Curves(
        phases={"play": "time/play_s", **APART_KEYS},
        overlap="evaluations run beside the next iterations",
        counted="",
        metrics=(Metric("heads", "Share of heads", "share", "share", {"Share of heads": "hedge/heads"}),),
    ),
)
Hedge.method = METHOD
