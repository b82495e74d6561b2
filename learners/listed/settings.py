"""Settings of nets over listed actions and of their fits, which the command line, actors, learners and agents share."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from envs.capabilities import Candidates
from envs.game import GameSpec, ListedGame, Ragged, States
from envs.ragged import find_rows
from learners.settings import Optimiser, Settings

Outputs = Literal["returns", "advantages", "logits"]
"""The meaning of a net's outputs: returns, advantages (differences from the value of the state), or logits."""


class QNetworkSettings(Settings):
    """Settings of a Q-network, which maps a state and an action to a value (paper 004, IV-A).

    Attributes:
        width: Units of each hidden layer.
        depth: Number of hidden layers of each action. The input of the first is the concatenation of state and action.
        tower: Number of further hidden layers before these, which see the state alone and are computed once for all its
            actions.
        tower_width: Units of each layer of the tower.
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

    def list_choices(self, game: ListedGame, states: States) -> Ragged:
        """Lists the choices that have values."""
        if self.choices == "candidates" and isinstance(game, Candidates):
            return game.candidates(states)
        return game.choices(states)

    def stand_ins(self, game: ListedGame, lists: Ragged, actions: NDArray[np.void]) -> NDArray[np.int64]:
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


class ListedTrainingSettings(Settings):
    """Settings of the fits of a Q-network that all methods with listed actions have.

    Attributes:
        batch: Rows per minibatch.
        minibatches: Minibatches per fit. An iteration has one fit, after which the weights are sent to the actors.
        optimiser: ``adam``; ``rmsprop``, as torch computes it; or ``rmsprop_tf``, as TensorFlow 1 does, see
            `learners.optimisers`.
        learning_rate: Learning rate of the optimiser.
        epsilon: Term that the optimiser adds to the root mean square of a gradient before it divides by it; with
            ``rmsprop_tf``, to the mean square.
        clip: Maximum norm of the gradient; None does not clip it.
        max_age: K: rows that were played by the weights of more than K fits before are counted but not trained on. The
            newest rows are one fit old, or two with `overlap`. None trains on all rows of the pool.
        weight_average: Exponent of a running average of the weights, which the actors play by. The n-th minibatch has a
            weight of n to this power. 0 uses the latest weights.
        win_bonus: Points added to a positive return and subtracted from a negative one; with 0, three wins by one
            point are as good as one by three. A round of GuanDan that is won at level A while the partner is last
            returns 0, and has no bonus. A search of the agent counts them, too.
        trace: Lambda of the estimates of advantages by the critic's values; 1 subtracts its value from the return.
        critic_width: Units of each hidden layer of the critic.
        critic_depth: Number of hidden layers of the critic.
        bf16: Run the network in bfloat16 (autocast), for GPUs and for CPUs with instructions for it; the weights stay
            float32.
    """

    anneal: ClassVar[bool] = False
    warm_start: ClassVar[bool] = True
    keep_moments: ClassVar[bool] = True

    batch: int = Field(32_768, ge=2)
    minibatches: int = Field(1, ge=1)
    optimiser: Optimiser = "rmsprop"
    learning_rate: float = Field(1e-3, gt=0, le=1)
    epsilon: float = Field(1e-5, gt=0, le=1)
    clip: float | None = Field(None, gt=0)
    max_age: int | None = Field(None, ge=1)
    weight_average: float = Field(0.0, ge=0, le=1000)
    win_bonus: float = Field(0.0, ge=0, le=1000)
    trace: float = Field(0.9, ge=0, le=1)
    critic_width: int = Field(256, ge=1, le=8192)
    critic_depth: int = Field(2, ge=1, le=32)
    bf16: bool = False
