"""Paper 001 under other readings of the history, of the last challenge, and of the average strategy."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.by_name import make_agent
from dancfr.evaluation.arena import play
from dancfr.evaluation.statistics import summarise
from dancfr.games.registry import make_game_as
from dancfr.papers.paper001 import compare_curriculum, compare_generalisation, compare_win_rates
from dancfr.papers.paper001_settings import (
    AGENTS,
    ALL_BOTS,
    HEALTHS,
    INFOSETS,
    OPPONENTS,
    STARTS,
    STATED,
    TURNS,
    make_scales,
    make_setting,
)
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, count_runs, row
from dancfr.report.history import Settings
from envs.agent import Agent
from envs.cheat import Cheat
from envs.cheat.rules import CHALLENGE
from learners.cheat_cfr.histories import (
    CHALLENGED,
    CHALLENGED_CLAIM,
    CLAIM,
    LAST,
    LIE,
    PILE,
    PILES,
    SHOWN,
    WITHOUT_FIRST,
    History,
    count_histories,
)
from learners.cheat_cfr.keys import CLAIMS, GENERAL, HISTORY_AWARE, MEMORYLESS, KeyForm
from learners.cheat_cfr.solver import CheatSolver, list_infosets
from learners.cheat_cfr.strategy import CheatAgent, Strategy
from learners.cheat_cfr.table import HEAD

_LAST = ("game_options.challenge_last=true", f"evaluation.opponents={','.join(ALL_BOTS)}")
"""Settings of a game in which a discard that empties the hand must be challenged. The paper says that a player wins who
"first discards all the cards from their hand and survives the last challenge" (2.3)."""
BOTH = CLAIM | CHALLENGED

HISTORIES = (
    History("every turn: claim, challenged", BOTH),
    History("every turn: challenged, and then the claim", CHALLENGED_CLAIM),
    History("every turn: challenged", CHALLENGED),
    History("every turn: claim, and the cards shown", BOTH | SHOWN),
    History("own turns: claim, challenged", BOTH, own=True),
    History("challenged turns: claim", CHALLENGED_CLAIM, challenged=True),
    History("challenged turns: claim, lie", CHALLENGED_CLAIM | LIE, challenged=True),
    History("challenged turns: cards shown", SHOWN, challenged=True),
    History("challenged turns: size of the pile", PILE, challenged=True),
    *(History(f"last {n} turns: claim, challenged", BOTH, part=LAST, size=n) for n in (3, 6, 9, 12)),
    History("last 3 challenged turns: claim, lie, cards shown", CHALLENGED_CLAIM | LIE | SHOWN, True, LAST, 3),
    History("present pile: claim", BOTH, part=PILES, size=1),
    History("last 3 piles: claim, challenged", BOTH, part=PILES, size=3),
    *(History(f"all but the first {n} turns: claim, challenged", BOTH, part=WITHOUT_FIRST, size=n) for n in (2, 3)),
    History("all but the first 3 turns: claim, size of the pile", CLAIM | PILE, part=WITHOUT_FIRST, size=3),
)
"""Readings of the history; the first is ours, without History abstraction, and the last 3 turns are ours with it."""
NEAR = 0.25
"""Largest relative error, in Cheat-3 and Cheat-4, with which the infosets of a reading are counted in Cheat-5, too."""
HISTORIES_OF = (("History-Aware", 0), ("General", 1))
"""The agents that have a history, and their place in `count_histories`."""


def compare_histories(settings: Settings, scale: Scale) -> Comparison:
    """Compares the infosets of History-Aware and General, Tables 1 and 2, with those of each reading of the history."""
    rows: list[Row] = []
    found: dict[int, NDArray[np.int64]] = {}
    histories: Sequence[History] = HISTORIES
    for place, health in enumerate(HEALTHS if not scale.note else HEALTHS[:2]):
        if place == 2:
            histories = [h for i, h in enumerate(HISTORIES) if _error(found, i) <= NEAR]
        found[place] = count_histories(make_game_as(Cheat, "mini-cheat", health=health), histories)
        for history, counts in zip(histories, found[place], strict=True):
            for abstraction in (False, True):
                for agent, at in HISTORIES_OF:
                    paper, ours = INFOSETS[abstraction][agent][place], int(counts[int(abstraction), at])
                    cell = f"{agent}{'†' if abstraction else ''} Cheat-{health}, {history.name}"
                    rows.append(row(cell, paper, float(ours), None, f"{100 * (ours / paper - 1):+.1f} %"))
    rows.sort(key=lambda each: each["cell"].partition(", ")[2])
    unit = "Infosets that can be reached, of both players; with † without the rank (Cards abstraction)."
    return Comparison(rows, [], unit=unit)


def _error(found: Mapping[int, NDArray[np.int64]], i: int) -> float:
    """Largest relative error of a reading of History-Aware in the games so far, with or without abstraction, whichever
    is smaller."""
    errors = [
        [
            abs(float(counts[i, int(cards), 0]) / INFOSETS[cards]["History-Aware"][place] - 1)
            for place, counts in found.items()
        ]
        for cards in (False, True)
    ]
    return min(max(each) for each in errors)


CHALLENGES = 3.5
"""Challenges in "one game without any restriction" (5.1)."""
PLIES = 4000
"""Decisions after which a game without health points is stopped."""
RULES: dict[str, dict[str, object]] = {
    "as here": {},
    "one card a discard": {"max_discard": 1},
    "three cards dealt": {"dealt": 3},
    "last discard challenged": {"challenge_last": True},
    "last discard challenged, one card a discard": {"challenge_last": True, "max_discard": 1},
}
PAIRS = (("random", "random"), ("heuristic", "random"), ("heuristic-tracking", "random"), ("heuristic", "heuristic"))


def compare_challenges(settings: Settings, scale: Scale) -> Comparison:
    """Compares the mean number of challenges in games without health points under several readings of the rules."""
    rows = []
    for rules, options in RULES.items():
        game = make_game_as(Cheat, "mini-cheat", health=0, ply_limit=PLIES, **options)
        for pair in PAIRS:
            counts = count_challenges(game, [make_agent(name, game) for name in pair], scale.games, scale.seeds[0])
            note = f"{scale.games:,} games; 95 % interval +-{1.96 * counts.std() / len(counts) ** 0.5:.2f}"
            rows.append(row(f"{rules}: {' v '.join(pair)}", CHALLENGES, float(counts.mean()), None, note))
    return Comparison(rows, [], unit="Challenges a game, without health points.")


def count_challenges(game: Cheat, agents: Sequence[Agent], games: int, seed: int) -> NDArray[np.int64]:
    """Plays games of two agents, each as player 0 in half of them; returns the challenges in each, `int64[games]`."""
    rng = np.random.default_rng(seed)
    states, counts = game.reset(games, rng), np.zeros(games, np.int64)
    for agent in agents:
        agent.begin(game, games, rng)
    while (running := np.flatnonzero(~game.finished(states))).size:
        part = states[running]
        actions = np.empty(len(running), np.int64)
        seat = (game.to_move(part) + running) % 2
        for which, agent in enumerate(agents):
            mine = np.flatnonzero(seat == which)
            if len(mine):
                actions[mine] = agent.act(part[mine], running[mine], rng)
        counts[running] += actions == CHALLENGE
        game.step(part, actions)
        states[running] = part
    return counts


ITERATIONS = 100
AVERAGES = (
    "weighted by own reach",
    "weighted by the opponent's reach",
    "not weighted",
    "weighted by iteration",
    "of the second half",
    "last strategy",
)


def compare_averages(settings: Settings, scale: Scale) -> Comparison:
    """Compares Memoryless after 100 iterations of Cheat-3, played by several averages of its strategies."""
    rows = []
    for last in (False, True):
        game = make_game_as(Cheat, "mini-cheat", challenge_last=last)
        agents = [memoryless_averages(game, seed) for seed in scale.seeds]
        for average in AVERAGES:
            for bot in ALL_BOTS:
                rates = [
                    100
                    * play(
                        game, (each[average], make_agent(bot, game)), scale.games, np.random.default_rng(seed)
                    ).win_rate
                    for seed, each in zip(scale.seeds, agents, strict=True)
                ]
                found, rules = summarise(rates), "last discard challenged" if last else "as here"
                note = f"mean over {count_runs(found.n)} of {scale.games:,} games"
                rows.append(row(f"{rules}, {average} vs {bot}", STATED.get(bot), found.mean, found.sd, note))
    return Comparison(rows, [], unit="Win rates are percent of games.")


def memoryless_averages(game: Cheat, seed: int) -> dict[str, CheatAgent]:
    """Trains Memoryless for `ITERATIONS`; returns an agent for each of `AVERAGES`."""
    keys = KeyForm(MEMORYLESS)
    solver = list_infosets(game, keys)  # all infosets from the beginning, so that the table does not grow
    solver.seed = seed
    here = solver.table.occupied
    counts = here["count"]
    records = [np.arange(at, at + HEAD + 3 * count) for at, count in zip(here["at"], counts, strict=True)]
    sums = np.concatenate([r[HEAD + n : HEAD + 2 * n] for r, n in zip(records, counts, strict=True)])
    policy = np.concatenate([r[HEAD + 2 * n :] for r, n in zip(records, counts, strict=True)])
    totals = {name: np.zeros(len(sums)) for name in AVERAGES[2:5]}
    before = np.zeros(len(sums))
    for t in range(1, ITERATIONS + 1):
        solver.run(1)
        values = solver.table.values
        met = np.repeat(values[here["at"]] == t, counts)  # the others keep the strategy of an earlier iteration
        grown = values[sums] - before
        before = values[sums].copy()
        totals["not weighted"] += np.where(met, values[policy], 0.0)
        totals["weighted by iteration"] += t * grown
        totals["of the second half"] += grown * (t > ITERATIONS // 2)
    printed = CheatSolver(game, keys, seed, counterfactual=True)
    printed.table = list_infosets(game, keys).table
    printed.run(ITERATIONS)
    policies = {name: _normalised(total, counts) for name, total in totals.items()}
    policies |= {
        AVERAGES[0]: solver.table.policies(True),
        AVERAGES[1]: printed.table.policies(True),  # weighted otherwise, but of the same strategies
        AVERAGES[-1]: solver.table.policies(False),
    }
    strategy = Strategy(np.stack([here["first"], here["second"]], axis=1), counts, policies)
    return {name: CheatAgent(game, keys, strategy, name) for name in AVERAGES}


def compare_claims(settings: Settings, scale: Scale) -> Comparison:
    """Compares Figs 1 to 3 of the agents with a history that records all claims, or only those that were challenged."""
    three, four, hundred = (make_game_as(Cheat, "mini-cheat", health=health) for health in (3, 4, 100))
    rates: dict[str, list[float]] = {}
    for name, agent in (("History-Aware", HISTORY_AWARE), ("General", GENERAL)):
        for cards, claims, seed in product((False, True), CLAIMS, scale.seeds):
            keys = KeyForm(agent, cards, TURNS if cards else 0, claims)
            solver = CheatSolver(three, keys, seed)
            solver.run(ITERATIONS)
            cases = [("Cheat-3", three, CheatAgent(three, keys, solver.strategy()))]
            if cards:
                cases.append(("Cheat-3 in Cheat-100", hundred, cases[0][2]))
                scratch = CheatSolver(four, keys, seed)
                scratch.run(ITERATIONS)
                cases.append(("Cheat-4", four, CheatAgent(four, keys, scratch.strategy())))
                solver.enter(four)
                solver.run(ITERATIONS)
                cases.append(("Cheat-4 from Cheat-3", four, CheatAgent(four, keys, solver.strategy())))
            for (case, game, each), bot in product(cases, OPPONENTS):
                cell = f"{name}{'†' if cards else ''} {case} vs {bot}, {claims} claims"
                match = play(game, (each, make_agent(bot, game)), scale.games, np.random.default_rng(seed))
                rates.setdefault(cell, []).append(100 * match.win_rate)
    rows = []
    for cell in sorted(rates):
        found = summarise(rates[cell])
        note = f"mean over {count_runs(found.n)} of {scale.games:,} games; average strategy"
        rows.append(row(cell, None, found.mean, found.sd, note))
    return Comparison(rows, [], unit="Win rates are percent of games.")


def _normalised(totals: NDArray[np.float64], counts: NDArray[np.int32]) -> NDArray[np.float64]:
    """Probabilities in proportion to totals at each infoset, uniform where all are 0."""
    whole = np.repeat(np.add.reduceat(totals, np.cumsum(counts) - counts), counts)
    return np.where(whole > 0, totals / np.where(whole > 0, whole, 1.0), 1.0 / np.repeat(counts, counts))


def _scales(seeds: int, games: int, note: str) -> dict[str, Scale]:
    """Scales of an experiment that trains no runs."""
    return {
        "paper": Scale((), tuple(range(1, 1 + seeds)), games=games),
        "quick": Scale((), tuple(range(1, 1 + max(1, seeds // 3))), games=games // 5, note=f"quick scale: {note}"),
    }


_FIG1 = make_scales([make_setting(name, cards, 3, *_LAST) for cards in (False, True) for name in AGENTS])
_FIG2 = make_scales([make_setting(name, True, 3, *_LAST) for name in AGENTS], 10_000)
_FIG3 = make_scales(
    [make_setting(name, True, 4, *_LAST, *more, folder=end) for name in AGENTS for more, end in STARTS.values()]
)

EXPERIMENTS = {
    "cheat-histories": Experiment(
        "Paper 001, Tables 1 and 2: infosets under several readings of the history.",
        "cheat-readings",
        _scales(1, 0, "no Cheat-5"),
        compare_histories,
    ),
    "cheat-challenges": Experiment(
        "Paper 001, 5.1: challenges a game under several readings of the rules.",
        "cheat-readings",
        _scales(1, 20_000, "fewer games"),
        compare_challenges,
    ),
    "cheat-averages": Experiment(
        "Paper 001, Fig. 1: Memoryless with several averages, under two readings of the rules.",
        "cheat-readings",
        _scales(10, 5000, "fewer seeds and games"),
        compare_averages,
    ),
    "cheat-claims": Experiment(
        "Paper 001, Figs 1 to 3: agents that remember all claims, and agents that remember those challenged.",
        "cheat-readings",
        _scales(10, 2000, "fewer seeds and games"),
        compare_claims,
    ),
    "cheat-fig1-challenged": Experiment(
        "Paper 001, Fig. 1, where a discard that empties the hand must be challenged.",
        "cheat-challenged",
        _FIG1,
        partial(compare_win_rates, True),
    ),
    "cheat-fig2-challenged": Experiment(
        "Paper 001, Fig. 2, where a discard that empties the hand must be challenged.",
        "cheat-challenged",
        _FIG2,
        partial(compare_generalisation, True),
    ),
    "cheat-fig3-challenged": Experiment(
        "Paper 001, Fig. 3, where a discard that empties the hand must be challenged.",
        "cheat-challenged",
        _FIG3,
        compare_curriculum,
    ),
}
"""Experiments by name."""
