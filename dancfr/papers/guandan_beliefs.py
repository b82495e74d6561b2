"""`python -m dancfr.papers.guandan_beliefs train FILE`, `measure FILE` and `costs FILE`: beliefs about the hidden hands
of GuanDan.

The first learns a belief from rounds of an agent against itself, or against another one, and writes its weights; the
second measures weights on fresh rounds. Both take `key=value` options, see `Training` and `Measuring`. The third takes
the time of a decision's parts.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from actors.guandan_beliefs import Positions, play_rounds
from dancfr.agents.by_name import make_agent
from dancfr.errors import DancfrError, UsageError, warn
from dancfr.values import parse_options
from envs.agent import Agent
from envs.guandan.beliefs.evidence import observe
from envs.guandan.beliefs.net import HandsBelief, count_chances
from envs.guandan.beliefs.placements import deal_into
from envs.guandan.game import GuanDan
from learners.guandan_beliefs.measures import BINS, judged, uniform
from learners.guandan_beliefs.settings import HandsNetSettings, HandsTrainingSettings
from learners.guandan_beliefs.values import values_by_deals
from learners.listed.agent import QAgent
from learners.settings import Settings
from learners.storage import DamagedFile, halved, load_state, save_state, widened

CHUNK = 1024
"""Rounds that are played with one seed and fitted once."""

PLAYS = (0, 8, 16, 24, 32, 48, 64)
"""Where the groups of positions by the number of plays and passes begin."""


class Playing(Settings):
    """Options of `train` and `measure`.

    Attributes:
        agent, against: The two agents.
        kept: Share of the positions that count.
    """

    agent: str = "pretrained:guandan"
    against: str = "pretrained:guandan"
    kept: float = Field(0.5, gt=0, le=1)


class Training(Playing, HandsNetSettings):
    """Options of `train`.

    Attributes:
        rounds: Number of rounds played.
        seed: Seed of everything.
    """

    rounds: int = Field(40_000, ge=1)
    seed: int = Field(1, ge=0)


class Measuring(Playing):
    """Options of `measure`. Positions count in which the first agent is to move.

    Attributes:
        rounds: Number of rounds played.
        seed: Seed of everything; another one than that of the training.
        value_rows: Positions at which values are averaged over deals, if the agent has a critic; 0 leaves this out.
    """

    rounds: int = Field(2000, ge=2)
    seed: int = Field(101, ge=0)
    value_rows: int = Field(4000, ge=0)


def _agents(game: GuanDan, names: Sequence[str]) -> list[Agent]:
    made = {name: make_agent(name, game) for name in dict.fromkeys(names)}
    return [made[name] for name in names]


def train(settings: Training) -> dict[str, NDArray[np.float32]]:
    """Learns a belief; returns its weights.

    Raises:
        UsageError: the rounds of the first chunk have fewer positions than a minibatch.
    """
    from learners.guandan_beliefs.learner import HandsLearner

    game = GuanDan()
    agents = _agents(game, (settings.agent, settings.against))
    training = HandsTrainingSettings()
    learner = HandsLearner(settings, training, settings.seed)
    started, rows = process_time(), 0
    for chunk, first in enumerate(range(0, settings.rounds, CHUNK)):
        rng = np.random.default_rng(np.random.SeedSequence((settings.seed, chunk)))
        end = min(first + CHUNK, settings.rounds)
        found = play_rounds(game, agents, end - first, rng, settings.kept)
        if chunk == 0 and len(found.states) < training.batch:
            raise UsageError(
                f"{end} rounds have {len(found.states)} positions, and a minibatch takes {training.batch}: raise "
                "rounds or kept"
            )
        metrics = learner.fit(found.states, rng, first / settings.rounds)
        rows += int(metrics["rows"])
        seconds = process_time() - started
        warn(f"{end} rounds, {rows} positions, loss {metrics['loss']:.4f}, {seconds:.0f} CPU seconds")
    return learner.weights()


def ratio(above: NDArray[np.float64], below: NDArray[np.float64], rounds: NDArray[np.int64]) -> list[float]:
    """The ratio of two sums, and its 95 % interval over rounds by the linearised variance.

    Args:
        above, below: The summands of each position, `[n]`.
        rounds: Number of the round of each position, `[n]`.

    Raises:
        UsageError: the positions are from fewer than two rounds.
    """
    met = np.bincount(rounds, minlength=1) > 0
    if met.sum() < 2:
        raise UsageError("an interval needs positions of at least two rounds: raise rounds, kept or value_rows")
    value = above.sum() / below.sum()
    by_round = np.bincount(rounds, above - value * below)[met]
    half = 1.96 * np.sqrt(len(by_round) / (len(by_round) - 1) * np.square(by_round).sum()) / below.sum()
    return [round(float(each), 4) for each in (value, value - half, value + half)]


def measure(belief: HandsBelief, settings: Measuring) -> dict[str, object]:
    """Measures a belief on fresh rounds: all that the page of the results shows, as JSON.

    Groups whose positions are from a single round are left out.

    Raises:
        UsageError: all positions are from fewer than two rounds.
    """
    game = GuanDan()
    agents = _agents(game, (settings.agent, settings.against))
    rng = np.random.default_rng(settings.seed)
    found = play_rounds(game, agents, settings.rounds, rng, settings.kept)
    if settings.agent != settings.against:
        found = Positions(*(part[found.agents == 0] for part in found))
    states, rounds = found.states, found.rounds
    plays = states["decisions"] - 2 * states["tributes"].astype(np.int64)
    known, learnt = judged(None, states), judged(belief, states)
    loss, right, cards = uniform(states)
    beliefs = {"uniform": (loss, right), "tributes": known[:2], "learned": learnt[:2]}
    groups = {"all": np.ones(len(states), np.bool_)}
    for first, end in zip(PLAYS, (*PLAYS[1:], 10_000), strict=True):
        groups[f"{first}-{end - 1}" if end < 10_000 else f"{first}-"] = (plays >= first) & (plays < end)
    table = {
        group: {
            "positions": int(at.sum()),
            "cards": round(float(cards[at].mean()), 1),
            **{
                name: {
                    "loss": ratio(values[0][at], cards[at], rounds[at]),
                    "deal": round(float(values[0][at].mean()), 2),
                    "right": ratio(values[1][at], cards[at], rounds[at]),
                }
                for name, values in beliefs.items()
            },
        }
        for group, at in groups.items()
        if group == "all" or len(np.unique(rounds[at])) > 1
    }
    reliability = [
        [round(float(part), 4) for part in (learnt.predicted[i] / n, learnt.observed[i] / n)] + [int(n)]
        for i in range(BINS)
        if (n := learnt.events[i]) > 0
    ]
    results: dict[str, object] = {"settings": settings.model_dump(), "groups": table, "reliability": reliability}
    agent = agents[0]
    if settings.value_rows and isinstance(agent, QAgent) and agent.critic is not None:
        chosen = rng.permutation(len(states))[: settings.value_rows]
        values = values_by_deals(game, agent.critic, belief, states[chosen], rng)
        results["values"] = _errors(values, found.returns[chosen], rounds[chosen])
    return results


def _errors(
    values: dict[str, NDArray[np.float64]], returns: NDArray[np.float32], rounds: NDArray[np.int64]
) -> dict[str, dict[str, list[float]]]:
    """Mean squared differences of values from the returns, and from the values of the true hands, with intervals; and
    the first beyond that of uniform deals."""
    one = np.ones(len(returns))
    squares = {name: np.square(each - returns) for name, each in values.items()}
    return {
        name: {
            "from_return": ratio(squares[name], one, rounds),
            "beyond_uniform": ratio(squares[name] - squares["uniform"], one, rounds),
            "from_true": ratio(np.square(each - values["true"]), one, rounds),
        }
        for name, each in values.items()
    }


def costs(belief: HandsBelief) -> dict[str, float]:
    """CPU microseconds of a decision's parts, means over the positions of rounds of `planner`."""
    game = GuanDan()
    states = play_rounds(game, _agents(game, ("planner", "planner")), 100, np.random.default_rng(1)).states
    movers = states["to_move"].astype(np.int64)
    by_seat, by_table, known = observe(states, movers)
    scores, seeds = belief.scores(by_seat, by_table), np.arange(len(states), dtype=np.uint64)
    parts: dict[str, Callable[[], object]] = {
        "evidence": lambda: observe(states, movers),
        "net": lambda: belief.scores(by_seat, by_table),
        "chances": lambda: count_chances(known, scores),
        "deal": lambda: deal_into(states.copy(), movers, known, scores, seeds),
    }
    found = {}
    for name, part in parts.items():
        times = []
        for _ in range(4):  # the first compiles
            started = process_time()
            part()
            times.append(process_time() - started)
        found[name] = round(1e6 * min(times) / len(states), 1)
    return found


def main(arguments: Sequence[str]) -> None:
    """Trains, measures, or takes times.

    Raises:
        UsageError: the arguments are wrong.
    """
    if len(arguments) < 2 or arguments[0] not in ("train", "measure", "costs"):
        raise UsageError("write train FILE, measure FILE or costs FILE, then options such as rounds=2000 seed=3")
    kinds: dict[str, type[Settings]] = {"train": Training, "measure": Measuring, "costs": Settings}
    kind, path = kinds[arguments[0]], Path(arguments[1])
    known = {name: field.annotation for name, field in kind.model_fields.items()}
    try:
        settings = kind(**parse_options(arguments[2:], known, arguments[0], "rounds=2000"))
    except ValueError as error:
        raise UsageError(str(error).replace("\n", " ")) from None
    if isinstance(settings, Training):
        if not path.parent.is_dir():
            raise UsageError(f"the folder {path.parent} does not exist: make it first")
        save_state(path, halved(train(settings)), {"about": "hands of guandan", **settings.model_dump()})
        return
    if not path.is_file():
        raise UsageError(f"{path} does not exist: train a belief first")
    try:
        belief = HandsBelief(widened(load_state(path)[0]))
    except DamagedFile as error:
        raise UsageError(f"{error}; name a file that train has written") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}; name a file that train has written") from None
    print(json.dumps(measure(belief, settings) if isinstance(settings, Measuring) else costs(belief)))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except DancfrError as failure:
        warn(f"dancfr: {failure}")
        sys.exit(failure.exit_code)
