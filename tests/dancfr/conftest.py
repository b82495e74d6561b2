"""The common fixtures of tests of the program: commands in this process, trained runs, and records written by hand."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dancfr.cli import main
from dancfr.evaluation.lengths import evaluated_as
from dancfr.evaluation.server import EvaluationServer
from dancfr.methods import find_preset
from dancfr.methods.dmc.config import DmcConfig
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.listed_agent import ListedPolicies
from dancfr.methods.options import TrainOptions
from dancfr.runs.run import Run
from envs.guandan import GuanDan
from tests.dancfr.outcomes import Command, Outcome
from tests.dancfr.records import DMC_NETWORK, dmc_row, q_weights


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        code = ended.value.code
        assert isinstance(code, int)
        return Outcome(code, *capfd.readouterr())

    return run


@pytest.fixture
def solved(command: Command) -> Callable[..., dict[str, Any]]:
    """The output of `dancfr solve ... --json`."""

    def run(*arguments: str) -> dict[str, Any]:
        outcome = command("solve", *arguments, "--json")
        assert outcome.code == 0, outcome.err
        (line,) = outcome.out.splitlines()
        found: dict[str, Any] = json.loads(line)
        return found

    return run


@pytest.fixture(scope="module")
def strategy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A strategy of Kuhn poker."""
    path = tmp_path_factory.mktemp("strategies") / "kuhn.safetensors"
    with pytest.raises(SystemExit) as ended:
        main(["solve", "kuhn", "--iterations", "100", "--out", str(path)])
    assert ended.value.code == 0
    return path


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
def mini_history_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Mini Geister of 4 iterations, two a player, that observes the history of ghosts."""
    path = tmp_path_factory.mktemp("runs") / "mini-history"
    options = TrainOptions(inline=True, progress=False)
    train(TrainRequest("mini-geister-dream", (*SMALL, "game_options.history=true"), path, "off", options))
    return path


@pytest.fixture(scope="session")
def dmc_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Deep Monte-Carlo on GuanDan with small fresh nets, stored at iterations 2 and 4, and its record."""
    config = DmcConfig(network=DMC_NETWORK, iterations=4)
    path = tmp_path_factory.mktemp("runs") / "danzero"
    with Run.create(path, "guandan-dmc-quick", "dmc", config) as run:
        server = EvaluationServer(
            ListedPolicies(GuanDan(), config), evaluated_as(GuanDan()), config.evaluation.opponents
        )
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
        base = find_preset(preset).config.model_dump() | {"seed": seed} | changes
        with Run.create(tmp_path / name, preset, "dream", DreamConfig.model_validate(base)) as run:
            for row in rows:
                run.append_metrics(row)
        return tmp_path / name

    return write
