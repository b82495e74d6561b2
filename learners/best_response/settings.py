"""Settings of a trained best response that the driver, the workers, the learner and the agent share."""

from pydantic import Field

from envs.game import GameSpec
from learners.networks.settings import NetworkSettings
from learners.settings import Settings, TrainingSettings


class ResponseSettings(Settings):
    """Settings of a best response. Each player has a net, games and samples of its own.

    Attributes:
        network: The Q-nets.
        training: Settings of the fit. The weights that play are a running average, which removes the noise of single
            steps from the greedy policy.
        rows: Approximate number of decisions in an iteration, for each player.
        chunk: Approximate number of decisions in a chunk of games, which a worker plays at a time.
        buffer: Number of newest decisions that fits draw from, for each player.
        explore: Share of random moves in the game of a chunk that explores most.
        explore_least: Share of random moves in the game that explores least; the shares form a geometric sequence.
        warm_up: Number of first iterations whose targets are plain returns, see `actors.best_response`.
    """

    network: NetworkSettings = NetworkSettings()
    training: TrainingSettings = TrainingSettings(batch=512, minibatches=64, weight_average=10.0, clip=10.0)
    rows: int = Field(16_384, ge=2)
    chunk: int = Field(4096, ge=1)
    buffer: int = Field(262_144, ge=2)
    explore: float = Field(0.5, gt=0, le=1)
    explore_least: float = Field(0.005, gt=0, le=1)
    warm_up: int = Field(4, ge=1)


def settings_for(spec: GameSpec) -> ResponseSettings:
    """Default settings for a game; the outputs are those of DREAM's quick presets."""
    outputs = "move" if "move" in spec.slots else next(iter(spec.slots))
    return ResponseSettings(network=NetworkSettings(outputs=outputs))
