"""Compiles the kernels of Geister before the tests, so that compilation takes no time from a clock."""

from pathlib import Path

import pytest
import torch

from dancfr.games.registry import make_game
from dancfr.methods import find_preset
from dancfr.methods.dream.config import DreamConfig
from dancfr.runs.run import Run
from dancfr.serve.geister.commands import warm_up
from learners.networks.modules import ValueNet
from tests.dancfr.serve.geister.games import RULES, bot


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    warm_up([(bot(name), RULES) for name in ("random", "rush")])


@pytest.fixture(scope="session")
def dream_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `geister-quick` with fresh nets, two a player."""
    path = tmp_path_factory.mktemp("runs") / "fresh"
    config = find_preset("geister-quick").config
    assert isinstance(config, DreamConfig)
    game = make_game(config.game, **config.game_options)
    torch.manual_seed(7)
    with Run.create(path, "geister-quick", "dream", config) as run:
        for iteration in (1, 2):
            for player in config.updated_players(iteration):
                weights = ValueNet(config.network, game.spec).inference_weights()
                run.save_strategy(player, iteration, weights, {"count": iteration})
    return path
