"""The trainings of paper 001 on Mini-Cheat, and the numbers that the paper states."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dancfr.papers.trainings import Scale, Setting

AGENTS = {
    "Memoryless": "cheat-memoryless",
    "HP-Aware": "cheat-hp-aware",
    "History-Aware": "cheat-history-aware",
    "General": "cheat-general",
}
"""Presets of the agents of section 4.2."""
OPPONENTS = ("random", "heuristic")
ALL_BOTS = (*OPPONENTS, "heuristic-tracking")
TURNS = 3
"""Number of turns of the History abstraction, for which we take the number of ranks."""

SECONDS: Mapping[bool, Mapping[str, tuple[int, ...]]] = {
    False: {
        "Memoryless": (60, 860, 17887),
        "HP-Aware": (52, 1057, 19034),
        "History-Aware": (171, 5514, 18371),
        "General": (224, 5054, 20315),
    },
    True: {
        "Memoryless": (60, 1238, 20759),
        "HP-Aware": (80, 1346, 21208),
        "History-Aware": (159, 4031, 14428),
        "General": (187, 4231, 17891),
    },
}
"""Seconds of 100 iterations on Cheat-3, -4 and -5, without (Table 1) and with Infoset Abstraction (Table 2)."""

INFOSETS: Mapping[bool, Mapping[str, tuple[int, ...]]] = {
    False: {
        "Memoryless": (292, 292, 292),
        "HP-Aware": (1331, 2557, 4257),
        "History-Aware": (10689, 113331, 1209336),
        "General": (11433, 120512, 1523174),
    },
    True: {
        "Memoryless": (100, 100, 100),
        "HP-Aware": (604, 1063, 1660),
        "History-Aware": (3668, 46827, 528371),
        "General": (4220, 52723, 659312),
    },
}
"""Number of infosets, for the same cases."""

STATED = {"random": 90.0, "heuristic": 75.0}
"""Approximate win rates of Memoryless-3 in Fig. 1, from the text of 5.3.2, which gives no other numbers."""
BASELINE = 80.0
"""Approximate win rate of the heuristic bot against the random bot (5.3.2)."""
BASELINE_NOTES = {
    "heuristic": "the opponent in these games; remembers no cards, unlike the bot that 5.2 of the paper describes",
    "heuristic-tracking": "remembers the cards that were shown, as the paper describes its bot",
}
"""Our counterparts of the paper's bots, and how they differ."""
HEALTHS = (3, 4, 5)
PLAYED = (2, 3, 4, 5, 6, 8, 10, 20, 50, 100)
"""Health points of the games of Fig. 2."""
SOLVED = (3, 4)
"""Health points of the games whose trees are small enough for exact best responses."""
STAGE = 100
FIXED = (
    "game",
    "game_options",
    "agent",
    "cards",
    "turns",
    "claims",
    "curriculum",
    "keep_sums",
    "copy_infosets",
    "minutes",
    "evaluation.opponents",
    "evaluation.last",
)
"""Settings that define the paper's experiments."""


def _abstracted(name: str) -> tuple[str, ...]:
    """Returns the overrides for the Infoset Abstraction of an agent."""
    turns = (f"turns={TURNS}",) if AGENTS[name] in ("cheat-history-aware", "cheat-general") else ()
    return ("cards=true", *turns)


def make_setting(name: str, abstraction: bool, health: int, *more: str, folder: str = "") -> Setting:
    """Returns the setting of an agent, with a folder that describes it."""
    overrides = (f"game_options.health={health}", *(_abstracted(name) if abstraction else ()), *more)
    mark = "-abstracted" if abstraction else ""
    return Setting(
        f"{name}-{health}{'†' if abstraction else ''}{folder}",
        AGENTS[name],
        overrides,
        f"{AGENTS[name]}{mark}-{health}{folder}",
    )


def make_scales(
    settings: Sequence[Setting], games: int = 0, fixed: tuple[str, ...] = (), quick: int = 3
) -> dict[str, Scale]:
    """Returns the scales: the paper's size is small, so ``quick`` differs only in fewer seeds and games."""
    whole = Scale(tuple(settings), tuple(range(1, 11)), games=games, fixed=(*FIXED, *fixed), parallel=True)
    note = "quick scale: fewer seeds" + (" and games" if games else "")
    return {"paper": whole, "quick": replace(whole, seeds=tuple(range(1, quick + 1)), note=note, games=games // 5)}


TABLES = {
    abstraction: make_scales(
        [
            make_setting(name, abstraction, health, "evaluation.every=0", folder="-table")
            for health in HEALTHS
            for name in AGENTS
        ],
        fixed=("iterations",),
        quick=1,
    )
    for abstraction in (False, True)
}
EXACT = make_scales(
    [
        make_setting(name, abstraction, health, "evaluation.every=0", folder="-table")
        for health in SOLVED
        for abstraction in (False, True)
        for name in AGENTS
    ]
)
FIG1 = make_scales([make_setting(name, abstraction, 3) for abstraction in (False, True) for name in AGENTS])
FIG2 = make_scales([make_setting(name, True, 3) for name in AGENTS], 10_000)
_FROM = ("curriculum.option=health", "curriculum.values=3", f"curriculum.iterations={STAGE}", f"iterations={2 * STAGE}")
STARTS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "from scratch": ((), ""),
    "from Cheat-3": (_FROM, "-from-3"),
    "from Cheat-3 with copies": ((*_FROM, "copy_infosets=true"), "-from-3-copied"),
}
"""Trainings of Fig. 3: their settings, and the ends of the names of their folders. The paper initialises "each infoset"
of Cheat-4, also those with 4 health points: they start with nothing here, or as copies (4.1.2 lets agents play so)."""
FIG3 = make_scales([make_setting(name, True, 4, *more, folder=end) for name in AGENTS for more, end in STARTS.values()])
