"""Configuration of a DREAM run: every key that `dancfr train PRESET key=value` knows."""

from functools import cached_property
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods.settings import EvaluationSettings, RunConfig
from envs.extensive import ExtensiveGame
from learners.dream.settings import Importance, Play, SamplingSettings
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings


class EvaluationConfig(EvaluationSettings):
    """Evaluation along the run.

    Attributes:
        ply_limit: Length of these games; None keeps the game's own.
        average: How the average policy is played: ``sampled`` costs one net a move, the others all of them.
        last: Evaluate the last iterate too.
        exploitability: Compute value and NashConv of these policies exactly, in games that have a tree.
    """

    opponents: tuple[str, ...] = ("random", "heuristic", "rush")
    ply_limit: int | None = Field(300, ge=1)
    average: Play = "sampled"
    last: bool = True
    exploitability: bool = False

    def for_other_game(self) -> Self:
        return super().for_other_game().model_copy(update={"ply_limit": None, "exploitability": False})


class DreamConfig(RunConfig):
    """DREAM (Steinberger, Lerer, Brown 2020) as paper 000 applies it to Geister.

    Attributes:
        iterations: Iterations in all. With alternating updates each one trains one player.
        updates: ``alternating``: one player an iteration, against the others' newest nets; ``in-turn``: all players
            in each iteration, the second against the first one's new net; ``simultaneous``: all, by the nets of the
            last iteration.
        traversals: Games for each player that is updated.
        chunk: Games of a chunk, the unit of work of a traversal worker. Part of what the seed determines.
        history: Share of an iteration's chunks in which each opponent plays one of its former nets, drawn anew for each
            chunk; 0 in the papers. Self-play alone forgets how to beat weaker opponents.
        history_power: The opponent's k-th net is drawn with probability proportional to 1 / k to this power: 0 draws
            uniformly, 1 meets as many games of nets 1 to 10 as of nets 10 to 100.
        uniform: Share of an iteration's chunks in which the opponent plays uniformly at random; 0 in the papers. The
            advantages are then those of the game in which the opponent is that player with this probability (a
            restricted Nash response, Johanson, Zinkevich and Bowling 2008).
        sampling: Exploration and bounds of the sampled values.
        network: Advantage nets.
        baseline: Train baseline nets; without them Q = 0, which games of more than two players need.
        baseline_network: Baseline nets.
        advantage_training, baseline_training: How to fit.
        importance: Importance weights of the advantage samples.
        importance_clip: Bound of ``clipped``, in mean weights.
        iteration_power: Advantage samples weigh their iteration to this power; 1 is linear CFR.
        merge: Samples of one infostate become one row before each fit of an advantage net: the same loss without the
            noise of drawing samples. It pays where the reservoir holds the same infostates again and again.
        reservoir: Rows of each player's advantage buffer.
        circular: Rows of each player's baseline buffer.
        policy_net: Train nets that play the average, as Deep CFR does, at each evaluation; with external sampling.
        policy_training: How they are fitted.
        policies: Rows of each player's buffer of policies for them.
        average: How the trained agent plays, unless its name says otherwise; ``net`` by the nets of `policy_net`.
        average_power: Nets weigh their iteration to this power in averages; 1 is linear averaging.
        average_threshold: Averages leave out actions less probable than this share of the likeliest, see `DreamAgent`.
    """

    buffers: ClassVar[tuple[str, ...]] = ("reservoir", "circular", "policies")
    resumable: ClassVar[frozenset[str]] = RunConfig.resumable | {"average", "average_power", "average_threshold"}

    updates: Literal["alternating", "in-turn", "simultaneous"] = "alternating"
    traversals: int = Field(7680, ge=1, le=10_000_000)
    chunk: int = Field(512, ge=1, le=1_000_000)
    history: float = Field(0.0, ge=0, le=1)
    history_power: float = Field(0.0, ge=0, le=10)
    uniform: float = Field(0.0, ge=0, le=1)
    sampling: SamplingSettings = SamplingSettings()
    network: NetworkSettings = NetworkSettings()
    baseline: bool = True
    baseline_network: NetworkSettings = NetworkSettings()
    advantage_training: TrainingSettings = TrainingSettings()
    baseline_training: TrainingSettings = TrainingSettings()
    importance: Importance = "none"
    importance_clip: float = Field(10.0, gt=0)
    iteration_power: float = Field(1.0, ge=0, le=100)
    merge: bool = False
    reservoir: int = Field(500_000, ge=1)
    circular: int = Field(500_000, ge=1)
    policy_net: bool = False
    policy_training: TrainingSettings = TrainingSettings(warm_start=False)
    policies: int = Field(500_000, ge=1)
    average: Play = "exact"
    average_power: float = Field(1.0, ge=0, le=100)
    average_threshold: float = Field(0.0, ge=0, le=1)
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _shares_leave_self_play(self) -> "DreamConfig":
        if self.history + self.uniform > 1:
            raise ValueError(f"history={self.history} and uniform={self.uniform} add up to more than 1")
        return self

    @model_validator(mode="after")
    def _sampling_fits(self) -> "DreamConfig":
        external = self.sampling.method == "external"
        if external and self.baseline:
            raise ValueError("sampling.method=external follows every action and needs no baseline: set baseline=false")
        if external and self.importance != "none":
            raise ValueError("sampling.method=external samples no own actions to weigh: set importance=none")
        if self.policy_net and not external:
            raise ValueError("policy_net=true learns from external sampling: set sampling.method=external")
        if "net" in (self.average, self.evaluation.average) and not self.policy_net:
            raise ValueError("average=net is played by nets that only policy_net=true trains")
        return self

    @model_validator(mode="after")
    def _buffers_hold_a_batch(self) -> "DreamConfig":
        if self.reservoir < self.advantage_training.batch:
            raise ValueError(
                f"reservoir={self.reservoir} is smaller than advantage_training.batch={self.advantage_training.batch}"
            )
        if self.baseline and self.circular < self.baseline_training.batch:
            raise ValueError(
                f"circular={self.circular} is smaller than baseline_training.batch={self.baseline_training.batch}"
            )
        if self.policy_net and self.policies < self.policy_training.batch:
            raise ValueError(
                f"policies={self.policies} is smaller than policy_training.batch={self.policy_training.batch}"
            )
        return self

    def check(self) -> None:
        """Raises UsageError where the game, its options, the networks and the opponents do not fit together."""
        from dancfr.games.registry import make_game

        game = make_game(self.game, **self.game_options)
        spec = game.spec
        if spec.num_players != 2 and (self.baseline or self.sampling.method != "outcome"):
            raise UsageError(
                f"baselines and external sampling are for 2 players; with the {spec.num_players} of {self.game} "
                "set baseline=false and sampling.method=outcome"
            )
        try:
            self.network.check(spec)
            self.baseline_network.check(spec)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.curriculum.check_games(self.game, self.game_options)
        self.check_opponents(game)
        if self.evaluation.exploitability and not isinstance(game, ExtensiveGame):
            raise UsageError(
                f"evaluation.exploitability=true needs a game with a tree, which {self.game} does not have"
            )

    @cached_property
    def players(self) -> int:
        """Players of the game."""
        from dancfr.games.registry import make_game

        count: int = make_game(self.game, **self.game_options).spec.num_players
        return count

    def turns(self, iteration: int) -> tuple[tuple[int, ...], ...]:
        """Players whose nets iteration t trains; those of one turn play by the same nets."""
        everybody = tuple(range(self.players))
        if self.updates == "alternating":
            return ((everybody[(iteration - 1) % self.players],),)
        return tuple((player,) for player in everybody) if self.updates == "in-turn" else (everybody,)

    def updated_players(self, iteration: int) -> tuple[int, ...]:
        """Players whose nets iteration t trains."""
        return tuple(player for turn in self.turns(iteration) for player in turn)

    def own_count(self, iteration: int) -> int:
        """How often a player updated in iteration t has been updated then: the weight of linear CFR."""
        return (iteration - 1) // self.players + 1 if self.updates == "alternating" else iteration
