"""The counters of a run in Ray: a run that loses actors and returns to a checkpoint keeps them, and its totals."""

from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from actors.counters import Counters
from actors.learning import LearnerServer
from actors.runtime import WorkerDied
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions


def test_a_recovery_keeps_the_counters_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit, lost = LearnerServer.fit, list[int]()
    fed = list[tuple[Counters, int]]()

    @wraps(fit)
    def fail_once(server: LearnerServer, player: int, iteration: int, *more: Any, **options: Any) -> Any:
        if iteration == 2 and not lost:
            lost.append(iteration)
            raise WorkerDied("learner died")
        return fit(server, player, iteration, *more, **options)

    monkeypatch.setattr(LearnerServer, "fit", fail_once)
    monkeypatch.setattr(Counters, "feed", lambda counters, row: fed.append((counters, row["iteration"])))
    settings = ("game=kuhn", "iterations=3", "games=64", "chunk=64", "checkpoint_every=1", "evaluation.every=0")
    options = TrainOptions(inline=True, progress=False)
    train(TrainRequest("leduc-policy-gradient", settings, tmp_path / "run", "off", options))
    assert lost, "the fit is called by this name"
    assert sorted({iteration for _, iteration in fed}) == [1, 2, 3]
    assert len({id(counters) for counters, _ in fed}) == 1
