"""Settings of Deep Monte-Carlo (paper 004) that the command line, the actors, the learner and the agent share."""

from typing import ClassVar, Literal

from pydantic import Field

from envs.game import GameSpec
from learners.settings import Optimiser, Settings


class QNetworkSettings(Settings):
    """Description of a Q-network: of a state and one action to one value (paper 004, IV-A).

    Attributes:
        width: Units of each hidden layer.
        depth: Number of hidden layers. The first reads state and action side by side.
        activation: Of the hidden layers.
        encoding: How the network reads a state, one of the game's encodings; None takes the game's first.
    """

    width: int = Field(512, ge=1, le=8192)
    depth: int = Field(5, ge=1, le=32)
    activation: Literal["tanh", "relu"] = "tanh"
    encoding: str | None = None

    def encoding_of(self, spec: GameSpec) -> str:
        """Key of `GameSpec.shapes` that this network reads."""
        return next(iter(spec.shapes)) if self.encoding is None else self.encoding

    def inputs(self, spec: GameSpec) -> tuple[int, int]:
        """Features of a state and of an action, `F` and `A`."""
        return spec.shapes[self.encoding_of(spec)][0], spec.action_features

    def check(self, spec: GameSpec) -> None:
        """Raises ValueError where the game lacks what this network needs."""
        if spec.action_features <= 0:
            raise ValueError(f"game {spec.name} has no vectors of actions, which a Q-network reads")
        flat = [name for name, shape in spec.shapes.items() if len(shape) == 1]
        if self.encoding_of(spec) not in flat:
            raise ValueError(
                f"game {spec.name} has no flat encoding {self.encoding_of(spec)}: set network.encoding to "
                f"{' or '.join(flat) or 'one that is flat'}"
            )


class DmcTrainingSettings(Settings):
    """How a Q-network is fitted to Monte-Carlo returns (paper 004, IV-B).

    Attributes:
        batch: Rows of a minibatch.
        minibatches: Minibatches of a fit, that is of an iteration: the weights go to the actors after each fit.
        optimiser: What makes updates from gradients.
        learning_rate: Of the optimiser.
        epsilon: Of the optimiser, what is added to the root mean square of a gradient that it divides by.
        clip: Bound on the gradient's norm; None leaves it as it is.
        staleness: Lambda: a sample whose value has moved away from what its actor saw by more than this share of it
            has no gradient (paper 004, eq. 1 and 2); None trains on all samples.
        staleness_floor: The share is taken of the actor's value or of this, whichever is larger, in units of the
            return. 1 is the smallest return that a round of GuanDan has: values nearer to 0 than that are undecided,
            and a share of them says nothing. With 0, as in the paper, a fresh net, of which all values are close to 0,
            has hardly a sample left after its first updates.
        max_age: K: rows played by weights that were sent more than K iterations ago are not trained on, and counted;
            None trains on whatever the pool holds.
        weight_average: Play by a running average of the weights over minibatches: the n-th minibatch weighs n to this
            power. 0 plays by the weights as they are.
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
    bf16: bool = False
