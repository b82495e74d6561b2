"""Tests of the driver for CFR on Cheat: resuming within its curriculum, agents, refusals."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.methods import find_preset
from dancfr.methods.cheat_cfr.config import CheatCfrConfig
from dancfr.methods.dream.config import DreamConfig
from tests.dancfr.methods.table_runs import configured, rows, run_preset, stored, with_strategy
from tests.dancfr.outcomes import Command, refused

TINY = ("evaluation.every=3", "evaluation.games=20", "checkpoint_every=2")
GROWING = ("curriculum.option=health", "curriculum.values=1,2", "curriculum.iterations=2")


def tiny(*overrides: str, preset: str = "cheat-general") -> Any:
    return configured(preset, *TINY, *overrides)


def run_training(path: Path, config: Any, *, inline: bool = True, resume: bool = False) -> dict[str, Any]:
    preset = "cheat-dream-4x2" if isinstance(config, DreamConfig) else "cheat-general"
    return run_preset(path, preset, config, inline=inline, resume=resume)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six iterations, inline and without interruption: two each on Cheat-1, Cheat-2 and Cheat-3."""
    path = tmp_path_factory.mktemp("runs") / "reference"
    result = run_training(path, tiny("iterations=6", *GROWING))
    assert result["iterations"] == 6
    assert set(result["metrics"]) == {f"{p}/{o}" for p in ("average", "last") for o in ("random", "heuristic")}
    return path


def test_the_record_says_what_was_played_and_met(reference: Path) -> None:
    trained = [row for row in rows(reference) if row["kind"] == "train"]
    assert [row["cfr/health"] for row in trained] == [1, 1, 2, 2, 3, 3]
    assert [row["cfr/visited"] <= row["cfr/infosets"] for row in trained] == [True] * 6
    assert trained[1]["cfr/infosets"] <= 72 < trained[3]["cfr/infosets"] <= 1180 < trained[5]["cfr/infosets"]
    assert trained[5]["samples/nodes"] == sum(row["cfr/nodes"] for row in trained)
    assert list(stored(reference)) == [f"p0-{t:06d}.safetensors" for t in (2, 4, 6)]


@pytest.mark.parametrize("at", [2, 3])
def test_a_resumed_run_gives_the_strategies_of_one_that_was_not_stopped(
    reference: Path, tmp_path: Path, at: int
) -> None:
    """Stops between two stages, and within the second one."""
    path = tmp_path / "resumed"
    run_training(path, tiny(f"iterations={at}", *GROWING))
    run_training(path, tiny("iterations=6", *GROWING), resume=True)
    assert stored(path) == stored(reference)
    assert [r for r in rows(path) if r["kind"] == "train"] == [r for r in rows(reference) if r["kind"] == "train"]


def test_the_run_plays_as_an_agent(reference: Path, command: Command) -> None:
    match = ("--game", "mini-cheat", "--games", "4000", "--seed", "1", "--json")
    found = {}
    for name in ("", "@4", "?average=last"):
        outcome = command("evaluate", f"{reference}{name}", "--against", "random", *match)
        assert outcome.code == 0, outcome.err
        found[name] = json.loads(outcome.out)["win_rate"]
    assert 0.5 < found[""] < 1
    assert len(set(found.values())) == 3
    exact = command("evaluate", str(reference), "--game", "mini-cheat", "--exploitability", "--games", "2", "--json")
    assert exact.code == 0, exact.err
    assert 0 < json.loads(exact.out)["nash_conv"] < 2
    for name, said in (
        ("?average=sampled", "there are: exact, last"),
        ("?threshold=0.5", "no option named 'threshold'"),
    ):
        assert said in refused(command("evaluate", f"{reference}{name}", "--against", "random", *match))
    rules = command("evaluate", str(reference), "--game", "mini-cheat", "--option", "dealt=1", "--against", "random")
    assert "made for other rules of mini-cheat: dealt=2, but this game has dealt=1" in refused(rules)
    longer = command("evaluate", str(reference), "--option", "health=9", "--against", "random", *match)
    assert longer.code == 0, longer.err


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("agent=memoryless", "turns=3"), "turns=3 .* agent=memoryless"),
        (("game=leduc",), "cheat or mini-cheat .*leduc"),
        (("curriculum.values=1,2",), "curriculum.values requires curriculum.option"),
        (("curriculum.option=health",), "curriculum.option requires curriculum.values"),
        (("curriculum.option=ranks", "curriculum.values=2"), "curriculum.option .*health.* ranks"),
        (("curriculum.option=health", "curriculum.values=2,1"), "curriculum.values: health .* 2, 1, 3"),
        (("curriculum.option=health", "curriculum.values=4"), "curriculum.values: health .* 4, 3"),
        (("game_options.players=3", "game_options.dealt=1"), "Cheat for 2 players"),
        (("game_options.discards=cards",), "discards=sets"),
        (("game_options.health=0", "game_options.ply_limit=9"), "health of at least 1 and ply_limit=0"),
        (("game_options.health=12",), "choose less health or a smaller deck"),
        (("game_options.health=10000",), "choose less health or a smaller deck"),
        (("game=cheat", "game_options.discards=sets", "agent=memoryless"), "choose less health or a smaller deck"),
        (("turns=40",), "turns must be from 0 to 31, got 40"),
        (("evaluation.opponents=rush",), "rush"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        tiny(*overrides)
    assert "\n" not in str(caught.value)


def test_more_turns_than_a_key_holds_end_the_run_in_a_line(command: Command, tmp_path: Path) -> None:
    deck = {"ranks": 2, "copies": 1, "dealt": 1, "discards": "sets", "max_discard": 2, "health": 20}
    options = [f"game_options.{name}={value}" for name, value in deck.items()]
    words = ("train", "cheat-history-aware", "--inline", "game=cheat", *options, "iterations=2", "evaluation.every=0")
    found = command(*words, "--run-dir", str(tmp_path / "run"))
    assert found.code == 2
    assert "set turns to the number of past turns" in found.err.splitlines()[-1]
    assert "Traceback" not in found.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy.average": np.zeros(3)}, "do not fit each other"),
        ({"keys": np.zeros((2, 2))}, "other types"),
        ({"nets": np.zeros(1)}, "strategy of Cheat"),
        ({"counts": lambda counts: counts[:-1]}, "do not fit each other"),
        ({}, "number of health points"),
        ({"policy.last": lambda policy: policy + 0.5}, "policy last"),
    ],
)
def test_a_strategy_that_is_none_is_refused(
    reference: Path, tmp_path: Path, command: Command, change: dict[str, Any], message: str
) -> None:
    run = str(with_strategy(reference, tmp_path, change, **({} if change else {"health": "three"})))
    outcome = command("evaluate", run, "--game", "mini-cheat", "--against", "random", "--games", "2")
    assert re.search(message, refused(outcome))


def test_a_strategy_that_a_killed_run_did_not_store_comes_back_with_its_checkpoint(tmp_path: Path) -> None:
    config = tiny("iterations=2")
    run_training(tmp_path / "run", config)
    before = stored(tmp_path / "run")
    (tmp_path / "run" / "strategies" / "p0-000002.safetensors").unlink()
    run_training(tmp_path / "run", config, resume=True)
    assert stored(tmp_path / "run") == before


def test_a_curriculum_that_never_ends_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_training(tmp_path / "run", tiny("iterations=4", *GROWING))
    assert "the curriculum takes all iterations" in capfd.readouterr().err


NETS = (
    "traversals=16", "chunk=8", "reservoir=3000", "circular=3000", "advantage_training.minibatches=3",
    "advantage_training.batch=32", "baseline_training.minibatches=2", "baseline_training.batch=32",
    "network.width=16", "baseline_network.width=16", "minutes=none", "evaluation.average=exact",
)  # fmt: skip


class TestDream:
    def test_a_curriculum_goes_on_to_the_next_game(self, tmp_path: Path) -> None:
        """Inline and Ray runs have equal nets; on Ray, each stage replaces the workers."""
        stages = ("game_options.observation_health=3", "curriculum.option=health", "curriculum.values=1,2")
        config = tiny(*NETS, *stages, "curriculum.iterations=2", "iterations=6", preset="cheat-dream-4x2")
        run_training(tmp_path / "inline", config)
        run_training(tmp_path / "ray", config, inline=False)
        assert stored(tmp_path / "inline") == stored(tmp_path / "ray")
        plies = [row["traversal/mean_plies"] for row in rows(tmp_path / "inline") if row["kind"] == "train"]
        assert len(plies) == 6
        assert max(plies[:2]) < min(plies[4:]), "games of one health point are shorter than those of three"

    def test_games_of_a_curriculum_must_look_alike(self) -> None:
        with pytest.raises(UsageError, match=r"curriculum.values: .* different actions or infostates"):
            tiny("curriculum.option=ranks", "curriculum.values=3", preset="cheat-dream-4x2")

    def test_three_players_train_without_a_baseline(self, tmp_path: Path) -> None:
        three = ("game_options.players=3", "game_options.dealt=2")
        with pytest.raises(UsageError, match="set baseline=false, policy_net=false and sampling"):
            tiny(*NETS, *three, preset="cheat-dream-4x2")
        config = tiny(*NETS, *three, "baseline=false", "iterations=7", preset="cheat-dream-4x2")
        assert [config.updated_players(t) for t in (1, 2, 3, 4)] == [(0,), (1,), (2,), (0,)]
        assert [config.own_count(t) for t in (1, 3, 4, 7)] == [1, 1, 2, 3]
        result = run_training(tmp_path / "three", config)
        assert sorted(stored(tmp_path / "three"))[::2][0] == "p0-000001.safetensors"
        assert {name[:2] for name in stored(tmp_path / "three")} == {"p0", "p1", "p2"}
        assert 0 < result["metrics"]["average/random"] < 1, "each wins some"
        run_training(tmp_path / "cut", tiny(*NETS, *three, "baseline=false", "iterations=4", preset="cheat-dream-4x2"))
        run_training(tmp_path / "cut", config, resume=True)
        assert stored(tmp_path / "cut") == stored(tmp_path / "three")


def test_the_presets_of_paper_001_are_its_four_agents() -> None:
    for name in ("memoryless", "hp-aware", "history-aware", "general"):
        config = find_preset(f"cheat-{name}").config
        assert isinstance(config, CheatCfrConfig)
        assert (config.agent, config.iterations, config.cards, config.turns) == (name, 100, False, 0)
