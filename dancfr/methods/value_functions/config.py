"""Configuration and presets of value functions for depth-limited solving."""

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, field_validator, model_validator

from dancfr.errors import UsageError
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, RunConfig
from learners.settings import TrainingSettings
from learners.value_functions.limit import Limit
from learners.value_functions.settings import Loss, ValueNetSettings, ValueSolving


class ValueFunctionEvaluation(EvaluationSettings):
    """Evaluation during training: errors on held-out samples, and the exploitability of the trunk strategy that DL-CFR+
    finds with the net. No matches are played.

    Attributes:
        iterations: Iterations of DL-CFR+.
    """

    every: int = Field(5, ge=0)
    opponents: tuple[str, ...] = ()
    iterations: int = Field(1000, ge=1, le=1_000_000)

    def for_other_game(self) -> Self:
        """Returns the settings unchanged, since no matches are played."""
        return self


class ValueFunctionConfig(RunConfig):
    """A value function for depth-limited solving (paper 003).

    Attributes:
        limit: Depth limit, ``actions:N`` or ``chances:N``; None: the default of the game (`dancfr.games.limits`).
        strategies: Number of random trunk strategies to solve before the first fit.
        asked: Strategies per iteration, from the second one on, taken from DL-CFR+ with the current net, so that the
            net is trained on the ranges that the solver queries (Brown et al. 2020). 0: random strategies only, as in
            the paper.
        more: Additional random strategies per iteration, from the second one on.
        chunk: Strategies per chunk, the unit of work of a worker. Results depend on it, as on the seed.
        held: Hold out one of this many strategies for validation.
        unseen: Public state to exclude from training, to measure generalisation; None: train on all.
        data: Folder of the solved samples, which several runs may share; None: ``data`` in the run's folder.
        data_seed: Seed of the random strategies; None: the seed of the run.
        solving: Settings of the solver for the subgames below the depth limit.
        network: Architecture of the net.
        training: Optimisation of the net.
        loss: Loss function: ``huber``, ``l1`` or ``linf``.
        capacity: Capacity of the sample buffer.
    """

    buffers: ClassVar[tuple[str, ...]] = ("capacity",)
    batches: ClassVar[dict[str, str]] = {"capacity": "training"}
    plays: ClassVar[frozenset[str]] = frozenset({"evaluation.iterations"})
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
    evaluation: ValueFunctionEvaluation = ValueFunctionEvaluation()
    checkpoint_every: int = Field(10, ge=1)

    @model_validator(mode="after")
    def _something_is_held_out(self) -> "ValueFunctionConfig":
        if self.strategies < self.held and self.unseen is None:
            raise ValueError(f"held must be at most strategies={self.strategies}, got {self.held}")
        return self

    @field_validator("data")
    @classmethod
    def _found_from_anywhere(cls, data: str | None) -> str | None:
        return None if data is None else str(Path(data).absolute())

    @property
    def cut(self) -> Limit:
        """The depth limit."""
        from dancfr.games.limits import limit_of

        return limit_of(self.game, self.game_options, self.limit)

    def check(self) -> None:
        """Raises UsageError if the depth limit, `unseen` or the evaluation does not fit the game."""
        from dancfr.games.registry import make_game
        from dancfr.games.trees import make_tree
        from learners.value_functions.parts import split_game

        limit = self.cut
        tree = make_tree(self.game, self.game_options)
        game = make_game(self.game, **self.game_options)
        try:
            split = split_game(game, limit, tree)
        except (TypeError, ValueError) as error:
            raise UsageError(str(error)) from None
        if self.unseen is not None and not self.unseen < split.encoding.num_public > 1:
            raise UsageError(
                f"unseen must be the index of one of several public states, got {self.unseen}: {self.game} has "
                f"{split.encoding.num_public} at {limit}"
            )
        self.curriculum.refuse()
        if not self.evaluation.every:
            raise UsageError("evaluation.every must be at least 1: nets are stored only when they are evaluated")
        if self.evaluation.opponents:
            raise UsageError("evaluation.opponents must be empty: the trunk is evaluated exactly, without matches")


_DESCRIPTION = "paper 003: a value function for depth-limited solving of {}, a few minutes"

# These nets are fitted within minutes on two cores; docs/results/value-functions.md has the experiments. The nets of
# paper 003, with 4 to 6 layers of 200 to 500 units, take longer without being better. In oshi-zumo random
# strategies are far from those of a solver, so the presets set `asked`.
PRESETS = (
    Preset("goofspiel5-values", ValueFunctionConfig(game="goofspiel5"), _DESCRIPTION.format("goofspiel with 5 cards")),
    Preset(
        "leduc_2b2r-values",
        ValueFunctionConfig(game="leduc_2b2r", strategies=812),
        _DESCRIPTION.format("Leduc hold'em with two sizes of bet and of raises"),
    ),
    Preset(
        "oshi_zumo8_k1-values",
        ValueFunctionConfig(game="oshi_zumo8_k1", strategies=1000, asked=128, iterations=30),
        _DESCRIPTION.format("oshi-zumo, 3 cells"),
    ),
    Preset(
        "oshi_zumo8_k3-values",
        ValueFunctionConfig(game="oshi_zumo8_k3", strategies=1000, asked=128, iterations=30),
        _DESCRIPTION.format("oshi-zumo, 7 cells"),
    ),
)
