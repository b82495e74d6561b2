"""Runs for the tests of evaluation: one really trained, for a second, and records written by hand."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dancfr.evaluation.worker import QEvaluationServer
from dancfr.experiments.config import DreamConfig
from dancfr.experiments.dmc_config import DmcConfig
from dancfr.launch import TrainRequest, train
from dancfr.options import TrainOptions
from dancfr.presets import PRESETS
from dancfr.runs import Run
from envs.guandan import GuanDan
from tests.dancfr.evaluation.records import DMC_NETWORK, dmc_row, q_weights

SMALL = (
    "iterations=4",
    "traversals=32",
    "advantage_training.batch=64",
    "advantage_training.minibatches=5",
    "baseline_training.batch=64",
    "baseline_training.minibatches=5",
    "reservoir=2000",
    "circular=2000",
    "average_power=1",
    "average_threshold=0",
    "evaluation.every=2",
    "evaluation.games=20",
    "evaluation.opponents=[random]",
)


@pytest.fixture(scope="session")
def mini_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Mini Geister of 4 iterations, two a player."""
    path = tmp_path_factory.mktemp("runs") / "mini"
    options = TrainOptions(inline=True, progress=False)
    train(TrainRequest("mini-geister-dream", SMALL, path, "off", options))
    return path


@pytest.fixture(scope="session")
def dmc_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Deep Monte-Carlo on GuanDan with small fresh nets, stored at iterations 2 and 4, and its record."""
    config = DmcConfig(network=DMC_NETWORK, iterations=4)
    path = tmp_path_factory.mktemp("runs") / "danzero"
    with Run.create(path, "guandan-quick", "dmc", config) as run:
        server = QEvaluationServer(GuanDan(), config.network, config.evaluation.opponents)
        for iteration in range(1, 5):
            run.append_metrics(dmc_row(iteration))
            if iteration % 2 == 0:
                weights = q_weights(iteration)
                run.save_strategy(0, iteration, weights, {"version": iteration})
                server.add(iteration, weights)
                for row in server.evaluate(iteration, 8, (1, iteration)):
                    run.append_metrics(row | {"elapsed_s": 3.0 * iteration})
    return path


WriteRun = Callable[..., Path]


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Writes a run folder with a given record."""

    def write(
        name: str, rows: Sequence[dict[str, Any]], seed: int = 1, preset: str = "geister-quick", **changes: Any
    ) -> Path:
        base = PRESETS[preset].config.model_dump() | {"seed": seed} | changes
        with Run.create(tmp_path / name, preset, "dream", DreamConfig.model_validate(base)) as run:
            for row in rows:
                run.append_metrics(row)
        return tmp_path / name

    return write
