"""Named experiments. A preset is a complete configuration; `dancfr train PRESET key=value` changes keys of it."""

from dataclasses import dataclass
from typing import Any

from dancfr.methods.belief_tables.config import BeliefTablesConfig
from dancfr.methods.cheat_cfr.config import CheatCfrConfig
from dancfr.methods.curriculum import Curriculum
from dancfr.methods.depth_limited.config import DepthLimitedConfig
from dancfr.methods.dmc.config import DmcConfig
from dancfr.methods.dream.config import DreamConfig, EvaluationConfig
from dancfr.methods.settings import EvaluationSettings
from dancfr.methods.value_net.config import ValueNetConfig
from dancfr.runs.config import Config


@dataclass(frozen=True)
class Preset:
    """A named configuration of a method.

    Attributes:
        name: As on the command line.
        method: Which driver runs it, see `dancfr.experiments.train`.
        config: Complete configuration.
        description: One line.
    """

    name: str
    method: str
    config: Config
    description: str


def _paper(traversals: int, **changes: Any) -> DreamConfig:
    """Paper 000, 5 and 6.1: its network, buffers, warm starts of one epoch, unbounded targets."""
    network = {"trunk": "conv", "width": 128, "depth": 3, "norm": "batch", "outputs": "ghost"}
    training = {"batch": 3584, "minibatches": None, "learning_rate": 1e-3, "clip": 1.0, "warm_start": True}
    settings: dict[str, Any] = {
        "game": "geister",
        "game_options": {"ply_limit": 100, "random_setup": True, "forced_escape": True},
        "iterations": 200,
        "updates": "alternating",
        "traversals": traversals,
        "network": network,
        "baseline_network": network,
        "advantage_training": training,
        "baseline_training": training,
        "reservoir": 2_150_400,
        "circular": 2_150_400,
        "average": "paper",
        "evaluation": EvaluationConfig(every=10, games=1000, average="paper", last=True),
        "checkpoint_every": 10,
    }
    return DreamConfig.model_validate(settings | changes)


def _bounded(**changes: Any) -> DreamConfig:
    """What makes DREAM learn Geister fast: bounded sampled values, outputs by square and kind of move, a small net on
    packed features. And what keeps it from unlearning: former and uniform opponents, equal weights of all iterations,
    averaged weights and a thresholded average. docs/dream-on-geister.md has the experiments."""
    settings: dict[str, Any] = {
        "game": "geister",
        "game_options": {"ply_limit": 100, "random_setup": True, "forced_escape": True},
        "iterations": 100_000,
        "minutes": 5.0,
        "updates": "alternating",
        "traversals": 512,
        "chunk": 64,
        "history": 0.25,
        "history_power": 1.0,
        "uniform": 0.25,
        "sampling": {"epsilon": 0.5, "ratio_bound": 1.0, "inverse_bound": 4.0},
        "network": {"trunk": "flat", "width": 128, "depth": 3, "norm": "layer", "outputs": "move"},
        "baseline_network": {"trunk": "flat", "width": 128, "depth": 3, "norm": "layer", "outputs": "move"},
        "advantage_training": {"batch": 1024, "minibatches": 200, "weight_average": 15.0},
        "iteration_power": 0.0,
        "baseline_training": {"batch": 1024, "minibatches": 100},
        "reservoir": 1_000_000,
        "circular": 500_000,
        "average": "paper",
        "average_power": 0.0,
        "average_threshold": 0.5,
        "evaluation": EvaluationConfig(every=20, games=400, average="paper"),
        "checkpoint_every": 50,
    }
    return DreamConfig.model_validate(settings | changes)


def _robust() -> DreamConfig:
    """`geister-quick` at full length."""
    return _bounded(
        minutes=30.0,
        reservoir=4_000_000,
        evaluation=EvaluationConfig(every=50, games=400, average="paper"),
        checkpoint_every=100,
    )


def _leduc_holdem() -> DreamConfig:
    """Unbounded targets with importance weights, as in Steinberger et al. 2020, on a game that only PettingZoo has."""
    network = {"trunk": "flat", "width": 64, "depth": 3, "norm": "layer", "outputs": "action"}
    settings: dict[str, Any] = {
        "game": "pettingzoo:pettingzoo.classic.leduc_holdem_v4",
        "game_options": {"max_return": 7.0},
        "iterations": 40,
        "traversals": 450,
        "importance": "full",
        "network": network,
        "baseline_network": network,
        "advantage_training": {"batch": 512, "minibatches": 200},
        "baseline_training": {"batch": 512, "minibatches": 100},
        "reservoir": 200_000,
        "circular": 50_000,
        "average": "exact",
        "evaluation": EvaluationConfig(every=10, opponents=("random",), games=1000, ply_limit=None),
        "checkpoint_every": 10,
    }
    return DreamConfig.model_validate(settings)


def _leduc(**changes: Any) -> DreamConfig:
    """Leduc hold'em as Steinberger et al. 2020 sample it: both players in turn, unbounded targets, a fresh advantage
    net each iteration. Fits are an eighth as long as theirs, on samples that are merged by infostate, with a large
    learning rate that ends at 0; samples are not weighted by importance, and the average weighs iterations more alike.
    docs/trees-and-cfr.md says what that is worth."""
    network = {"trunk": "flat", "width": 64, "depth": 3, "norm": "none", "outputs": "action"}
    settings: dict[str, Any] = {
        "game": "leduc",
        "iterations": 550,
        "updates": "in-turn",
        "traversals": 900,
        "chunk": 900,
        "importance": "none",
        "network": network,
        "baseline_network": network,
        "advantage_training": {
            "batch": 2048,
            "minibatches": 400,
            "warm_start": False,
            "learning_rate": 1e-2,
            "anneal": True,
            "clip": 10.0,
        },
        "baseline_training": {"batch": 512, "minibatches": 200, "anneal": True},
        "merge": True,
        "average_power": 0.5,
        "reservoir": 2_000_000,
        "circular": 200_000,
        "average": "exact",
        "evaluation": EvaluationConfig(
            every=10, opponents=("random",), games=1000, ply_limit=None, average="exact", exploitability=True
        ),
        "checkpoint_every": 50,
    }
    return DreamConfig.model_validate(settings | changes)


def _leduc_external(**changes: Any) -> DreamConfig:
    """External sampling on Leduc: single Deep CFR (Steinberger 2019), or Deep CFR with a net of the average."""
    return _leduc(sampling={"method": "external"}, baseline=False, **changes)


def _cheat(ranks: int, copies: int, dealt: int, **changes: Any) -> DreamConfig:
    """DREAM on larger Cheat, discards picked card by card."""
    network = {"trunk": "flat", "width": 128, "depth": 3, "norm": "layer", "outputs": "action"}
    options = {"ranks": ranks, "copies": copies, "dealt": dealt, "max_discard": min(copies, 4), "health": 3}
    settings: dict[str, Any] = {
        "game": "cheat",
        "game_options": {**options, "discards": "cards"},
        "minutes": 20.0,
        "traversals": 2048,
        "chunk": 256,
        "uniform": 0.0,
        "iteration_power": 1.0,
        "network": network,
        "baseline_network": network,
        "reservoir": 2_000_000,
        "evaluation": EvaluationConfig(
            every=20, opponents=("random", "heuristic"), games=1000, ply_limit=None, average="paper"
        ),
    }
    return _bounded(**settings | changes)


def _depth_limited(**changes: Any) -> DepthLimitedConfig:
    """Depth-limited external sampling with nets on full Geister, with what docs/dream-on-geister.md has found of
    weights of iterations, of averaged weights and of thresholds. docs/depth-limited.md has the experiments."""
    fit = {"batch": 1024, "minibatches": 150, "weight_average": 15.0}
    settings: dict[str, Any] = {
        "game": "geister",
        "game_options": {"ply_limit": 100, "random_setup": True, "forced_escape": True},
        "iterations": 100_000,
        "minutes": 15.0,
        "games": 160,
        "states": 6144,
        "chunk": 20,
        "uniform": 0.25,
        "policy_every": 3,
        "network": {"trunk": "flat", "width": 128, "depth": 3, "norm": "layer", "outputs": "move"},
        "value_network": {"trunk": "flat", "width": 128, "depth": 3, "norm": "layer", "outputs": "value"},
        "advantage_training": fit,
        "policy_training": fit,
        "value_training": {**fit, "minibatches": 100},
        "iteration_power": 0.0,
        "average_threshold": 0.5,
        "checkpoint_every": 50,
    }
    return DepthLimitedConfig.model_validate(settings | changes)


def _values(game: str, **changes: Any) -> ValueNetConfig:
    """A value net that is fitted within minutes on two cores; docs/value-functions.md has the experiments. The nets of
    paper 003, of 4 to 6 layers of 200 to 500 units, take longer and get no further."""
    return ValueNetConfig.model_validate({"game": game} | changes)


def _told(what: str) -> str:
    return f"paper 001: chance-sampled CFR on Mini-Cheat with 3 health points, by infosets {what}"


def _danzero(**changes: Any) -> DmcConfig:
    """Paper 004, IV and V-A: its network, optimiser, pool and staleness clip, whole matches of self-play."""
    settings: dict[str, Any] = {
        "game": "guandan",
        "game_options": {"length": "match", "situation": "first"},
        "iterations": 1_000_000,
        "games": 32,
        "chunk": 8,
        "tables": 8,
        "epsilon": 0.01,
        "network": {"width": 512, "depth": 5, "activation": "tanh"},
        "training": {
            "batch": 32_768,
            "minibatches": 2,
            "optimiser": "rmsprop",
            "learning_rate": 1e-3,
            "epsilon": 1e-5,
            "staleness": 0.65,
        },
        "pool": 65_536,
        "evaluation": EvaluationSettings(every=50, opponents=("random", "greedy", "planner"), games=1000),
        "checkpoint_every": 25,
    }
    return DmcConfig.model_validate(settings | changes)


def _danzero_quick(**changes: Any) -> DmcConfig:
    """What makes Deep Monte-Carlo learn GuanDan fast on two cores: a small net, small minibatches by Adam, averaged
    weights, and single rounds in situations drawn from matches. docs/danzero-on-guandan.md has the experiments."""
    quick: dict[str, Any] = {
        "game_options": {"length": "round", "situation": "drawn"},
        "minutes": 15.0,
        "games": 64,
        "chunk": 16,
        "tables": 16,
        "network": {"width": 128, "depth": 3, "activation": "tanh"},
        "training": {
            "batch": 512,
            "minibatches": 16,
            "optimiser": "adam",
            "learning_rate": 5e-4,
        },
        "average": 3.0,
        "pool": 32_768,
        "evaluation": EvaluationSettings(every=250, opponents=("random", "greedy", "planner"), games=400),
        "checkpoint_every": 500,
    }
    return _danzero(**(quick | changes))


_VALUES = "paper 003: a value function for depth-limited solving of {}, some minutes"
_ASKED: dict[str, Any] = {"strategies": 1000, "asked": 128, "iterations": 30}
"""In oshi-zumo random strategies are far from those that a solver comes to, so that it is asked for more."""

_ALL = (
    Preset("geister-dream", "dream", _paper(7680), "paper 000 with 7,680 traversals an iteration: its best setting"),
    Preset("geister-dream-3840", "dream", _paper(3840), "paper 000 with 3,840 traversals an iteration"),
    Preset("geister-dream-10240", "dream", _paper(10240), "paper 000 with 10,240 traversals an iteration"),
    Preset(
        "geister-dream-no-baseline",
        "dream",
        _paper(3840, baseline=False),
        "paper 000 with 3,840 traversals and no baseline net",
    ),
    Preset("geister-quick", "dream", _bounded(), "a strong Geister agent in 5 minutes on 2 cores"),
    Preset("geister-dream-robust", "dream", _robust(), "the same ideas for 30 minutes, nearly without the drift"),
    Preset("leduc-dream", "dream", _leduc(), "DREAM on Leduc hold'em: NashConv below 0.15 after two million decisions"),
    Preset(
        "leduc-dream-reference",
        "dream",
        _leduc(
            importance="full",
            merge=False,
            advantage_training={"batch": 2048, "minibatches": 3000, "warm_start": False},
            baseline_training={"batch": 512, "minibatches": 1000},
            average_power=1.0,
        ),
        "the same with the fits of Steinberger et al. 2020: most of a day",
    ),
    Preset(
        "leduc-dream-quick",
        "dream",
        _leduc(
            iterations=10,
            advantage_training={"batch": 2048, "minibatches": 400, "warm_start": False},
            baseline_training={"batch": 512, "minibatches": 300},
        ),
        "10 iterations with fewer minibatches: NashConv 1.2 to 1.8 in minutes",
    ),
    Preset("leduc-os-sdcfr", "dream", _leduc(baseline=False), "the same without baselines: outcome-sampling SD-CFR"),
    Preset("leduc-sdcfr", "dream", _leduc_external(), "single Deep CFR on Leduc, external sampling"),
    Preset(
        "leduc-deep-cfr",
        "dream",
        _leduc_external(
            policy_net=True,
            policy_training={"batch": 2048, "minibatches": 3000, "warm_start": False},
            policies=2_000_000,
            average="net",
            evaluation=EvaluationConfig(
                every=25, opponents=("random",), games=1000, ply_limit=None, average="net", exploitability=True
            ),
        ),
        "Deep CFR on Leduc: external sampling, and nets that play the average",
    ),
    Preset("pettingzoo-leduc-dream", "dream", _leduc_holdem(), "DREAM on PettingZoo's leduc_holdem_v4, by the adapter"),
    Preset(
        "mini-geister-dream",
        "dream",
        _bounded(
            game="mini-geister",
            game_options={"ply_limit": 30},
            minutes=2.0,
            evaluation=EvaluationConfig(every=10, games=1000, ply_limit=None),
        ),
        "DREAM on Mini Geister (4x4), 2 minutes",
    ),
    Preset(
        "geister-depth-limited",
        "depth-limited",
        _depth_limited(
            minutes=120.0, reservoir=4_000_000, policies=4_000_000, circular=1_000_000, checkpoint_every=100
        ),
        "belief states and depth-limited external sampling with nets on Geister, two hours and larger buffers",
    ),
    Preset(
        "geister-depth-limited-quick",
        "depth-limited",
        _depth_limited(),
        "belief states and depth-limited external sampling with nets on Geister, 15 minutes on 2 cores",
    ),
    Preset(
        "mini-geister-depth-limited",
        "belief-tables",
        BeliefTablesConfig(),
        "paper 002: belief states and depth-limited external sampling in tables, half a minute",
    ),
    Preset(
        "cheat-memoryless", "cheat-cfr", CheatCfrConfig(agent="memoryless"), _told("that know hand, rank and claim")
    ),
    Preset("cheat-hp-aware", "cheat-cfr", CheatCfrConfig(agent="hp-aware"), _told("that know health points, too")),
    Preset("cheat-history-aware", "cheat-cfr", CheatCfrConfig(agent="history-aware"), _told("that know all turns")),
    Preset("cheat-general", "cheat-cfr", CheatCfrConfig(agent="general"), _told("that know all of it")),
    Preset(
        "cheat-curriculum",
        "cheat-cfr",
        CheatCfrConfig(
            game_options={"health": 5}, curriculum=Curriculum(option="health", values=(1, 2, 3, 4)), iterations=500
        ),
        "Ordered Abstraction of paper 001: Cheat-1 to Cheat-5, each from what was learnt before",
    ),
    Preset(
        "cheat-dream-4x2", "dream", _cheat(4, 2, 3), "DREAM on Cheat with 4 ranks of 2 cards, 3 of them dealt to each"
    ),
    Preset(
        "cheat-dream-5x3", "dream", _cheat(5, 3, 5), "DREAM on Cheat with 5 ranks of 3 cards, 5 of them dealt to each"
    ),
    Preset("cheat-dream-13x4", "dream", _cheat(13, 4, 0), "DREAM on full Cheat with 3 health points"),
    Preset("goofspiel5-values", "value-net", _values("goofspiel5"), _VALUES.format("goofspiel with 5 cards")),
    Preset(
        "leduc_2b2r-values",
        "value-net",
        _values("leduc_2b2r", strategies=812),
        _VALUES.format("Leduc hold'em with two sizes of bet and of raises"),
    ),
    Preset(
        "oshi_zumo8_k1-values", "value-net", _values("oshi_zumo8_k1", **_ASKED), _VALUES.format("oshi-zumo, 3 cells")
    ),
    Preset(
        "oshi_zumo8_k3-values", "value-net", _values("oshi_zumo8_k3", **_ASKED), _VALUES.format("oshi-zumo, 7 cells")
    ),
    Preset("guandan-dmc", "dmc", _danzero(), "paper 004: DanZero's Deep Monte-Carlo on whole matches of GuanDan"),
    Preset(
        "guandan-dmc-no-wild",
        "dmc",
        _danzero(network={"width": 512, "depth": 5, "encoding": "no_wild_flags"}),
        "the same without the flags for wild cards: the paper's Ours-",
    ),
    Preset(
        "guandan-quick", "dmc", _danzero_quick(), "a GuanDan agent that beats simple bots, in 15 minutes on 2 cores"
    ),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}
