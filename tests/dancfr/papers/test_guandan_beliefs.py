"""The study of beliefs about the hands of GuanDan: its two commands."""

import json
from pathlib import Path

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.papers.guandan_beliefs import main, ratio
from learners.storage import save_state


def test_a_belief_is_trained_and_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, bots = tmp_path / "hands.safetensors", ["agent=planner", "against=greedy"]
    main(["train", str(file), *bots, "rounds=60", "seat_width=16", "width=16"])
    main(["measure", str(file), *bots, "rounds=30"])
    first = json.loads(capsys.readouterr().out)
    main(["measure", str(file), *bots, "rounds=30"])
    assert json.loads(capsys.readouterr().out) == first
    groups = first["groups"]
    assert sum(each["positions"] for name, each in groups.items() if name != "all") == groups["all"]["positions"]
    assert groups["0-7"]["cards"] > 70 > groups["32-47"]["cards"]
    for name in ("uniform", "tributes", "learned"):
        value, low, high = groups["all"][name]["loss"]
        assert low < value < high
        assert 0.3 < groups["all"][name]["right"][0] < 0.6
    assert len(first["reliability"]) == 10
    assert "values" not in first  # a bot has no critic
    main(["costs", str(file)])
    times = json.loads(capsys.readouterr().out)
    assert set(times) == {"evidence", "net", "chances", "deal"}
    assert 0 < min(times.values()) <= max(times.values()) < 100_000


def test_the_values_of_an_agent_with_a_critic_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hands.safetensors"
    main(["train", str(file), "agent=planner", "against=planner", "rounds=10", "seat_width=8", "width=8"])
    main(["measure", str(file), "rounds=10", "value_rows=40"])
    values = json.loads(capsys.readouterr().out)["values"]
    assert set(values) == {"true", "uniform", "tributes", "learned"}
    assert values["true"]["from_true"][0] == 0 < values["uniform"]["from_true"][0]
    assert values["uniform"]["beyond_uniform"][0] == 0
    difference = values["true"]["from_return"][0] - values["uniform"]["from_return"][0]
    assert values["true"]["beyond_uniform"][0] == pytest.approx(difference, abs=1e-3)


def test_an_interval_counts_rounds_and_not_positions() -> None:
    rng = np.random.default_rng(0)
    below, rounds = np.ones(4000), np.repeat(np.arange(40), 100)
    same = np.repeat(rng.normal(size=40), 100)
    value, low, high = ratio(same, below, rounds)
    assert value == pytest.approx(same.mean(), abs=1e-4)
    assert high - low == pytest.approx(2 * 1.96 * same[::100].std(ddof=1) / np.sqrt(40), rel=0.01)


def test_an_interval_of_one_round_is_refused() -> None:
    with pytest.raises(UsageError, match="at least two rounds"):
        ratio(np.ones(3), np.ones(3), np.full(3, 4))


def test_a_state_of_another_kind_is_refused(tmp_path: Path) -> None:
    save_state(tmp_path / "other", {"seat": np.zeros(2)}, {})
    with pytest.raises(UsageError, match="have a layer seat, but these do not; name a file that train has written"):
        main(["measure", str(tmp_path / "other")])


def test_progress_ends_at_the_number_of_rounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bots = ["agent=greedy", "against=greedy"]
    main(["train", str(tmp_path / "hands"), *bots, "rounds=12", "seat_width=8", "width=8"])
    assert capsys.readouterr().err.startswith("12 rounds, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "measure FILE or costs FILE"),
        (["play", "x"], "measure FILE or costs FILE"),
        (["train", "x", "round=3"], "rounds"),
        (["train", "x", "rounds=0"], "greater than or equal to 1"),
        (["train", "x", "seed=-1"], "seed"),
        (["train", "/no/such/folder/x"], "the folder /no/such/folder does not exist: make it first"),
        (["train", "x", "agent=greedy", "against=greedy", "rounds=1"], "a minibatch takes 256: raise rounds or kept"),
        (["measure", "/no/such/file"], "train a belief first"),
        (["measure", "README.md"], "README.md is damaged: .*; name a file that train has written"),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        main(arguments)
