"""Configuration and preset of trained best responses: the settings of `dancfr exploit AGENT KEY=VALUE`."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, RunConfig
from envs.game import Game, GameBase
from learners.networks.settings import NetworkSettings, network_for
from learners.policy_gradient.settings import PolicyTrainingSettings

MOST_GAMES = 10_000_000
MOST_STARTS = 64

NETS, RESULT = "best-response.safetensors", "exploit.json"
"""Files of a trained best response: its nets, and the measured bounds."""
FRESH = "fresh"
"""Name of a start from a new net."""


class BestResponseEvaluation(EvaluationSettings):
    """No evaluation against bots: the driver measures the responses against their own agent."""

    every: int = Field(0, ge=0, le=0)
    opponents: tuple[str, ...] = ()


class BestResponseConfig(RunConfig):
    """Best responses to a frozen agent, trained by policy gradients.

    Attributes:
        agent: Name of the frozen agent.
        starts: What each response begins with: ``fresh``, or the name of an agent whose nets it takes, such as a
            policy-gradient run. Each has a seed of its own, so a start may be named several times.
        known: Agents that are measured beside the responses.
        network: Architecture of fresh nets. One net plays both seats.
        training: Objective and optimisation.
        rows: Approximate number of decisions of a response in an iteration.
        chunk: Approximate number of decisions in a chunk of games, which a worker plays at a time.
        buffer: Rows of an iteration that are trained on, at most.
        halve: Shares of the budget after which the better half of the responses is trained on.
        fair: Decisions that the best of the fresh responses gets before it may be dropped. A new net is behind nets
            that know the game at first, and often ahead of them later.
        minutes: Stop when this many CPU minutes of all processes together are spent, but for those that the final
            measurement is expected to take; None: no limit.
        games: Stop after this many training games; None: no limit.
        eval_games: Games for the final measurement, half of them in each seat.
        fingerprints: What the frozen agent and those of `known` were when the training began, by name, as far as
            `dancfr exploit` has noted it: it refuses to continue against agents that have changed.
    """

    buffers: ClassVar[tuple[str, ...]] = ("buffer",)
    resumable: ClassVar[frozenset[str]] = RunConfig.resumable | {"games", "eval_games"}

    agent: str = "random"
    starts: tuple[str, ...] = Field((FRESH,), min_length=1, max_length=MOST_STARTS)
    known: tuple[str, ...] = ()
    network: NetworkSettings = NetworkSettings()
    training: PolicyTrainingSettings = PolicyTrainingSettings(
        entropy=0.01,
        entropy_end=0.001,
        learning_rate=1e-3,
        learning_rate_end=2e-4,
        schedule=100,
        trace=0.9,
    )
    rows: int = Field(32_768, ge=2)
    chunk: int = Field(8192, ge=1)
    buffer: int = Field(262_144, ge=2)
    halve: tuple[float, ...] = (0.15, 0.3)
    fair: int = Field(3_000_000, ge=0)
    iterations: int = Field(1_000_000, ge=1)
    minutes_are: ClassVar[str] = "of CPU time of all processes, the measurement included"
    minutes: float | None = Field(5.0, gt=0)
    games: int | None = Field(None, ge=2, le=1_000 * MOST_GAMES)
    eval_games: int = Field(10_000, ge=20, le=MOST_GAMES)
    fingerprints: dict[str, str] = Field(default_factory=dict)
    evaluation: BestResponseEvaluation = BestResponseEvaluation()
    checkpoint_every: int = Field(1_000_000, ge=1)

    @model_validator(mode="after")
    def _halving_goes_on(self) -> Self:
        if list(self.halve) != sorted(set(self.halve)) or any(not 0 < share < 1 for share in self.halve):
            raise ValueError(f"halve must be increasing shares between 0 and 1, got {list(self.halve)}")
        return self

    def base_for(self, changes: Mapping[str, Any]) -> Self:
        """Returns the settings that `changes` apply to; another game may need another output layout of the nets."""
        base = super().base_for(changes)
        if base is self:
            return self
        from dancfr.games.registry import make_game

        network = network_for(make_game(changes["game"], **changes.get("game_options", {})).spec)
        return base.model_copy(update={"network": network, "evaluation": self.evaluation})

    def check(self) -> None:
        """Raises UsageError if the game is not two-player zero-sum with numbered actions, or the nets do not fit it."""
        from dancfr.games.registry import make_game

        game = two_player_game(make_game(self.game, **self.game_options))
        try:
            self.network.check(game.spec)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if self.training.hide:
            raise UsageError("training.hide: a best response has no one to hide from: leave it out")
        self.curriculum.refuse()


def two_player_game(rules: GameBase) -> Game:
    """Returns the game if the return of a response is a lower bound of exploitability in it.

    Raises:
        UsageError: the game has teams, more than two players or returns without a constant sum, or its actions are not
            numbered.
    """
    spec = rules.spec
    if found := spec.beyond_zero_sum or ("teams" if spec.teams else ""):
        raise UsageError(
            f"a best response bounds exploitability in two-player zero-sum games only, and {spec.name} has {found}: "
            "compare agents with dancfr evaluate instead; --exploitability there is for games with a tree"
        )
    if not isinstance(rules, Game):
        raise UsageError(
            f"a best response needs a game with numbered actions, unlike {spec.name}: "
            "compare agents with dancfr evaluate instead"
        )
    return rules


PRESETS = (
    Preset(
        "best-response",
        BestResponseConfig(network=NetworkSettings(outputs="move")),
        "best responses to agent=NAME, as `dancfr exploit NAME` trains them, 5 minutes",
    ),
)
