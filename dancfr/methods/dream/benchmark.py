"""Presets of DREAM and its relatives on the games of Rudolph et al. 2025: ten million decisions on each."""

from collections.abc import Mapping
from typing import Any

from dancfr.methods.dream.config import DreamConfig, EvaluationConfig
from dancfr.methods.method import Preset
from learners.dream.settings import SamplingSettings
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings

GAMES = {
    "phantom_ttt": 6144,
    "phantom_ttt_abrupt": 7168,
    "dark_hex3": 6144,
    "dark_hex3_abrupt": 7680,
    "liars_dice_2d5f": 14336,
}
"""Games for each player in an iteration, so that `ITERATIONS` have some ten million decisions."""

ITERATIONS = 100

_NET = NetworkSettings(width=128, depth=2, norm="none", outputs="action")
_FIT = TrainingSettings(batch=2048, minibatches=200)

DREAM = DreamConfig(
    game="phantom_ttt",
    iterations=ITERATIONS,
    updates="in-turn",
    chunk=512,
    sampling=SamplingSettings(epsilon=0.5),
    network=_NET,
    baseline_network=_NET,
    advantage_training=_FIT,
    baseline_training=_FIT.model_copy(update={"minibatches": 100}),
    reservoir=2_000_000,
    circular=400_000,
    policy_net=True,
    policy_training=TrainingSettings(batch=2048, minibatches=3000, warm_start=False, anneal=True),
    policies=2_000_000,
    average="net",
    evaluation=EvaluationConfig(
        every=ITERATIONS, opponents=("random",), games=1000, ply_limit=None, average="net", exploitability=True
    ),
    checkpoint_every=20,
)
"""Nets of the average policy make exact evaluation fast: a mixture of all nets has to be asked along every line of play
of the agent's own moves, a net once an infoset."""

ESCHER = SamplingSettings(estimator="history", epsilon=1.0, clip_baseline=True)
"""Sampling of ESCHER (McAleer et al. 2023): the traverser plays uniformly at random, and no sample is divided by the
probability of what was sampled. Values of histories beyond the largest return, which nothing would correct, are
limited to it."""

METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "dream": ("DREAM", {}),
    "sdcfr": ("deep CFR by outcome sampling, without baselines", {"baseline": False}),
    "deep-dcfr": (
        "DCFR+ with nets and baselines (VR-DeepDCFR+)",
        {"bootstrap": "dcfr+", "discount_power": 1.5, "average_power": 2.0},
    ),
    "deep-pdcfr": (
        "PDCFR+ with nets and baselines (VR-DeepPDCFR+)",
        {"bootstrap": "pdcfr+", "discount_power": 2.3, "average_power": 2.0},
    ),
    "escher": (
        "ESCHER, half of the games for its history values,",
        {
            "sampling": ESCHER,
            "circular": 50_000,  # the transitions of one iteration
            "baseline_training": _FIT.model_copy(update={"learning_rate": 5e-3}),
        },
    ),
}
"""Description and settings of each method, by the end of the names of its presets."""


def preset_name(game: str, method: str) -> str:
    """Returns the name of the preset of a game of `GAMES` and a method of `METHODS`."""
    return f"{game.replace('_', '-')}-{method}"


def _preset(game: str, games: int, method: str) -> Preset:
    shown, settings = METHODS[method]
    half = games // 2
    played = {"traversals": half, "baseline_games": half} if method == "escher" else {"traversals": games}
    config = DREAM.varied(game=game, **played, **settings)
    return Preset(preset_name(game, method), config, f"{shown} on {game}, 10 million steps, with exact NashConv")


PRESETS = tuple(_preset(game, games, method) for method in METHODS for game, games in GAMES.items())
