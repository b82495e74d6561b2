"""Configuration of regularised policy gradients."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods.settings import ExactEvaluation, RunConfig
from envs.capabilities import DisguisedGame
from envs.game import Game
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.settings import AdversarySettings, NoiseSettings, PolicyTrainingSettings


class PolicyGradientConfig(RunConfig):
    """Self-play with a regularised policy gradient.

    Attributes:
        games: Games of an iteration.
        chunk: Games of a chunk, the unit of work of a worker, played in lock step. Results depend on it, as on the
            seed.
        nets: ``shared``, one net plays all seats; or ``per_player``.
        network: Architecture of the nets.
        start: Agent whose policy net the training begins with: a policy-gradient run of the same network with
            `nets=shared`, of a mixture the averaged weights; None: fresh nets.
        training: Objective and optimisation.
        opponents: Share of the games in which one seat is taken by a frozen agent, by its name.
        former: Share of the games in which one seat is taken by a former policy of this run.
        adversaries: Share of the games in which one seat is taken by a net that is trained beside the policy to win
            against it, by a name of your own for each.
        adversary: What the adversaries learn, and how.
        noise: Random actions in the games.
        buffer: Rows of an iteration that are trained on, at most; of more, those of the first games are left out.
        kept: Number of policies that are kept at most, evenly spread over the run: the former ones and those of the
            mixture.
        kept_every: Fits between the first policies that are kept; twice as many each time there are too many.
        average: What the evaluated and stored agent plays by. ``weights``: the average of the weights over all fits;
            ``mixture``: one of the kept policies in each game.
        average_power: Exponent p of both averages, in which the n-th fit has weight n^p. 0: the last weights, or a
            uniform mixture.
        threshold: Actions with less than this fraction of the highest probability are not played by the agent.
    """

    buffers: ClassVar[tuple[str, ...]] = ("buffer",)

    games: int = Field(512, ge=1, le=10_000_000)
    chunk: int = Field(256, ge=1, le=1_000_000)
    nets: Literal["shared", "per_player"] = "shared"
    network: NetworkSettings = NetworkSettings()
    start: str | None = None
    training: PolicyTrainingSettings = PolicyTrainingSettings()
    opponents: dict[str, float] = Field(default_factory=dict)
    former: float = Field(0.0, ge=0, le=1)
    adversaries: dict[str, float] = Field(default_factory=dict)
    adversary: AdversarySettings = AdversarySettings()
    noise: NoiseSettings = NoiseSettings()
    kept: int = Field(20, ge=2, le=1000)
    kept_every: int = Field(10, ge=1)
    buffer: int = Field(1_000_000, ge=2)
    average: Literal["weights", "mixture"] = "weights"
    average_power: float = Field(3.0, ge=0, le=1000)
    threshold: float = Field(0.0, ge=0, le=1)
    evaluation: ExactEvaluation = ExactEvaluation()

    @model_validator(mode="after")
    def _shares_add_up(self) -> "PolicyGradientConfig":
        for group in ("opponents", "adversaries"):
            for name, share in getattr(self, group).items():
                if not 0 < share <= 1:
                    raise ValueError(f"{group}.{name} must be a share above 0 and at most 1, got {share:g}")
        for name in self.adversaries:
            if not name.isidentifier() or name in ("former", *self.opponents):
                raise ValueError(f"adversaries.{name}: choose a word that is not the name of another opponent")
        for setting, names in (("wins", self.adversary.wins), ("start", self.adversary.start)):
            for name in names:
                if name not in self.adversaries:
                    raise ValueError(
                        f"adversary.{setting}.{name}: there is no adversaries.{name}, its share of the games"
                    )
        total = sum(self.opponents.values()) + sum(self.adversaries.values()) + self.former
        if total > 1 + 1e-9:
            raise ValueError(f"the shares of opponents, adversaries and former must add up to at most 1, got {total:g}")
        return self

    def base_for(self, changes: Mapping[str, Any]) -> Self:
        """Returns the settings that `changes` apply to; another game may need another output layout of the nets."""
        base = super().base_for(changes)
        if base is self:
            return self
        adversary = self.adversary.model_copy(update={"wins": {}, "start": {}})
        fitted = {"network": self.fitted(self.network, changes), "adversary": adversary}
        return base.model_copy(update={**fitted, "start": None, "opponents": {}, "adversaries": {}})

    def check(self) -> None:
        """Raises UsageError if the game, its options, the network and the opponents are not compatible."""
        from dancfr.games.registry import make_game

        game = make_game(self.game, **self.game_options)
        if not isinstance(game, Game):
            raise UsageError(f"game must have numbered actions for a policy gradient, unlike {self.game}: use dmc")
        try:
            self.network.check(game.spec)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.curriculum.check_games(self.game, self.game_options)
        self.check_opponents(game)
        self.check_ply_limit()
        self._check_endings(game)
        self.check_tree(game)
        self.check_readable(game)
        if self.training.hide and not isinstance(game, DisguisedGame):
            raise UsageError(f"training.hide: {self.game} cannot disguise infostates: set it to 0")

    def _check_endings(self, game: Game) -> None:
        endings = game.spec.endings[1:]
        for name, wins in self.adversary.wins.items():
            for ending in wins:
                if ending not in endings:
                    raise UsageError(
                        f"adversary.wins.{name}: {self.game} does not end by {ending!r}, but by {', '.join(endings)}"
                    )
