"""Configuration of value functions for depth-limited solving: every key that `dancfr train PRESET key=value` knows."""

from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from dancfr.errors import UsageError
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, RunConfig
from learners.settings import TrainingSettings
from learners.value_function.limit import Limit
from learners.value_function.settings import Loss, ValueNetSettings, ValueSolving


class ValueNetEvaluation(EvaluationSettings):
    """Evaluation along the run: errors on samples that were held out, and how exploitable the trunk is that DL-CFR+
    finds with the net. There are no matches.

    Attributes:
        iterations: Of DL-CFR+.
    """

    every: int = Field(5, ge=0)
    opponents: tuple[str, ...] = ()
    iterations: int = Field(1000, ge=1, le=1_000_000)

    def for_other_game(self) -> Self:
        """The same: nobody plays."""
        return self


class ValueNetConfig(RunConfig):
    """A value function for depth-limited solving (paper 003).

    Attributes:
        limit: Where the game is cut, ``actions:N`` or ``chances:N``; None: where `dancfr.games.limits` says.
        strategies: Random strategies of the trunk that are solved before the first fit.
        asked: Strategies an iteration, from the second on, whose ranges DL-CFR+ asks for with the net of the moment
            (Brown et al. 2020). 0: random ones alone, as in the paper.
        more: Random strategies an iteration, from the second on.
        chunk: Strategies of a chunk, the unit of work of a worker. Part of what the seed determines.
        held: One of so many strategies is held out for validation.
        unseen: A public state that is left out of the training, to see what the net makes of it; None: none.
        data: Folder of the solved samples, for several runs to share; None: ``data`` in the run's folder.
        data_seed: Seed of the strategies; None: that of the run.
        solving: How the bottom is solved.
        network: The net.
        training: How an iteration fits it.
        loss: What is minimised: ``huber``, ``l1`` or ``linf``.
        capacity: Samples that the buffer holds.
    """

    buffers: ClassVar[tuple[str, ...]] = ("capacity",)
    resumable: ClassVar[frozenset[str]] = RunConfig.resumable | {"data"}

    game: str = "goofspiel5"
    limit: str | None = None
    iterations: int = Field(20, ge=1)
    strategies: int = Field(2000, ge=2, le=10_000_000)
    asked: int = Field(0, ge=0, le=1_000_000)
    more: int = Field(0, ge=0, le=1_000_000)
    chunk: int = Field(64, ge=1, le=4096)
    held: int = Field(10, ge=2)
    unseen: int | None = Field(None, ge=0)
    data: str | None = None
    data_seed: int | None = Field(None, ge=0, lt=2**32)
    solving: ValueSolving = ValueSolving()
    network: ValueNetSettings = ValueNetSettings()
    training: TrainingSettings = TrainingSettings(batch=512, minibatches=500, weight_average=10.0)
    loss: Loss = "huber"
    capacity: int = Field(1_000_000, ge=1)
    evaluation: ValueNetEvaluation = ValueNetEvaluation()
    checkpoint_every: int = Field(10, ge=1)

    @model_validator(mode="after")
    def _buffer_holds_a_batch(self) -> "ValueNetConfig":
        if self.capacity < self.training.batch:
            raise ValueError(f"capacity={self.capacity} is smaller than training.batch={self.training.batch}")
        return self

    @model_validator(mode="after")
    def _something_is_held_out(self) -> "ValueNetConfig":
        if self.strategies < self.held and self.unseen is None:
            raise ValueError(f"held={self.held} leaves nothing out of strategies={self.strategies}: lower it")
        return self

    @field_validator("data")
    @classmethod
    def _found_from_anywhere(cls, data: str | None) -> str | None:
        return None if data is None else str(Path(data).absolute())

    @property
    def cut(self) -> Limit:
        """Where the game is cut."""
        from dancfr.games.limits import limit_of

        return limit_of(self.game, self.game_options, self.limit)

    def check(self) -> None:
        """Raises UsageError where the game cannot be cut, or has no such public state."""
        from dancfr.games.registry import make_game
        from dancfr.games.trees import make_tree
        from learners.value_function.parts import split_game

        limit = self.cut
        tree = make_tree(self.game, self.game_options)
        game: Any = make_game(self.game, **self.game_options)
        try:
            split = split_game(game, limit, tree)
        except (TypeError, ValueError) as error:
            raise UsageError(str(error)) from None
        if self.unseen is not None and not self.unseen < split.encoding.num_public > 1:
            raise UsageError(
                f"unseen={self.unseen}: {self.game} has {split.encoding.num_public} public states at {limit}, from 0"
            )
        if self.curriculum.option:
            raise UsageError("curriculum.option: a value function is of one game, without a curriculum")
        if not self.evaluation.every:
            raise UsageError("evaluation.every=0 would store no net: they are stored when they are evaluated")
        if self.evaluation.opponents:
            raise UsageError("evaluation.opponents: there are no matches, the trunk is evaluated exactly")


_DESCRIPTION = "paper 003: a value function for depth-limited solving of {}, some minutes"

# Nets that are fitted within minutes on two cores; docs/value-functions.md has the experiments. The nets of paper 003,
# of 4 to 6 layers of 200 to 500 units, take longer and get no further. In oshi-zumo random strategies are far from
# those that a solver comes to, so that it is asked for more.
PRESETS = (
    Preset("goofspiel5-values", ValueNetConfig(game="goofspiel5"), _DESCRIPTION.format("goofspiel with 5 cards")),
    Preset(
        "leduc_2b2r-values",
        ValueNetConfig(game="leduc_2b2r", strategies=812),
        _DESCRIPTION.format("Leduc hold'em with two sizes of bet and of raises"),
    ),
    Preset(
        "oshi_zumo8_k1-values",
        ValueNetConfig(game="oshi_zumo8_k1", strategies=1000, asked=128, iterations=30),
        _DESCRIPTION.format("oshi-zumo, 3 cells"),
    ),
    Preset(
        "oshi_zumo8_k3-values",
        ValueNetConfig(game="oshi_zumo8_k3", strategies=1000, asked=128, iterations=30),
        _DESCRIPTION.format("oshi-zumo, 7 cells"),
    ),
)
