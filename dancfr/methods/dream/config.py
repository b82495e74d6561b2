"""Configuration of DREAM and its special cases, SD-CFR and Deep CFR."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods.settings import ExactEvaluation, RunConfig
from learners.deep_cfr.settings import Bootstrap, Importance
from learners.dream.settings import Play, SamplingSettings
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings


class EvaluationConfig(ExactEvaluation):
    """Evaluation during training.

    Attributes:
        average: How to play the average policy. ``sampled`` evaluates one net per move, the other modes evaluate all.
        last: Evaluate the last iterate in addition to the average policy.
    """

    average: Play = "sampled"
    last: bool = True


class DreamConfig(RunConfig):
    """DREAM (Steinberger, Lerer and Brown 2020) as applied to Geister in paper 000.

    All nets are fitted to values in the unit of the game's returns: with another unit, a run finds other nets.

    Attributes:
        iterations: Total number of iterations. With alternating updates, each iteration trains one player.
        updates: Update schedule. ``alternating``: one player per iteration, against the newest nets of the others;
            ``in-turn``: all players in every iteration, each against the new nets of the players before it;
            ``simultaneous``: all players in every iteration, against the nets of the previous iteration.
        traversals: Games per iteration for each updated player.
        chunk: Games per chunk, the unit of work of a worker. Results depend on it, as on the seed.
        history: Fraction of the chunks of a player's iterations in which each opponent plays one of its former nets,
            drawn for each chunk, since self-play alone forgets how to beat weaker opponents; 0 in the papers.
        history_power: Exponent p of the probability 1 / k^p, up to normalisation, of drawing the opponent's k-th net. 0
            draws uniformly; 1 gives nets 1 to 10 as many games as nets 10 to 100.
        uniform: Fraction of the chunks of a player's iterations in which the opponent plays uniformly at random; 0 in
            the papers. Advantages then belong to the game in which the opponent is uniform with this probability (a
            restricted Nash response; Johanson, Zinkevich and Bowling 2008).
        sampling: Exploration and bounds of the sampled values.
        network: Architecture of the advantage nets.
        baseline: Train baseline nets. Without them Q = 0, which is required with more than two players.
        baseline_network: Architecture of the baseline nets.
        baseline_games: Games per iteration and updated player that train the baseline net alone, before the
            traversals. The fit then comes before the traversals too, so that the baseline is one of the policies that
            are traversed; otherwise it is fitted beside the next iteration to the games of the traversals.
        advantage_training, baseline_training: Optimisation of the nets.
        bootstrap: How a net comes to the advantages of former iterations. ``none``: it is fitted to the samples of all
            iterations. ``dcfr+``: to those of the newest iteration, to which the positive advantages of the last net
            are added, discounted by t^a / (t^a + 1) with a = `discount_power`. ``pdcfr+``: the same, and the next
            advantages are predicted to be those of this iteration. See VR-DeepDCFR+ and VR-DeepPDCFR+ (Xu et al. 2025,
            arXiv 2511.08174), of which `average_power` is the exponent gamma.
        discount_power: See `bootstrap`.
        importance: Importance weights of the advantage samples.
        importance_clip: Upper bound of ``clipped`` importance weights, as a multiple of the mean weight.
        iteration_power: Exponent p of the weight t^p of advantage samples of iteration t; 1: linear CFR. Without effect
            with `bootstrap`, where the samples of a fit are of one iteration.
        huber_delta: Error of an advantage, in the unit of the returns, above which its loss, the square up to there,
            grows linearly; none: squared errors, as in DREAM.
        merge: Merge the samples of each infostate into one row before an advantage net is fitted. The loss is the same,
            with less sampling noise; it helps if the reservoir holds the same infostates many times. Not with
            `huber_delta`, whose loss is not that of the mean.
        reservoir: Capacity of each player's advantage reservoir, in rows.
        circular: Capacity of each player's circular buffer for baselines, in rows.
        policy_net: Train nets of the average policy at each evaluation, as in Deep CFR. With outcome sampling the
            samples of an infostate are as frequent as the traverser's sampling gets there, which changes with its
            policy unless sampling.epsilon=1.
        policy_training: Optimisation of the policy nets.
        policies: Capacity of each player's policy buffer, in rows.
        average: How the trained agent plays by default; an agent's name may override it. ``net`` uses the nets of
            `policy_net`.
        average_power: Exponent p of the weight t^p of the net of iteration t in averages; 1: linear averaging.
        average_threshold: Averages never play actions whose probability is below this fraction of the largest one,
            see `DreamAgent`; not ``net``, which plays as it was fitted.
    """

    buffers: ClassVar[tuple[str, ...]] = ("reservoir", "circular", "policies")
    plays: ClassVar[frozenset[str]] = frozenset({"average", "average_power", "average_threshold"})
    resumable: ClassVar[frozenset[str]] = RunConfig.resumable | plays

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
    baseline_games: int = Field(0, ge=0, le=10_000_000)
    advantage_training: TrainingSettings = TrainingSettings()
    baseline_training: TrainingSettings = TrainingSettings()
    bootstrap: Bootstrap = "none"
    discount_power: float = Field(1.5, ge=0, le=100)
    importance: Importance = "none"
    importance_clip: float = Field(10.0, gt=0)
    iteration_power: float = Field(1.0, ge=0, le=100)
    huber_delta: float | None = Field(None, ge=1e-6, le=1e6)
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
            raise ValueError(f"history + uniform must be at most 1, got {self.history} + {self.uniform}")
        return self

    @model_validator(mode="after")
    def _sampling_fits(self) -> "DreamConfig":
        external = self.sampling.method == "external"
        if external and self.baseline:
            raise ValueError("baseline must be false with sampling.method=external, which follows every action")
        if external and self.importance != "none":
            raise ValueError("importance must be none with sampling.method=external, which samples no own actions")
        if self.policy_net and not external and self.sampling.opponent_epsilon:
            raise ValueError(
                "policy_net=true requires sampling.opponent_epsilon=0, as the opponent's moves are samples"
            )
        if self.policy_net and self.history + self.uniform:
            raise ValueError("policy_net=true requires history=0 and uniform=0, whose moves are not of the newest nets")
        if self.baseline_games and not self.baseline:
            raise ValueError("baseline_games must be 0 with baseline=false, as it trains the baseline nets")
        if self.sampling.estimator == "history" and not self.baseline_games:
            raise ValueError(
                "sampling.estimator=history requires baseline=true and baseline_games, which train the history values"
            )
        if self.merge and self.huber_delta is not None:
            raise ValueError("huber_delta requires merge=false: a merged row is a mean, in which no error stands out")
        if "net" in (self.average, self.evaluation.average) and not self.policy_net:
            raise ValueError("average=net requires policy_net=true, which trains these nets")
        return self

    @model_validator(mode="after")
    def _own_buffers_hold_a_batch(self) -> "DreamConfig":
        if self.reservoir < self.advantage_training.batch:
            raise ValueError(
                f"reservoir must be at least advantage_training.batch={self.advantage_training.batch}, "
                f"got {self.reservoir}"
            )
        if self.baseline and self.circular < self.baseline_training.batch:
            raise ValueError(
                f"circular must be at least baseline_training.batch={self.baseline_training.batch}, got {self.circular}"
            )
        if self.policy_net and self.policies < self.policy_training.batch:
            raise ValueError(
                f"policies must be at least policy_training.batch={self.policy_training.batch}, got {self.policies}"
            )
        return self

    def base_for(self, changes: Mapping[str, Any]) -> Self:
        """Returns the settings that `changes` apply to; another game may need another output layout of the nets."""
        base = super().base_for(changes)
        if base is self:
            return self
        nets = {name: self.fitted(getattr(self, name), changes) for name in ("network", "baseline_network")}
        return base.model_copy(update=nets)

    def check(self) -> None:
        """Raises UsageError if the game, its options, the networks and the evaluation are not compatible."""
        from dancfr.games.registry import make_game

        game = make_game(self.game, **self.game_options)
        spec = game.spec
        if (found := spec.beyond_zero_sum) and (self.baseline or self.policy_net or self.sampling.method != "outcome"):
            raise UsageError(
                "baselines, policy nets and external sampling need two players and returns with a constant sum, "
                f"and {self.game} has {found}: train it by policy gradients, or, without a guarantee, set "
                "baseline=false, policy_net=false and sampling.method=outcome"
            )
        if self.policy_net and not self.evaluation.every:
            raise UsageError(
                "evaluation.every must be at least 1 with policy_net=true: its nets are trained when they are evaluated"
            )
        try:
            self.network.check(spec)
            self.baseline_network.check(spec)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.curriculum.check_games(self.game, self.game_options)
        self.check_opponents(game)
        self.check_ply_limit()
        self.check_tree(game)
        self.check_readable(game)

    @cached_property
    def players(self) -> int:
        """Number of players of the game."""
        from dancfr.games.registry import make_game

        count: int = make_game(self.game, **self.game_options).spec.num_players
        return count

    def turns(self, iteration: int) -> tuple[tuple[int, ...], ...]:
        """Returns the players whose nets iteration t trains, grouped by turns within which the nets stay fixed."""
        everybody = tuple(range(self.players))
        if self.updates == "alternating":
            return ((everybody[(iteration - 1) % self.players],),)
        return tuple((player,) for player in everybody) if self.updates == "in-turn" else (everybody,)

    def updated_players(self, iteration: int) -> tuple[int, ...]:
        """Returns the players whose nets iteration t trains."""
        return tuple(player for turn in self.turns(iteration) for player in turn)

    def own_count(self, iteration: int) -> int:
        """Returns the number of updates, t included, of a player updated in iteration t: its weight in linear CFR."""
        return (iteration - 1) // self.players + 1 if self.updates == "alternating" else iteration
