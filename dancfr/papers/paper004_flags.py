"""Paper 004's flags for wild cards where they can matter: rounds by the wild cards that an agent's team is dealt."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from dancfr.agents.by_name import make_agent
from dancfr.agents.match_rules import match_rules
from dancfr.evaluation.arena import play_batch
from dancfr.papers.paper004 import ABLATED, FULL
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, row
from dancfr.report.history import Settings
from envs.agent import Agent
from envs.game import GameBase, States

WILD = 2
"""Wild cards of a deal: the heart of the level in each of the two decks."""

ROUNDS = ("length=round",)
UNIT = "Win rates are percent of rounds."


def wild_cards(states: States) -> NDArray[np.int64]:
    """Returns the number of wild cards in the hands of each team, `int64[B, 2]`."""
    heart = 4 * states["level"].astype(np.uint64)[:, None]  # index of the card; two bits each, 32 cards in a word
    word = np.where(heart < 32, states["low"], states["high"])
    held = (word >> (2 * (heart % 32)) & np.uint64(3)).astype(np.int64)
    return held[:, :2] + held[:, 2:]


def won_by_wild_cards(
    game: GameBase, agents: tuple[Agent, Agent], rounds: int, rng: np.random.Generator
) -> Mapping[int, NDArray[np.float64]]:
    """Plays rounds whose deals are each played twice, with the teams exchanged.

    Returns:
        For each number of wild cards that the first agent's team was dealt, 1 for each round that it won and 0 for
        each that it lost.
    """
    seat = (np.arange(rounds) % 2).astype(np.int8)
    dealt: list[NDArray[np.int64]] = []

    def watch(states: States, places: NDArray[np.int64]) -> None:
        if not dealt:
            dealt.append(wild_cards(states))

    record = play_batch(game, agents, seat, rng.spawn(3), watch)
    held = dealt[0][np.arange(rounds), seat]
    return {wild: (record.outcome[held == wild] > 0).astype(np.float64) for wild in range(WILD + 1)}


def crossed(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Returns the mean of a statistic over all pairs of R and C trainings, `[R, C]`, and its 95 % interval.

    Trainings of both sides are random, so the variance of the mean is that of the means of rows plus that of the means
    of columns. It counts the noise of rounds twice, so the interval is rather too wide.
    """
    variance = sum(values.mean(axis).var(ddof=1) / n for axis, n in ((1, values.shape[0]), (0, values.shape[1])))
    half = float(t.ppf(0.975, min(values.shape) - 1) * np.sqrt(variance))
    mean = float(values.mean())
    return mean, mean - half, mean + half


def compare(settings: Settings, scale: Scale) -> Comparison:
    """Lets every net with the flags meet every net without them, and counts rounds by the wild cards of a team."""
    full, ablated = (tuple(str(run.path) for run in settings[name]) for name in (FULL, ABLATED))
    won = np.zeros((len(full), len(ablated), WILD + 1))
    rounds = np.zeros(WILD + 1, int)
    rules, _ = match_rules("guandan", [*full, *ablated], ROUNDS)
    streams = iter(np.random.default_rng(scale.seeds[0]).spawn(len(full) * len(ablated)))
    for (i, one), (j, other) in product(enumerate(full), enumerate(ablated)):
        agents = make_agent(one, rules), make_agent(other, rules)
        for wild, results in won_by_wild_cards(rules, agents, scale.games, next(streams)).items():
            won[i, j, wild] = 100 * results.mean()
            rounds[wild] += len(results)
    return Comparison(_rows(won, rounds), [], unit=UNIT)


def _rows(won: NDArray[np.float64], rounds: Sequence[int] | NDArray[Any]) -> list[Row]:
    """Returns the table from the percentages that the nets with the flags win, `[R, C, wild cards]`."""
    none, one, both = (won[:, :, wild] for wild in range(WILD + 1))
    apart = rounds[0] + rounds[WILD]
    cells = [
        (f"{FULL} vs {ABLATED}, one wild card in each team", one, rounds[1]),
        (f"{FULL} vs {ABLATED}, both wild cards in one team", (none + both) / 2, apart),
        (f"{FULL} with both wild cards", both, rounds[WILD]),
        (f"{ABLATED} with both wild cards", 100 - none, rounds[0]),
        ("the former minus the latter", both + none - 100, apart),
    ]
    rows = []
    for cell, values, count in cells:
        pairs = f"{int(count):,} rounds of {values.size} pairs of trainings"
        if min(values.shape) < 2:
            rows.append(row(cell, None, float(values.mean()), None, pairs))
            continue
        mean, low, high = crossed(values)
        rows.append(row(cell, None, mean, None, f"95 % interval over trainings {low:.1f} to {high:.1f}; {pairs}"))
    return rows


_SHORT = ("iterations=250", "minutes=none", "evaluation.every=250", "evaluation.games=100")

EXPERIMENTS = {
    "danzero-wild-flags": Experiment(
        "Beyond paper 004: its flags for wild cards, in rounds by the wild cards that a team is dealt.",
        "danzero",
        {
            "quick": Scale(
                settings=(
                    Setting(FULL, "guandan-dmc-quick", (), "guandan-dmc-quick-flags"),
                    Setting(
                        ABLATED, "guandan-dmc-quick", ("network.encoding=no_wild_flags",), "guandan-dmc-quick-none"
                    ),
                ),
                seeds=(1, 2, 3, 4, 5),
                overrides=_SHORT,
                note="the small net of guandan-dmc-quick, 250 iterations",
                games=2000,
                parallel=True,
            ),
            "paper": Scale(
                settings=(Setting(FULL, "guandan-dmc"), Setting(ABLATED, "guandan-dmc-no-wild")),
                seeds=(1, 2),
                games=10_000,
            ),
        },
        compare,
    ),
}
