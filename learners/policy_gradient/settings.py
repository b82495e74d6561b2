"""Settings of a policy gradient that the command line, the actors, the learner and the agent share."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from learners.settings import Optimiser, Settings, part_done, scheduled


class PolicyTrainingSettings(Settings):
    """How a policy and its values are fitted to the trajectories of an iteration: PPO (Schulman et al. 2017) with an
    entropy bonus and a magnet (Sokota et al. 2022, "A unified approach to reinforcement learning, quantal response
    equilibria, and two-player zero-sum games").

    The learning rate, the entropy bonus and the weights of the divergences go from their value to the one at the end
    geometrically over `schedule` iterations, and stay there. The entropy bonus and the weights of the divergences are
    temperatures in the unit that `unit` names.

    Attributes:
        batch: Rows of a minibatch.
        epochs: Passes over the rows of an iteration.
        learning_rate: Learning rate of Adam.
        learning_rate_end: Learning rate at the end of the schedule; None: constant.
        ratio_clip: Epsilon of PPO: an action whose probability has changed by more than this share since it was played
            has no gradient in the direction of the change.
        value_weight: Weight of the squared error of the values in the loss.
        critic: The values that advantages are estimated by. ``own``: those of the policy net, from the player's
            infostate; ``all``: those of a critic of the same size that sees all players' infostates, in training only.
        unit: The unit of temperatures. ``largest``: the game's largest return; ``spread``: the root mean square of the
            values that the first fit learned, from nearly uniform play: what is usually at stake, where the largest
            return is rare. In that fit it is the largest return.
        entropy: Weight of the policy's entropy.
        entropy_end: Weight of the entropy at the end of the schedule; None: constant.
        magnet: Weight of the divergence KL(policy, magnet).
        magnet_end: Weight of the divergence at the end of the schedule; None: constant.
        magnet_rate: The magnet is an average of the weights after each fit; the newest weights have this share.
        hide: Weight of the divergence KL(policy, mean policy over the secrets the player might have): a price of all
            that the play tells. The mean is over the player's
            secrets and `disguises` random arrangements that agree with what is public, so the divergence is at most the
            logarithm of 1 + `disguises`. For games with `envs.capabilities.DisguisedGame`.
        hide_end: Weight of this divergence at the end of the schedule; None: constant.
        disguises: Number of arrangements.
        schedule: Number of iterations of the schedule; None: the whole run, by the part of its iterations, samples or
            minutes that is done, whichever is more. By minutes, results depend on the speed of the machine.
        discount: Gamma, for each own decision of a player.
        trace: Lambda of the generalised advantage estimate (Schulman et al. 2016); 1: returns without bootstrapping.
        normalise: Divide advantages by their root mean square over the minibatch.
        clip: Maximum norm of the gradient.
        bf16: Run the network in bfloat16 (autocast), for GPUs and for CPUs with instructions for it; the weights stay
            float32.
    """

    optimiser: ClassVar[Optimiser] = "adam"
    epsilon: ClassVar[float] = 1e-5
    minibatches: ClassVar[int | None] = None
    anneal: ClassVar[bool] = False
    warm_start: ClassVar[bool] = True
    keep_moments: ClassVar[bool] = True
    weight_average: ClassVar[float] = 0.0

    batch: int = Field(2048, ge=2)
    epochs: int = Field(1, ge=1, le=100)
    learning_rate: float = Field(1e-3, gt=0, le=1)
    learning_rate_end: float | None = Field(None, gt=0, le=1)
    ratio_clip: float = Field(0.2, gt=0, le=1)
    value_weight: float = Field(0.5, gt=0)
    critic: Literal["own", "all"] = "own"
    unit: Literal["largest", "spread"] = "largest"
    entropy: float = Field(0.03, ge=0)
    entropy_end: float | None = Field(None, ge=0)
    magnet: float = Field(0.0, ge=0)
    magnet_end: float | None = Field(None, ge=0)
    magnet_rate: float = Field(0.02, gt=0, le=1)
    hide: float = Field(0.0, ge=0, le=1000)
    hide_end: float | None = Field(None, ge=0, le=1000)
    disguises: int = Field(2, ge=1, le=64)
    schedule: int | None = Field(200, ge=1)
    discount: float = Field(0.99, gt=0, le=1)
    trace: float = Field(0.9, ge=0, le=1)
    normalise: bool = False
    clip: float = Field(1.0, gt=0)
    bf16: bool = False

    @model_validator(mode="after")
    def _check_schedules(self) -> Self:
        for name in ("entropy", "magnet", "hide"):
            start, end = getattr(self, name), getattr(self, f"{name}_end")
            if end is not None and (start == 0) != (end == 0):
                raise ValueError(
                    f"{name} and {name}_end must both be positive, as a geometric schedule runs from one to the other, "
                    f"got {start:g} and {end:g}"
                )
        return self

    def at(
        self, name: Literal["learning_rate", "entropy", "magnet", "hide"], iteration: int, done: float = 0.0
    ) -> float:
        """Value of a scheduled setting in an iteration, counted from 1, when this part of the run is done."""
        if self.schedule is not None:
            done = part_done(iteration, self.schedule)
        return scheduled(getattr(self, name), getattr(self, f"{name}_end"), done)


class NoiseSettings(Settings):
    """Random actions in the games of self-play; they give no samples.

    Self-play alone does not reach the positions to which a best response leads. With these, its policies are trained
    there too, as in an equilibrium of a game in which hands tremble (Selten 1975).

    Attributes:
        openings: Share of the games that begin with uniformly random plies of all players.
        opening_plies: Such a game begins with 1 to `opening_plies` of them, each number equally often.
        tremble: Share of the learner's seats whose player trembles in a game: every action is uniformly random with a
            probability that is drawn for the seat and game from 0 to `tremble_rate`.
        tremble_rate: The highest such probability.
    """

    openings: float = Field(0.0, ge=0, le=1)
    opening_plies: int = Field(60, ge=1, le=100_000)
    tremble: float = Field(0.0, ge=0, le=1)
    tremble_rate: float = Field(0.2, ge=0, lt=1)


class AdversarySettings(Settings):
    """How the nets learn that are trained beside a policy to win against it.

    They have nets of their own and learn for the whole run. Their objective is that of the policy, without
    magnet and without a price on what the play shows. One to whom some wins are worth less learns to win by others: in
    self-play alone, a policy meets no opponents who win by other means than its own.

    Attributes:
        wins: What a win is worth to an adversary, by its name and the ending of the game, in units of the largest
            return; wins by other endings are worth their return. To the policy they are losses as before.
        start: Agent whose policy net an adversary begins with, by the adversary's name; others begin with fresh nets.
        learning_rate: Constant learning rate of Adam.
        entropy: Constant weight of the entropy of their policies.
    """

    wins: dict[str, dict[str, float]] = Field(default_factory=dict)
    start: dict[str, str] = Field(default_factory=dict)
    learning_rate: float = Field(1e-3, gt=0, le=1)
    entropy: float = Field(0.015, ge=0)

    @model_validator(mode="after")
    def _check_wins(self) -> Self:
        for name, wins in self.wins.items():
            for ending, worth in wins.items():
                if not -1 <= worth <= 1:
                    raise ValueError(f"wins.{name}: {ending!r} must be worth from -1 to 1, got {worth:g}")
        return self

    def training(self, policy: PolicyTrainingSettings) -> PolicyTrainingSettings:
        """Returns the settings of their fits beside those of the policy."""
        constant = dict.fromkeys(("learning_rate_end", "entropy_end", "magnet_end", "hide_end"))
        own = {"learning_rate": self.learning_rate, "entropy": self.entropy, "magnet": 0.0, "hide": 0.0}
        return policy.model_copy(update=constant | own)
