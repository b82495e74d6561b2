"""Presets of policy gradients."""

from collections.abc import Mapping
from typing import Any

from dancfr.methods.method import Preset
from dancfr.methods.policy_gradient.config import PolicyGradientConfig
from dancfr.methods.settings import ExactEvaluation
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.settings import AdversarySettings, PolicyTrainingSettings

GEISTER = PolicyGradientConfig(
    game="geister",
    game_options={"history": True},
    iterations=100_000,
    minutes=5.0,
    games=1024,
    chunk=256,
    network=NetworkSettings(width=128, depth=3, norm="layer", outputs="move"),
    training=PolicyTrainingSettings(
        batch=2048,
        learning_rate=1e-3,
        learning_rate_end=1e-4,
        entropy=0.02,
        entropy_end=0.003,
        schedule=340,
        discount=0.99,
        trace=0.85,
    ),
    opponents={"random": 0.1},
    former=0.2,
    kept=20,
    kept_every=10,
    average="mixture",
    average_power=1.0,
    threshold=0.5,
    evaluation=ExactEvaluation(every=100, games=400),
    checkpoint_every=100,
)

HOUR = GEISTER.varied(
    minutes=60.0,
    training=GEISTER.training.model_copy(update={"schedule": 4200}),
    kept=40,
    kept_every=100,
    evaluation=ExactEvaluation(every=500, games=400),
    checkpoint_every=500,
)

ADVERSARIES = HOUR.varied(
    start="pretrained:geister-self-play",
    minutes=40.0,
    training=HOUR.training.model_copy(
        update={"learning_rate": 5e-4, "entropy": 0.008, "entropy_end": 0.003, "schedule": None}
    ),
    former=0.1,
    adversaries={"plain": 0.2, "captures": 0.2, "escapes": 0.2},
    adversary=AdversarySettings(
        wins={"captures": {"escape": -0.25}, "escapes": {"blues taken": -0.25, "reds taken": -0.25}},
        start={"plain": "pretrained:geister-self-play"},
    ),
)

RESPONSES = ADVERSARIES.varied(
    start="pretrained:geister",
    minutes=60.0,
    training=ADVERSARIES.training.model_copy(
        update={"learning_rate": 1.2e-4, "learning_rate_end": 3e-5, "entropy": 0.006}
    ),
    opponents={"random": 0.03},
    adversaries={"wall": 0.38, "response": 0.38},
    adversary=AdversarySettings(start={"wall": "pretrained:geister", "response": "pretrained:geister-response"}),
)
"""Adversaries have as many decisions as the policy, which learns slowly, so that they do not fall behind."""


def _cheat(ranks: int, copies: int, dealt: int) -> PolicyGradientConfig:
    """Cheat with discards picked card by card."""
    options = {"ranks": ranks, "copies": copies, "dealt": dealt, "max_discard": min(copies, 4), "health": 3}
    return GEISTER.varied(
        game="cheat",
        game_options={**options, "discards": "cards"},
        minutes=20.0,
        network=NetworkSettings(width=128, depth=3, norm="layer", outputs="action"),
        training=GEISTER.training.model_copy(update={"schedule": 1500}),
        evaluation=ExactEvaluation(every=100, opponents=("random", "heuristic"), games=1000, ply_limit=None),
    )


EXACT = PolicyGradientConfig(
    game="leduc",
    iterations=100_000,
    samples=20_000_000,
    games=512,
    chunk=512,
    network=NetworkSettings(width=128, depth=2, norm="none", outputs="action"),
    training=PolicyTrainingSettings(
        batch=512,
        epochs=2,
        learning_rate=1e-3,
        learning_rate_end=3e-5,
        unit="spread",
        entropy=0.3,
        entropy_end=0.05,
        magnet=0.1,
        magnet_rate=0.02,
        schedule=None,
        discount=1.0,
        trace=1.0,
    ),
    evaluation=ExactEvaluation(every=400, opponents=("random",), games=1000, ply_limit=None, exploitability=True),
    checkpoint_every=400,
)
"""For any small game: many small steps, as the policy has to follow the quantal-response equilibrium of a temperature
that falls, and a magnet and a last temperature that keep it from becoming pure; all relative to what is at stake and to
the length of the run."""


def _steady(schedule: int, entropy_end: float) -> Mapping[str, Any]:
    """Entropy alone, in units of the largest return."""
    return {
        "learning_rate_end": 1e-4,
        "unit": "largest",
        "magnet": 0.0,
        "schedule": schedule,
        "entropy_end": entropy_end,
    }


BENCHMARK: Mapping[str, Mapping[str, Any]] = {
    "phantom_ttt": {"entropy_end": 0.01},
    "phantom_ttt_abrupt": _steady(3200, 0.05),
    "dark_hex3": _steady(2500, 0.02),
    "dark_hex3_abrupt": {"entropy_end": 0.03},
    "liars_dice_2d5f": _steady(5100, 0.05),
}
"""Settings in which the training on a game of Rudolph et al. 2025 differs from `EXACT`. Three games still have the
settings from before there was a magnet, with which their five seeds were trained."""


def benchmark_preset(game: str) -> str:
    """Returns the name of the preset of a game of `BENCHMARK`."""
    return f"{game.replace('_', '-')}-policy-gradient"


def _benchmark(game: str, training: Mapping[str, Any]) -> PolicyGradientConfig:
    """Ten million decisions on a game of `BENCHMARK`, evaluated exactly at the end."""
    return EXACT.varied(
        game=game,
        samples=10_000_000,
        training=EXACT.training.model_copy(update=training),
        evaluation=EXACT.evaluation.model_copy(update={"every": EXACT.iterations}),
    )


PRESETS = (
    Preset(
        "geister-policy-gradient-quick",
        GEISTER,
        "a regularised policy gradient, 5 minutes on 2 cores",
    ),
    Preset(
        "geister-policy-gradient",
        HOUR,
        "a regularised policy gradient, an hour on 2 cores",
    ),
    Preset(
        "geister-policy-gradient-adversaries",
        ADVERSARIES,
        "begins with pretrained:geister-self-play and meets nets that are trained to beat it, 40 minutes",
    ),
    Preset(
        "geister-policy-gradient-responses",
        RESPONSES,
        "begins with pretrained:geister and meets two fast learners, a copy of it and a response, an hour",
    ),
    Preset(
        "mini-geister-policy-gradient",
        GEISTER.varied(
            game="mini-geister",
            game_options={"ply_limit": 30},
            minutes=2.0,
            evaluation=ExactEvaluation(every=100, games=1000, ply_limit=None),
        ),
        "a regularised policy gradient on Mini Geister (4x4), 2 minutes",
    ),
    Preset("cheat-policy-gradient-5x3", _cheat(5, 3, 5), "a regularised policy gradient on Cheat, as cheat-dream-5x3"),
    Preset("cheat-policy-gradient-13x4", _cheat(13, 4, 0), "a regularised policy gradient on full Cheat"),
    Preset("leduc-policy-gradient", EXACT, "a regularised policy gradient on Leduc hold'em, with its exact NashConv"),
    *(
        Preset(
            benchmark_preset(game),
            _benchmark(game, training),
            f"a regularised policy gradient on {game}, 10 million steps, with its exact NashConv",
        )
        for game, training in BENCHMARK.items()
    ),
)
