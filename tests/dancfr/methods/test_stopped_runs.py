"""A run that is stopped before its first evaluation is an agent, and continues as if it had not been stopped."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.games.registry import make_game
from dancfr.runs.run import Run
from learners.storage import load_state
from tests.dancfr.methods import listed_runs
from tests.dancfr.methods.table_runs import configured, run_preset

KUHN = ("game=kuhn", "minutes=none", "games=16", "iterations=300")
EVALUATED = ("evaluation.every=300", "evaluation.games=2", "evaluation.opponents=random")


def stop_at(path: Path, iteration: int) -> None:
    """Sends this process SIGTERM once the run has the row of an iteration."""
    rows = path / "metrics.jsonl"
    while not rows.exists() or rows.read_bytes().count(b'"kind":"train"') < iteration:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(
    ("preset", "config"),
    [
        ("leduc-policy-gradient", configured("leduc-policy-gradient", *KUHN, *EVALUATED)),
        ("guandan-dmc-quick", listed_runs.tiny("guandan-dmc-quick", "iterations=40", "evaluation.every=40")),
    ],
)
def test_stopped_run_is_an_agent_and_continues_to_the_same_bytes(tmp_path: Path, preset: str, config: Any) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run_preset(whole, preset, config)
    stopper = threading.Thread(target=stop_at, args=(parts, 3))
    stopper.start()
    done = run_preset(parts, preset, config)["iterations"]
    stopper.join()
    assert 3 <= done < config.iterations
    assert [file.iteration for file in Run.open(parts).list_strategies()] == [done]
    game = make_game(config.game, **config.game_options)
    agent = make_agent(str(parts), game)
    states = game.reset(4, np.random.default_rng(1))
    agent.begin(game, 4, np.random.default_rng(2))
    assert len(agent.act(states, np.arange(4), np.random.default_rng(3))) == 4
    run_preset(parts, preset, config, resume=True)
    assert [file.iteration for file in Run.open(parts).list_strategies()] == [config.iterations]
    name = Path("strategies") / f"p0-{config.iterations:06d}.safetensors"
    (one, _), (other, _) = load_state(whole / name), load_state(parts / name)
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[key], other[key]) for key in one)
