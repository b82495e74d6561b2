"""Settings shared by the configurations of all methods."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError, nearest
from dancfr.methods.curriculum import Curriculum
from dancfr.runs.config import Config, keys_of
from envs.game import GameBase, numbered
from learners.networks.settings import NetworkSettings, network_for

MOST_MINUTES = 1e6
"""Longest training and longest time between checkpoints: some two years."""


class EvaluationSettings(Config):
    """Evaluation during training.

    Attributes:
        every: Iterations between evaluations; 0 disables evaluation.
        opponents: Bots to play against, see `dancfr agents GAME`.
        games: Games per policy and opponent, half of them in each seat.
    """

    every: int = Field(10, ge=0)
    opponents: tuple[str, ...] = ("random",)
    games: int = Field(1000, ge=2, le=10_000_000)

    def for_other_game(self) -> Self:
        """Returns the settings for another game, whose only known bot is `random`."""
        return self.model_copy(update={"opponents": ("random",)})


class LongerEvaluation(EvaluationSettings):
    """Evaluation by games that may be longer than those of the training.

    Attributes:
        ply_limit: Maximum number of plies of evaluation games; None: the game's own limit.
        last: Evaluate the newest nets in addition to their average.
    """

    opponents: tuple[str, ...] = ("random", "heuristic", "rush")
    ply_limit: int | None = Field(300, ge=1, le=32_000)
    last: bool = False

    def for_other_game(self) -> Self:
        return super().for_other_game().model_copy(update={"ply_limit": None})

    def options(self, game_options: Mapping[str, Any]) -> dict[str, Any]:
        """Options of evaluation games."""
        return dict(game_options) | ({} if self.ply_limit is None else {"ply_limit": self.ply_limit})


class ExactEvaluation(LongerEvaluation):
    """Evaluation with exploitability.

    Attributes:
        exploitability: Compute the exact value and NashConv of the evaluated policies, for games that have a tree or
            are evaluated exactly without one.
        readable: Measure how much of what the policies hide can be read from their play against each opponent, on as
            many games again to fit a reader and as many to test it, see `dancfr.evaluation.reading`.
    """

    exploitability: bool = False
    readable: bool = False

    def for_other_game(self) -> Self:
        return super().for_other_game().model_copy(update={"exploitability": False, "readable": False})


class Resources(Config):
    """Resources of the actors, and time limits for replacing lost ones.

    Results do not depend on these settings, with few exceptions: `buffer_shards` changes which rows are drawn and kept,
    and `learners`, like the device, changes the order of floating-point sums, and with `training.hide` the draws. On a
    GPU, `playing` and `deterministic` change the order of sums, too.

    Attributes:
        worker_cpus: CPUs per worker; a fraction lets several workers share a CPU.
        learner_cpus: CPUs per learner; 0 lets learners share the CPUs of the workers, for machines with few CPUs.
            Where each player has a process of a learner of its own, they share it.
        learner_gpus: GPUs per learner with --device cuda; 0.5 lets learners of two kinds share a GPU. None: a single
            GPU for all learners, or one per learner where several train a net together.
        learners: Data-parallel processes per kind of net, each with its share of every minibatch. Ignored without
            Ray.
        deterministic: Use only algorithms of torch that give the same nets in every run on a GPU too, at some cost. On
            a CPU they always do.
        playing: Device of the nets that play games without Ray, if the learners are on a GPU: ``cpu``, in compiled
            kernels, or ``learners``, the learners' device. None: the learners' device for Deep Monte-Carlo, else the
            CPU. On Ray it is always the CPU.
        buffer_shards: Number of actors that each buffer is divided among.
        deadline_s: Seconds after which a worker still busy with one chunk counts as hung and is replaced. None: the
            default of the method.
        wait_s: Seconds to wait at the start for machines to join, e.g. from an autoscaler.
        recoveries: Maximum number of consecutive recoveries (returns to the newest checkpoint after the loss of a
            buffer, a learner or a machine) without a new checkpoint in between.
    """

    worker_cpus: float = Field(1.0, ge=0.001, le=1024)
    learner_cpus: float = Field(0.0, ge=0, le=1024)
    learner_gpus: float | None = Field(None, ge=0.001, le=64)
    learners: int = Field(1, ge=1, le=64)
    deterministic: bool = False
    playing: Literal["cpu", "learners"] | None = None
    buffer_shards: int = Field(1, ge=1, le=256)
    deadline_s: float | None = Field(None, gt=0)
    wait_s: float = Field(0.0, ge=0)
    recoveries: int = Field(5, ge=0)

    @model_validator(mode="after")
    def _learners_do_not_share_gpus(self) -> Self:
        if self.learners > 1 and self.learner_gpus is not None and self.learner_gpus < 1:
            raise ValueError(
                f"learner_gpus must be at least 1 with learners={self.learners}, got {self.learner_gpus:g}: each "
                "data-parallel learner needs a GPU of its own; raise learner_gpus or leave it out"
            )
        return self


class RunConfig(Config):
    """Settings of every method.

    Attributes:
        game: Name of the game, see `dancfr games`.
        game_options: Options of the game, see `dancfr games GAME`.
        curriculum: Smaller games to train on first.
        seed: Seed of all random numbers of the run.
        iterations: Total number of iterations.
        minutes: Stop after this many minutes of training by the clock, not counting start-up, evaluations and
            checkpoints; a slower machine reaches less in them. None: no limit.
        samples: Stop after the iteration in which this many samples are reached; None: no limit.
        evaluation: Evaluation during training.
        checkpoint_every: Maximum number of iterations between checkpoints.
        checkpoint_minutes: Maximum number of minutes between checkpoints, which bounds the work that a killed run has
            to repeat. None: no limit.
        resources: CPUs, GPUs and time limits of the actors.
        buffers: Names of the method's settings that are buffer capacities in rows.
        batches: The settings of training whose batch a buffer must hold, by the name of the buffer.
        plays: The keys among `resumable` that decide how the agent plays by the strategies that a run has stored.
    """

    minutes_are: ClassVar[str] = "by the clock; start-up, evaluations and checkpoints are not counted"
    """Which minutes a limit counts, as the rest of a sentence."""

    resumable: ClassVar[frozenset[str]] = frozenset(
        {"iterations", "minutes", "samples", "evaluation", "checkpoint_every", "checkpoint_minutes"}
        | {f"resources.{key}" for key in Resources.model_fields if key != "buffer_shards"}
    )
    buffers: ClassVar[tuple[str, ...]] = ()
    batches: ClassVar[dict[str, str]] = {}
    plays: ClassVar[frozenset[str]] = frozenset()

    game: str = "geister"
    game_options: dict[str, Any] = Field(default_factory=dict)
    curriculum: Curriculum = Curriculum()
    seed: int = Field(1, ge=0, lt=2**32)
    iterations: int = Field(200, ge=1)
    minutes: float | None = Field(None, gt=0, le=MOST_MINUTES)
    samples: int | None = Field(None, ge=1)
    evaluation: EvaluationSettings = EvaluationSettings()
    checkpoint_every: int = Field(25, ge=1)
    checkpoint_minutes: float | None = Field(5.0, gt=0, le=MOST_MINUTES)
    resources: Resources = Resources()

    @model_validator(mode="after")
    def _each_shard_holds_rows(self) -> Self:
        for key in self.buffers:
            if getattr(self, key) < self.resources.buffer_shards:
                raise ValueError(
                    f"{key} must be at least resources.buffer_shards={self.resources.buffer_shards}, got "
                    f"{getattr(self, key)}: each shard holds at least one row"
                )
        return self

    @model_validator(mode="after")
    def _buffers_hold_a_batch(self) -> Self:
        for buffer, training in self.batches.items():
            if (rows := getattr(self, buffer)) < (batch := getattr(self, training).batch):
                raise ValueError(f"{buffer} must be at least {training}.batch={batch}, got {rows}")
        return self

    @classmethod
    def owners(cls, key: str) -> list[str]:
        """Returns the methods that have a setting which this method lacks."""
        from dancfr.methods import all_methods

        return [method.name for method in all_methods().values() if key in keys_of(method.config)]

    def base_for(self, changes: Mapping[str, Any]) -> Self:
        """Returns the settings that `changes` apply to; another game starts from its own options and bot `random`."""
        if changes.get("game", self.game) == self.game:
            return self
        changed = {"game_options": {}, "curriculum": Curriculum(), "evaluation": self.evaluation.for_other_game()}
        return self.model_copy(update=changed)

    def fitted(self, network: NetworkSettings, changes: Mapping[str, Any]) -> NetworkSettings:
        """Returns the network with an output layout that the other game has, if it lacks the present one."""
        from dancfr.games.registry import make_game

        spec = make_game(changes["game"], **changes.get("game_options", {})).spec
        if network.outputs in spec.slots:
            return network
        return network.model_copy(update={"outputs": network_for(spec).outputs})

    def varied(self, **changes: Any) -> Self:
        """Returns a validated copy with some settings changed."""
        return type(self).model_validate({**dict(self), **changes})

    def options_at(self, iteration: int) -> dict[str, Any]:
        """Returns the game options of an iteration, counted from 1."""
        return self.curriculum.options_at(iteration, self.game_options)

    def part_done(self, iterations: int, samples: int, seconds: float) -> float:
        """Returns the part of a run that is done after so many iterations, samples and seconds of training, from 0 to
        1: the largest part of a limit."""
        parts = [iterations / self.iterations]
        if self.samples is not None:
            parts.append(samples / self.samples)
        if self.minutes is not None:
            parts.append(seconds / (60 * self.minutes))
        return min(max(parts), 1.0)

    def check_tree(self, game: GameBase) -> None:
        """Raises UsageError if exact evaluations are wanted, and the game draws chance events without listing them."""
        if getattr(self.evaluation, "exploitability", False) and (obstacle := obstacle_to_tree(game)):
            raise UsageError(
                f"evaluation.exploitability=true requires the tree of the game, but {obstacle}: set it to false"
            )

    def check_ply_limit(self) -> None:
        """Raises UsageError if evaluation games have a limit of plies, and the game has no such option."""
        from dancfr.games.registry import make_game

        evaluation = self.evaluation
        if not isinstance(evaluation, LongerEvaluation) or evaluation.ply_limit is None or not evaluation.every:
            return
        try:
            make_game(self.game, **evaluation.options(self.game_options))
        except UsageError as error:
            raise UsageError(f"evaluation.ply_limit: {error}; set evaluation.ply_limit=none") from None

    def check_readable(self, game: GameBase) -> None:
        """Raises UsageError if readings are wanted of a game whose players have no secrets."""
        from dancfr.evaluation.reading import FEWEST, require_readable

        if getattr(self.evaluation, "readable", False):
            if self.evaluation.games < FEWEST or not self.evaluation.every:
                raise UsageError(
                    f"evaluation.readable=true needs evaluations of at least {FEWEST} games: set evaluation.games and "
                    "evaluation.every"
                )
            try:
                require_readable(game)
            except UsageError as error:
                raise UsageError(f"evaluation.readable=true: {error}") from None

    def check_opponents(self, game: GameBase) -> None:
        """Raises UsageError if an opponent is not a bot of the game."""
        from dancfr.evaluation.bots import bots

        for opponent in self.evaluation.opponents:
            if opponent not in (known := list(bots(game))):
                raise UsageError(f"evaluation.opponents: {nearest(opponent, known, f'bot of {self.game}')}")


def obstacle_to_tree(game: GameBase) -> str:
    """Returns why a game has no exact evaluations; empty if it may have some."""
    from envs.chanceless import ChanceDrawn, Chanceless
    from envs.extensive import ExtensiveGame
    from envs.openspiel import OpenSpielGame

    if not isinstance(game, (ExtensiveGame, OpenSpielGame)):
        try:
            Chanceless(numbered(game)).initial(1)
        except ChanceDrawn as error:
            return str(error)
    return ""
