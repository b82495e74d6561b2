"""Settings shared by the methods that learn over listed actions."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods.settings import EvaluationSettings, RunConfig
from envs.capabilities import FullView
from envs.game import ListedGame
from learners.listed.settings import ListedTrainingSettings, Outputs, QNetworkSettings


class ListedConfig(RunConfig):
    """Self-play of a net over the listed actions of a game.

    Attributes:
        games: Self-play games per iteration: rounds or matches, depending on `game_options.length`.
        chunk: Games per chunk, the unit of work of a worker. Results depend on it, as on the seed.
        tables: Games that a worker plays in lock step.
        start: Agent whose Q-net the training starts from: a run of the same network, whose critic is used too if it has
            the same size; None: a fresh net.
        opponents: Share of the games in which a frozen agent plays all seats of one team, by its name.
        partners: Share of the games in which a frozen agent plays a single seat, by its name.
        overlap: Whether self-play runs in parallel with the previous fit, by weights that are one fit older. Otherwise
            each waits for the other; `resources.learners` then lets several CPUs share a fit.
        tribute: Who decides tributes: ``heuristic``, the game's heuristic, as in the paper; or ``learnt``, the Q-net,
            which is then trained on them as well and needs an encoding that marks these decisions.
        network: Architecture of the Q-net.
        training: Optimisation of the Q-net.
        pool: Capacity of the circular sample pool, in rows.
        average: Exponent p of a running average of the weights of all fits, in which the n-th fit has weight n^p. The
            evaluated and stored agent uses this average, which removes the noise of the last minibatches; self-play
            uses the newest weights. 0: no averaging, as in the paper.
    """

    buffers: ClassVar[tuple[str, ...]] = ("pool",)
    batches: ClassVar[dict[str, str]] = {"pool": "training"}

    game: str = "guandan"
    games: int = Field(64, ge=1, le=10_000_000)
    chunk: int = Field(16, ge=1, le=1_000_000)
    tables: int = Field(16, ge=1, le=100_000)
    start: str | None = None
    opponents: dict[str, float] = Field(default_factory=dict)
    partners: dict[str, float] = Field(default_factory=dict)
    overlap: bool = True
    tribute: Literal["heuristic", "learnt"] = "heuristic"
    network: QNetworkSettings = QNetworkSettings()
    training: ListedTrainingSettings = ListedTrainingSettings()
    pool: int = Field(65_536, ge=1)
    average: float = Field(0.0, ge=0, le=1000)
    evaluation: EvaluationSettings = EvaluationSettings(opponents=("random", "greedy", "planner"))

    @property
    def outputs(self) -> Outputs:
        """The meaning of the net's outputs."""
        raise NotImplementedError

    @property
    def trace(self) -> float | None:
        """Lambda of the advantages by a critic; None if there is no critic."""
        raise NotImplementedError

    @property
    def start_scale(self) -> float:
        """Factor of the outputs of a value net with which training begins."""
        return 1.0

    @model_validator(mode="after")
    def _shares_add_up(self) -> Self:
        shares = [*self.opponents.values(), *self.partners.values()]
        if any(not 0 < share <= 1 for share in shares) or sum(shares) > 1 + 1e-9:
            raise ValueError(
                "the shares of opponents and partners must be above 0 and add up to at most 1, got "
                f"opponents={self.opponents}, partners={self.partners}"
            )
        return self

    @model_validator(mode="after")
    def _newest_rows_are_trained_on(self) -> Self:
        if self.overlap and self.training.max_age == 1:
            raise ValueError("training.max_age must be at least 2 with overlap=true: its newest rows are two fits old")
        return self

    def check(self) -> None:
        """Raises UsageError if the game, its options, the network and the opponents are not compatible."""
        from dancfr.games.registry import make_game

        game = make_game(self.game, **self.game_options)
        if not isinstance(game, ListedGame):
            raise UsageError(f"game must have ragged actions, such as guandan, got {self.game}")
        try:
            self.network.check(game.spec)
        except ValueError as error:
            raise UsageError(str(error)) from None
        encoding = self.network.encoding_of(game.spec)
        if self.tribute == "learnt" and not encoding.startswith(("tribute", "ranks", "plans")):
            raise UsageError(
                f"tribute=learnt needs an encoding that distinguishes tributes from plays, got {encoding}: "
                "set network.encoding=tribute, ranks or plans"
            )
        if self.trace is not None and not isinstance(game, FullView):
            raise UsageError(f"a critic needs a game that shows it all cards, unlike {self.game}")
        self.curriculum.check_games(self.game, self.game_options)
        self.check_opponents(game)
