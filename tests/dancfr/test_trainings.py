"""Trainings in parallel say in one line why they could not begin or end."""

import pytest

from dancfr.errors import RunError, UsageError
from dancfr.methods.options import TrainOptions
from dancfr.trainings import in_parallel


class Trainer:
    """Stands for a training: tells its device and doubles a number above zero."""

    def __init__(self, device: str) -> None:
        self.device = device

    def train(self, number: int) -> tuple[tuple[str, int], None]:
        if number < 1:
            raise ValueError("too small")
        return (self.device, 2 * number), None


def broken(device: str) -> Trainer:
    raise OSError("no room")


def test_results_come_in_the_order_of_the_tasks() -> None:
    found = in_parallel(Trainer, Trainer.train, [(1,), (2,)], 2, TrainOptions(inline=True))
    assert list(found) == [("cpu", 2), ("cpu", 4)]


def test_a_training_that_fails_is_named() -> None:
    with pytest.raises(RunError, match=r"^a training failed: chunk 0 of train: 0 failed once, last: ValueError: too"):
        list(in_parallel(Trainer, Trainer.train, [(0,)], 1, TrainOptions(inline=True)))


def test_a_worker_that_cannot_start_is_one_line() -> None:
    with pytest.raises(RunError, match=r"^worker cannot be started: OSError: no room$"):
        list(in_parallel(broken, Trainer.train, [(1,)], 1, TrainOptions(inline=True)))


def test_no_training_takes_the_cpu_in_place_of_a_missing_gpu() -> None:
    with pytest.raises(UsageError, match="no GPU for --device cuda: add a machine that has one, or use --device cpu"):
        list(in_parallel(Trainer, Trainer.train, [(1,)], 1, TrainOptions(inline=True, device="cuda")))
