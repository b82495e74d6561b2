"""Named configurations of DREAM."""

from typing import Any

from dancfr.methods.dream import benchmark
from dancfr.methods.dream.config import DreamConfig, EvaluationConfig
from dancfr.methods.method import Preset
from learners.dream.settings import SamplingSettings
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings

GEISTER = {"ply_limit": 100, "random_setup": True, "forced_escape": True}


def _small_net(outputs: str = "action", width: int = 128, norm: Any = "layer") -> NetworkSettings:
    return NetworkSettings(trunk="flat", width=width, depth=3, norm=norm, outputs=outputs)


_PAPER_NET = NetworkSettings(trunk="conv", width=128, depth=3, norm="batch", outputs="colour")
_PAPER_FIT = TrainingSettings(batch=3584, minibatches=None, learning_rate=1e-3, clip=1.0, warm_start=True)

PAPER = DreamConfig(
    game="geister",
    game_options=GEISTER,
    iterations=200,
    updates="alternating",
    traversals=7680,
    sampling=SamplingSettings(epsilon=0.1),
    network=_PAPER_NET,
    baseline_network=_PAPER_NET,
    advantage_training=_PAPER_FIT,
    baseline_training=_PAPER_FIT,
    reservoir=2_150_400,
    circular=2_150_400,
    average="paper",
    evaluation=EvaluationConfig(every=10, games=1000, average="paper", last=True),
    checkpoint_every=30,  # each waits for a baseline fit, some 50 s on two cores
    checkpoint_minutes=20.0,
)
"""Paper 000, 5 and 6.1: its network, buffers, warm starts of one epoch, unbounded targets. It states neither the
exploration nor how the outputs number the ghosts; these are the values of those tried with which its win rates come out
best (docs/results/dream-on-geister.md). Samples have no importance weights, which it describes as part of DREAM (4.7)
and does not mention again. docs/results/dream-paper-readings.md has every statement of the paper and how it is read."""

BOUNDED = SamplingSettings(epsilon=0.1, ratio_bound=1.0, inverse_bound=4.0, clip_baseline=True)
"""The exploration of `PAPER`, with bounds on the ratios of the recursion and on baselines."""

QUICK = DreamConfig(
    game="geister",
    game_options=GEISTER,
    iterations=100_000,
    minutes=5.0,
    updates="alternating",
    traversals=512,
    chunk=64,
    history=0.25,
    history_power=1.0,
    uniform=0.25,
    sampling=SamplingSettings(epsilon=0.5, ratio_bound=1.0, inverse_bound=4.0),
    network=_small_net("move"),
    baseline_network=_small_net("move"),
    advantage_training=TrainingSettings(batch=1024, minibatches=200, weight_average=15.0),
    iteration_power=0.0,
    baseline_training=TrainingSettings(batch=1024, minibatches=100),
    reservoir=1_000_000,
    circular=500_000,
    average="paper",
    average_power=0.0,
    average_threshold=0.5,
    evaluation=EvaluationConfig(every=20, games=400, average="paper"),
    checkpoint_every=50,
)
"""Settings for fast learning on Geister: bounded sampled values, outputs by square and kind of move, and a small net on
packed features. Former and uniform opponents, equal weights of all iterations, averaged weights and a thresholded
average keep the agent from unlearning. docs/results/dream-on-geister.md has the experiments."""

_LEDUC_EVALUATION = EvaluationConfig(
    every=10, opponents=("random",), games=1000, ply_limit=None, average="exact", exploitability=True
)
LEDUC = DreamConfig(
    game="leduc",
    iterations=550,
    updates="in-turn",
    traversals=900,
    chunk=900,
    importance="none",
    network=_small_net(width=64, norm="none"),
    baseline_network=_small_net(width=64, norm="none"),
    advantage_training=TrainingSettings(
        batch=2048, minibatches=400, warm_start=False, learning_rate=1e-2, anneal=True, clip=10.0
    ),
    baseline_training=TrainingSettings(batch=512, minibatches=200, anneal=True),
    merge=True,
    average_power=0.5,
    reservoir=2_000_000,
    circular=200_000,
    average="exact",
    evaluation=_LEDUC_EVALUATION,
    checkpoint_every=50,
)
"""Leduc hold'em as Steinberger et al. 2020 sample it: both players in turn, unbounded targets, a fresh advantage net
each iteration. Fits are an eighth as long as theirs, on samples merged by infostate, with a large learning rate that is
annealed to 0; there are no importance weights, and the weights of iterations in the average differ less.
docs/explanation/trees-and-cfr.md has the experiments."""

LEDUC_EXTERNAL = LEDUC.varied(sampling=SamplingSettings(method="external"), baseline=False)
"""External sampling on Leduc: single Deep CFR (Steinberger 2019), or Deep CFR with a net of the average."""

LEDUC_PETTINGZOO = DreamConfig(
    game="pettingzoo:pettingzoo.classic.leduc_holdem_v4",
    game_options={"max_return": 7.0},
    iterations=40,
    traversals=450,
    importance="full",
    network=_small_net(width=64),
    baseline_network=_small_net(width=64),
    advantage_training=TrainingSettings(batch=512, minibatches=200),
    baseline_training=TrainingSettings(batch=512, minibatches=100),
    reservoir=200_000,
    circular=50_000,
    average="exact",
    evaluation=EvaluationConfig(every=10, opponents=("random",), games=1000, ply_limit=None),
    checkpoint_every=10,
)
"""Unbounded targets with importance weights, as in Steinberger et al. 2020, on a game that only PettingZoo has."""


def _cheat(ranks: int, copies: int, dealt: int) -> DreamConfig:
    """DREAM on larger Cheat, discards picked card by card."""
    options = {"ranks": ranks, "copies": copies, "dealt": dealt, "max_discard": min(copies, 4), "health": 3}
    return QUICK.varied(
        game="cheat",
        game_options={**options, "discards": "cards"},
        minutes=20.0,
        traversals=2048,
        chunk=256,
        uniform=0.0,
        iteration_power=1.0,
        network=_small_net(),
        baseline_network=_small_net(),
        reservoir=2_000_000,
        evaluation=EvaluationConfig(
            every=20, opponents=("random", "heuristic"), games=1000, ply_limit=None, average="paper"
        ),
    )


PRESETS = (
    Preset("geister-dream", PAPER, "paper 000 with 7,680 traversals an iteration: its best setting"),
    Preset("geister-dream-3840", PAPER.varied(traversals=3840), "paper 000 with 3,840 traversals an iteration"),
    Preset("geister-dream-10240", PAPER.varied(traversals=10240), "paper 000 with 10,240 traversals an iteration"),
    Preset(
        "geister-dream-no-baseline",
        PAPER.varied(traversals=3840, baseline=False),
        "paper 000 with 3,840 traversals and no baseline net",
    ),
    Preset(
        "geister-dream-bounded",
        PAPER.varied(sampling=BOUNDED),
        "paper 000 with 7,680 traversals and bounded estimates, which the paper does not have",
    ),
    Preset(
        "geister-dream-huber",
        PAPER.varied(huber_delta=1.0),
        "paper 000 with 7,680 traversals and Huber's loss of advantages in place of squared errors",
    ),
    Preset(
        "geister-escher",
        PAPER.varied(sampling=benchmark.ESCHER, traversals=3840, baseline_games=3840),
        "ESCHER on Geister: history values instead of importance weights, with nets and games of paper 000",
    ),
    Preset("geister-quick", QUICK, "a Geister agent in 5 minutes on 2 cores"),
    Preset(
        "geister-dream-robust",
        QUICK.varied(
            minutes=30.0,
            history=0.5,
            reservoir=4_000_000,
            evaluation=EvaluationConfig(every=50, games=400, average="paper"),
            checkpoint_every=100,
        ),
        "geister-quick for 30 minutes with more former opponents and larger buffers",
    ),
    Preset("leduc-dream", LEDUC, "DREAM on Leduc hold'em: NashConv of 0.13 after two million decisions"),
    Preset(
        "leduc-dream-reference",
        LEDUC.varied(
            importance="full",
            merge=False,
            advantage_training=TrainingSettings(batch=2048, minibatches=3000, warm_start=False),
            baseline_training=TrainingSettings(batch=512, minibatches=1000),
            average_power=1.0,
        ),
        "DREAM on Leduc hold'em with the long fits of Steinberger et al. 2020: some five hours of a core",
    ),
    Preset(
        "leduc-dream-quick",
        LEDUC.varied(
            iterations=10,
            advantage_training=TrainingSettings(batch=2048, minibatches=400, warm_start=False),
            baseline_training=TrainingSettings(batch=512, minibatches=300),
        ),
        "DREAM on Leduc hold'em in 10 iterations with fewer minibatches: NashConv 1.2 to 1.8 in minutes",
    ),
    Preset("leduc-os-sdcfr", LEDUC.varied(baseline=False), "leduc-dream without baselines: outcome-sampling SD-CFR"),
    Preset("leduc-sdcfr", LEDUC_EXTERNAL, "single Deep CFR on Leduc, external sampling"),
    Preset(
        "leduc-deep-cfr",
        LEDUC_EXTERNAL.varied(
            policy_net=True,
            policy_training=TrainingSettings(batch=2048, minibatches=3000, warm_start=False),
            policies=2_000_000,
            average="net",
            evaluation=_LEDUC_EVALUATION.model_copy(update={"every": 25, "average": "net"}),
        ),
        "Deep CFR on Leduc: external sampling, and average-policy nets",
    ),
    Preset("pettingzoo-leduc-dream", LEDUC_PETTINGZOO, "DREAM on PettingZoo's leduc_holdem_v4, through the adapter"),
    Preset(
        "mini-geister-dream",
        QUICK.varied(
            game="mini-geister",
            game_options={"ply_limit": 30},
            minutes=2.0,
            evaluation=EvaluationConfig(every=10, games=1000, ply_limit=None),
        ),
        "DREAM on Mini Geister (4x4), 2 minutes",
    ),
    Preset("cheat-dream-4x2", _cheat(4, 2, 3), "DREAM on Cheat with 4 ranks of 2 cards, 3 of them dealt to each"),
    Preset("cheat-dream-5x3", _cheat(5, 3, 5), "DREAM on Cheat with 5 ranks of 3 cards, 5 of them dealt to each"),
    Preset("cheat-dream-13x4", _cheat(13, 4, 0), "DREAM on full Cheat with 3 health points"),
    *benchmark.PRESETS,
)
