"""Settings of Deep Monte-Carlo (paper 004) that the command line, the actors, the learner and the agent share."""

from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from envs.game import Candidates, GameSpec, Ragged, RaggedGame, States
from envs.ragged import find_rows
from learners.settings import Optimiser, Settings, scheduled


class QNetworkSettings(Settings):
    """Settings of a Q-network, which maps a state and an action to a value (paper 004, IV-A).

    Attributes:
        width: Units of each hidden layer.
        depth: Number of hidden layers of each action. The input of the first is the concatenation of state and action.
        tower: Number of hidden layers before these that see the state alone, and are computed once for all its actions.
        tower_width: Units of each of them.
        activation: Activation of the hidden layers.
        encoding: Encoding of states, one of the game's encodings; None uses the game's first.
        choices: Which choices have values: ``all``, as in the paper, or ``candidates``, one of each set of choices that
            are nearly the same, such as plays of GuanDan that differ only in suits.
    """

    width: int = Field(512, ge=1, le=8192)
    depth: int = Field(5, ge=1, le=32)
    tower: int = Field(0, ge=0, le=32)
    tower_width: int = Field(256, ge=1, le=8192)
    activation: Literal["tanh", "relu"] = "tanh"
    encoding: str | None = None
    choices: Literal["all", "candidates"] = "all"

    def encoding_of(self, spec: GameSpec) -> str:
        """Key of `GameSpec.shapes` that this network reads."""
        return next(iter(spec.shapes)) if self.encoding is None else self.encoding

    def inputs(self, spec: GameSpec) -> tuple[int, int]:
        """Features of a state and of an action, `F` and `A`."""
        encoding = self.encoding_of(spec)
        return spec.shapes[encoding][0], spec.action_inputs(encoding)

    def joined(self, spec: GameSpec) -> int:
        """Units that describe the state beside an action: its inputs, or the last layer of the tower."""
        return self.tower_width if self.tower else self.inputs(spec)[0]

    def list_choices(self, game: RaggedGame, states: States) -> Ragged:
        """Lists the choices that have values."""
        if self.choices == "candidates" and isinstance(game, Candidates):
            return game.candidates(states)
        return game.choices(states)

    def stand_ins(self, game: RaggedGame, lists: Ragged, actions: NDArray[np.void]) -> NDArray[np.int64]:
        """Returns the row of each list of `list_choices` that stands for an action, `int64[B]`; -1 if none does."""
        names = game.action_dtype.names or ()
        exact = find_rows(lists, actions, names)
        if self.choices == "candidates" and isinstance(game, Candidates):
            return np.where(exact < 0, find_rows(lists, actions, game.alike), exact)
        return exact

    def check(self, spec: GameSpec) -> None:
        """Raises ValueError if the game does not provide the encodings that this network needs."""
        if spec.action_features <= 0:
            raise ValueError(f"game {spec.name} has no feature vectors of actions, which a Q-network needs")
        flat = [name for name, shape in spec.shapes.items() if len(shape) == 1]
        if self.encoding_of(spec) not in flat:
            raise ValueError(
                f"game {spec.name} has no flat encoding {self.encoding_of(spec)}: set network.encoding to "
                f"{' or '.join(flat) or 'one that is flat'}"
            )


class DmcTrainingSettings(Settings):
    """Settings of the fits of a Q-network to Monte-Carlo returns (paper 004, IV-B).

    Attributes:
        batch: Rows per minibatch.
        minibatches: Minibatches per fit. An iteration has one fit, after which the weights are sent to the actors.
        optimiser: ``adam``; ``rmsprop``, as torch computes it; or ``rmsprop_tf``, as TensorFlow 1 does, see
            `learners.optimisers`.
        learning_rate: Learning rate of the optimiser.
        epsilon: Term that the optimiser adds to the root mean square of a gradient before it divides by it; with
            ``rmsprop_tf``, to the mean square.
        clip: Maximum norm of the gradient; None does not clip it.
        staleness: Lambda (paper 004, eq. 1 and 2): a sample has no gradient if its value differs from the value that
            the actor saw by more than this share of the latter; None trains on all samples.
        staleness_floor: Lower bound on the absolute value that the share is taken of, in units of the return. 0 is the
            paper's clip: the nearer to 0 a value was, the sooner its sample loses its gradient, and the values of a new
            net are all near 0. 1, the smallest return of a round of GuanDan, keeps samples of such undecided values.
        max_age: K: rows played by weights that were sent more than K iterations ago are counted but not trained on;
            None trains on all rows of the pool.
        weight_average: Exponent of a running average of the weights, which the actors play by. The n-th minibatch has a
            weight of n to this power. 0 uses the latest weights.
        critic: Baseline of the targets. ``none``: the target is the return, and the net learns Q-values, as in the
            paper. ``all``: a second net, in training only, values what all players see, and the target is the estimate
            of an advantage by its values (Schulman et al. 2016), so the net learns advantages, which have less noise
            and order actions in the same way.
        win_bonus: Points that a win is worth beside its return, and a loss costs: with 0, three wins by one point are
            as good as one by three.
        trace: Lambda of these estimates; 1 subtracts the critic's value from the return.
        critic_width: Units of each hidden layer of the critic.
        critic_depth: Number of its hidden layers.
        objective: What the net learns. ``values``: Q-values, or advantages with a critic, and players choose the
            highest. ``policy``: the logits of a policy over `proposals`, by PPO's clipped objective (Schulman et al.
            2017) as in DanZero+ (Zhao et al. 2023); players draw from it in self-play and choose the most likely when
            they play for good. It needs the critic.
        proposals: Choices that the policy is over: those of the highest logits. More of them cost memory and time.
        ratio_clip: Epsilon of PPO's objective, see `learners.policy_gradient.settings.PolicyTrainingSettings`.
        value_weight: Weight of the critic's squared error in the loss of a policy.
        entropy: Weight of the policy's entropy in the loss, where advantages have a root mean square of 1.
        entropy_end: At the end of the schedule; None: the same.
        learning_rate_end: At the end of the schedule; None: the same.
        schedule: Fits over which entropy and learning rate go to their values at the end, geometrically.
        bf16: Run the network in bfloat16 (autocast), for GPUs; the weights stay float32.
    """

    anneal: ClassVar[bool] = False
    warm_start: ClassVar[bool] = True

    batch: int = Field(32_768, ge=2)
    minibatches: int = Field(1, ge=1)
    optimiser: Optimiser = "rmsprop"
    learning_rate: float = Field(1e-3, gt=0, le=1)
    epsilon: float = Field(1e-5, gt=0, le=1)
    clip: float | None = Field(None, gt=0)
    staleness: float | None = Field(0.65, gt=0)
    staleness_floor: float = Field(1.0, ge=0)
    max_age: int | None = Field(None, ge=1)
    weight_average: float = Field(0.0, ge=0, le=1000)
    critic: Literal["none", "all"] = "none"
    win_bonus: float = Field(0.0, ge=0, le=1000)
    trace: float = Field(0.9, ge=0, le=1)
    critic_width: int = Field(256, ge=1, le=8192)
    critic_depth: int = Field(2, ge=1, le=32)
    objective: Literal["values", "policy"] = "values"
    proposals: int = Field(16, ge=2, le=255)
    ratio_clip: float = Field(0.2, gt=0, le=1)
    value_weight: float = Field(0.25, gt=0)
    entropy: float = Field(0.02, ge=0)
    entropy_end: float | None = Field(None, ge=0)
    learning_rate_end: float | None = Field(None, gt=0, le=1)
    schedule: int = Field(1000, ge=1)
    bf16: bool = False

    @model_validator(mode="after")
    def _check_objective(self) -> Self:
        if self.objective == "policy" and self.critic == "none":
            raise ValueError("objective=policy needs critic=all, whose advantages the policy is trained by")
        if self.entropy_end is not None and (self.entropy == 0) != (self.entropy_end == 0):
            raise ValueError(
                "entropy and entropy_end must both be positive, as a geometric schedule runs from one to the other, "
                f"got {self.entropy:g} and {self.entropy_end:g}"
            )
        return self

    def at(self, name: Literal["learning_rate", "entropy"], iteration: int) -> float:
        """Value of a scheduled setting in an iteration, counted from 1."""
        return scheduled(getattr(self, name), getattr(self, f"{name}_end"), iteration, self.schedule)
