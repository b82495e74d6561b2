"""What the configurations of all methods have in common."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError, nearest
from dancfr.methods.curriculum import Curriculum
from dancfr.runs.config import Config


class EvaluationSettings(Config):
    """Evaluation along the run.

    Attributes:
        every: Iterations between evaluations; 0 for none.
        opponents: Names of bots.
        games: Games against each opponent with each policy, half of them in each seat.
    """

    every: int = Field(10, ge=0)
    opponents: tuple[str, ...] = ("random",)
    games: int = Field(1000, ge=2, le=10_000_000)

    def for_other_game(self) -> Self:
        """The same for a game of which no bot is known but `random`."""
        return self.model_copy(update={"opponents": ("random",)})


class Resources(Config):
    """What the actors take of the machines, and how long they may be away. Changes nothing of what is computed, but
    `buffer_shards` which rows are drawn and kept, and `learners`, like a device, the order in which numbers are summed.

    Attributes:
        worker_cpus: CPUs of a worker; a fraction where several shall share one.
        learner_cpus: CPUs of each learner. 0 where there are hardly any: learners and workers then share.
        learner_gpus: GPUs of each learner with --device cuda; 0.5 lets learners of two kinds share one. None: one GPU
            for all learners, or one for each where several train a net together.
        learners: Processes that train each kind of net together, each on its part of a minibatch. Without Ray: one.
        buffer_shards: Actors that each buffer is divided among.
        deadline_s: A worker that is at a chunk for longer is taken to hang and replaced. None: the method's own.
        wait_s: Seconds in which machines may still come at the start, from an autoscaler for instance.
        recoveries: So often in a row, without a checkpoint in between, a run goes back to its newest checkpoint because
            a buffer, a learner or a machine was lost.
    """

    worker_cpus: float = Field(1.0, ge=0.001, le=1024)
    learner_cpus: float = Field(0.0, ge=0, le=1024)
    learner_gpus: float | None = Field(None, ge=0.001, le=64)
    learners: int = Field(1, ge=1, le=64)
    buffer_shards: int = Field(1, ge=1, le=256)
    deadline_s: float | None = Field(None, gt=0)
    wait_s: float = Field(0.0, ge=0)
    recoveries: int = Field(5, ge=0)

    @model_validator(mode="after")
    def _learners_do_not_share_gpus(self) -> Self:
        if self.learners > 1 and self.learner_gpus is not None and self.learner_gpus < 1:
            raise ValueError(
                f"learner_gpus={self.learner_gpus:g} is too little for learners={self.learners}: learners that train a "
                "net together each need a GPU of their own; set it to at least 1, or leave it out"
            )
        return self


class RunConfig(Config):
    """Settings that every method has.

    Attributes:
        game: Name of the game, see `dancfr games`.
        game_options: Options of the game.
        curriculum: Smaller games that the run begins with.
        seed: Of everything random in the run.
        iterations: Iterations in all.
        minutes: Stop after so many minutes of training, evaluations and checkpoints left out; None: no limit.
        evaluation: Evaluation along the run.
        checkpoint_every: Iterations between checkpoints, at most.
        checkpoint_minutes: Minutes between checkpoints, at most: what a killed run has to do again. None: no limit.
        resources: What the actors take of the machines.
        buffers: Keys of a method that say how many rows its buffers hold.
    """

    resumable: ClassVar[frozenset[str]] = frozenset(
        {"iterations", "minutes", "evaluation", "checkpoint_every", "checkpoint_minutes"}
        | {f"resources.{key}" for key in Resources.model_fields if key != "buffer_shards"}
    )
    buffers: ClassVar[tuple[str, ...]] = ()

    game: str = "geister"
    game_options: dict[str, Any] = Field(default_factory=dict)
    curriculum: Curriculum = Curriculum()
    seed: int = Field(1, ge=0, lt=2**32)
    iterations: int = Field(200, ge=1)
    minutes: float | None = Field(None, gt=0)
    evaluation: EvaluationSettings = EvaluationSettings()
    checkpoint_every: int = Field(25, ge=1)
    checkpoint_minutes: float | None = Field(5.0, gt=0)
    resources: Resources = Resources()

    @model_validator(mode="after")
    def _each_shard_holds_rows(self) -> Self:
        for key in self.buffers:
            if getattr(self, key) < self.resources.buffer_shards:
                raise ValueError(
                    f"{key}={getattr(self, key)} is too little for resources.buffer_shards="
                    f"{self.resources.buffer_shards}: each shard needs a row at least"
                )
        return self

    def base_for(self, changes: Mapping[str, Any]) -> Self:
        """Another game starts from its own options, and knows no bot but `random`."""
        if changes.get("game", self.game) == self.game:
            return self
        changed = {"game_options": {}, "curriculum": Curriculum(), "evaluation": self.evaluation.for_other_game()}
        return self.model_copy(update=changed)

    def varied(self, **changes: Any) -> Self:
        """The same settings with some of them changed, checked again."""
        return type(self).model_validate({**dict(self), **changes})

    def options_at(self, iteration: int) -> dict[str, Any]:
        """Options of the game that iteration t, from 1, is played on."""
        return self.curriculum.options_at(iteration, self.game_options)

    def check_opponents(self, game: Any) -> None:
        """Raises UsageError where an opponent is no bot of the game."""
        from dancfr.evaluation.bots import bots

        for opponent in self.evaluation.opponents:
            if opponent not in (known := list(bots(game))):
                raise UsageError(f"evaluation.opponents: {nearest(opponent, known, f'bot of {self.game}')}")
