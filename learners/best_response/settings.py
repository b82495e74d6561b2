"""Settings of a trained best response that the driver, the workers, the learner and the agent share."""

from pydantic import Field

from envs.game import GameSpec
from learners.networks.settings import NetworkSettings
from learners.settings import Settings, TrainingSettings


class ResponseSettings(Settings):
    """How a best response is learnt; a player's net, games and samples are apart from the other's.

    Attributes:
        network: The Q-nets.
        training: How they are fitted. The weights that play are a running average, since what is wanted in the end is
            one greedy policy, and single steps leave noise in it.
        rows: Decisions of an iteration, for each player, roughly.
        chunk: Decisions of a chunk of games, roughly: what a worker plays at a time.
        buffer: Newest decisions that fits draw from, for each player.
        explore: Share of random moves in the game of a chunk that explores most.
        explore_least: Share in the one that explores least; between the two it falls by equal factors.
        warm_up: Iterations whose targets are plain returns, see `actors.best_response`.
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
    """The settings for a game: outputs by kind of move where it has such, as DREAM's quick presets have them."""
    outputs = "move" if "move" in spec.slots else next(iter(spec.slots))
    return ResponseSettings(network=NetworkSettings(outputs=outputs))
