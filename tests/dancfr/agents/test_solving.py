"""Tests of `dancfr solve` and `dancfr evaluate --exploitability`: results and refusals."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from dancfr.errors import UsageError
from dancfr.evaluation.exploitability import evaluate_exactly
from dancfr.games.registry import make_game
from learners.cfr.solver import ALGORITHMS
from learners.cfr.vector_solver import VARIANTS
from tests.dancfr.agents.acting import FirstAction
from tests.dancfr.outcomes import Command, refused

KEYS = {
    "game", "nodes", "infosets", "public_states", "value", "exploitability", "nash_conv", "iterations_per_second",
    "curve",
}  # fmt: skip


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_solves_kuhn_poker(solved: Callable[..., dict[str, Any]], algorithm: str) -> None:
    found = solved("kuhn", "--algorithm", algorithm, "--iterations", "20000", "--seed", "3")
    assert set(found) >= KEYS
    assert (found["game"], found["algorithm"], found["seed"]) == ("kuhn", algorithm, 3)
    assert (found["nodes"], found["infosets"], found["infosets_by_player"]) == (58, 6, [6, 6])
    assert found["public_states"] == 11
    assert found["sequences"] == [13, 13]
    points, values = zip(*found["curve"], strict=True)
    assert points == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)
    assert values[-1] == found["exploitability"] == found["nash_conv"] / 2
    assert found["normalised"]["exploitability"] == found["exploitability"] / 2
    assert sum(found["gains"]) == pytest.approx(found["nash_conv"], abs=1e-12)
    assert found["exploitability"] < (0.005 if algorithm in VARIANTS else 0.03)
    assert found["value"] == pytest.approx(-1 / 18, abs=2 * found["exploitability"])
    assert found["iterations"] == 20000
    assert found["iterations_per_second"] > 0
    assert found["nodes_touched"] > 0
    assert found["last_iterate"]["nash_conv"] == pytest.approx(2 * found["last_iterate"]["exploitability"])


def test_the_linear_program_finds_the_value(solved: Callable[..., dict[str, Any]]) -> None:
    found = solved("leduc", "--algorithm", "lp")
    assert set(found) >= KEYS
    assert found["value"] == pytest.approx(-0.0856064241)
    assert found["exploitability"] == pytest.approx(0, abs=1e-9)
    assert found["curve"] == []
    assert "last_iterate" not in found


def test_a_solution_is_told_to_people_too(command: Command) -> None:
    outcome = command("solve", "kuhn", "--iterations", "20", "--out", "kuhn.safetensors")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].startswith("kuhn: 58 nodes, 6 and 6 infosets, 11 public states; tree of ")
    assert lines[1].startswith("cfr+: 20 iterations, ")
    assert lines[3].startswith("exploitability 0.010109, NashConv 0.0202")
    assert lines[4] == "for comparison: uniform play has an exploitability of 0.4583"
    assert lines[5].startswith("last iterate: exploitability ")
    assert lines[6] == "kuhn.safetensors"
    assert outcome.err.splitlines()[-1] == "iteration 20: exploitability 0.010109"


def test_published_exploitabilities_of_leduc(solved: Callable[..., dict[str, Any]]) -> None:
    curve = dict(solved("leduc", "--iterations", "1000")["curve"])
    assert [float(f"{curve[t]:.4g}") for t in (10, 100, 1000)] == [0.6104, 0.01342, 0.0002516]


def test_options_of_the_algorithm_and_of_the_game(solved: Callable[..., dict[str, Any]]) -> None:
    plain = solved("kuhn", "--iterations", "50")
    both = solved("kuhn", "alternating=false", "--iterations", "50")
    assert both["settings"] == {"alternating": False}
    assert both["exploitability"] != plain["exploitability"]
    larger = solved("kuhn", "--option", "cards=5", "--iterations", "50")
    assert larger["game_options"] == {"cards": 5}
    assert larger["infosets"] == 10
    sampled = ("kuhn", "--algorithm", "vr-mccfr", "--iterations", "50")
    options = ("epsilon=0.3", "decay=0.2", "baseline=history", "linear=true", "floor=yes")
    chosen = {"epsilon": 0.3, "decay": 0.2, "baseline": "history", "linear": True, "floor": True}
    found = solved(*sampled, *options)
    assert found["settings"] == chosen
    assert found["exploitability"] != solved(*sampled)["exploitability"]


def test_the_seed_decides_what_is_sampled(solved: Callable[..., dict[str, Any]]) -> None:
    arguments = ("kuhn", "--algorithm", "external-sampling", "--iterations", "100", "--seed")
    first, again, other, huge = (solved(*arguments, seed)["curve"] for seed in ("1", "1", "2", str(2**70)))
    assert first == again
    assert first != other
    assert huge not in (first, other)


def test_games_of_openspiel_are_solved_as_ours(solved: Callable[..., dict[str, Any]], command: Command) -> None:
    ours = solved("leduc", "--iterations", "50")
    theirs = solved("openspiel:leduc_poker", "--iterations", "50", "--out", "leduc.safetensors")
    assert theirs["public_states"] is None
    assert theirs["nodes"] == ours["nodes"]
    np.testing.assert_allclose(theirs["curve"], ours["curve"], rtol=1e-9)
    arguments = ("--game", "openspiel:leduc_poker", "--games", "10", "--exploitability", "--json")
    told = json.loads(command("evaluate", "leduc.safetensors", *arguments).out)
    assert told["exploitability"] == pytest.approx(theirs["exploitability"], abs=1e-12)


def test_a_strategy_plays_as_it_was_found(solved: Callable[..., dict[str, Any]], command: Command) -> None:
    found = solved("leduc", "--option", "raises=1", "--iterations", "200", "--out", "leduc.safetensors")
    assert found["files"] == ["leduc.safetensors"]
    arguments = ("evaluate", "leduc.safetensors", "--game", "leduc", "--games", "4000", "--exploitability", "--json")
    outcome = command(*arguments)
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["game_options"] == {"raises": 1}, "those that the strategy was found under"
    for key in ("exploitability", "nash_conv", "value", "max_utility"):
        assert told[key] == pytest.approx(found[key], abs=1e-12)
    assert told["wins"] + told["draws"] + told["losses"] == 4000
    assert told["mean_return"] > 0.2
    text = command(*arguments[:-1]).out
    assert f"exploitability {found['exploitability']:.6g}" in text


def test_exploitability_of_a_uniform_player(command: Command) -> None:
    told = json.loads(
        command("evaluate", "random", "--game", "kuhn", "--games", "10", "--exploitability", "--json").out
    )
    assert told["nash_conv"] == pytest.approx(11 / 12)
    assert told["value"] == pytest.approx(1 / 8)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_warm_start_goes_on_from_a_strategy(
    solved: Callable[..., dict[str, Any]], strategy: Path, algorithm: str
) -> None:
    plain = ("kuhn", "--algorithm", algorithm, "--iterations", "1")
    cold = solved(*plain)
    warm = solved(*plain, "--warm-start", str(strategy), "--warm-weight", "1000")
    assert warm["curve"][0][0] == 1001
    assert warm["exploitability"] < 0.01 < cold["exploitability"]


@pytest.mark.parametrize("algorithm", ["cfr+", "lp", "mmd", "vr-mccfr"])
def test_a_game_that_is_always_a_draw_has_the_value_0(solved: Callable[..., dict[str, Any]], algorithm: str) -> None:
    short = ("mini-geister", "--option", "random_setup=false", "--option", "ply_limit=2", "--iterations", "2")
    found = solved(*short, "--algorithm", algorithm)
    assert (found["value"], found["exploitability"], found["max_utility"]) == (0, 0, 0)
    assert found["normalised"] == {"exploitability": 0, "nash_conv": 0}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("khun",), "no game named 'khun'; did you mean kuhn?"),
        (("kuhn", "--algorithm", "crf"), "no algorithm named 'crf'; did you mean cfr?"),
        (("kuhn", "epsilon=1"), "no option of cfr+ named 'epsilon'; there are: alternating"),
        (("kuhn", "alternating"), "'alternating' is not an option of cfr+"),
        (("kuhn", "alternating=maybe"), "option alternating of cfr+ expects true or false or none, got 'maybe'"),
        (("kuhn", "alternating=true", "alternating=true"), "option alternating of cfr+ is given twice"),
        (("kuhn", "--algorithm", "outcome-sampling", "epsilon=nan"), "epsilon must be more than 0 and at most 1"),
        (("kuhn", "--algorithm", "outcome-sampling", "epsilon=0"), "epsilon must be more than 0 and at most 1"),
        (("kuhn", "--algorithm", "vr-mccfr", "baseline=none"), "baseline must be one of infoset, history"),
        (("kuhn", "--algorithm", "vr-mccfr", "seed=3"), "no option of vr-mccfr named 'seed'"),
        (("kuhn", "--algorithm", "external-sampling", "epsilon=0.5"), "no option of external-sampling named 'epsilon'"),
        (("kuhn", "--algorithm", "chance-sampled", "epsilon=0.5"), "there are: alternating, floor, linear"),
        (("kuhn", "--algorithm", "outcome-sampling", "decay=0.1"), "there are: alternating, epsilon, floor, linear"),
        (("kuhn", "--algorithm", "outcome-sampling", "baseline=history"), "no option of outcome-sampling named 'base"),
        (
            ("kuhn", "--algorithm", "external-sampling", "alternating=no"),
            "only chance-sampled can update both together",
        ),
        (("kuhn", "--algorithm", "lp", "alternating=no"), "no option of lp named 'alternating'"),
        (("kuhn", "--option", "crads=4"), "no option of kuhn named 'crads'; did you mean cards?"),
        (("kuhn", "--option", "cards=1"), "kuhn: cards must be from 2 to 100"),
        (("kuhn", "--option", "cards=inf"), "option cards of kuhn expects an integer, got 'inf'"),
        (("kuhn", "--iterations", "0"), "--iterations must be at least 1"),
        (("kuhn", "--iterations", str(10**30)), "--iterations must be at most 1,000,000,000,000,000"),
        (("kuhn", "--seed", "-1"), "--seed must be at least 0"),
        (("kuhn", "--max-nodes", "0"), "--max-nodes must be at least 1, got 0"),
        (("kuhn", "--max-nodes", "57"), "kuhn has more nodes than the 57 allowed"),
        (("openspiel:leduc_poker", "--max-nodes", "100"), "openspiel:leduc_poker has more nodes than the 100 allowed"),
        (("geister",), "geister has no tree"),
        (("guandan",), "guandan has no tree"),
        (("pettingzoo:pettingzoo.classic.tictactoe_v3",), "has no tree"),
        (("openspiel:nope",), "OpenSpiel has no game 'nope'"),
        (("openspiel:matrix_pd",), "solvers need two players and returns with a constant sum, "),
        (("kuhn", "--warm-weight", "nan"), "--warm-weight must be more than 0 and at most 10,000,000"),
        (("kuhn", "--warm-weight", "0"), "--warm-weight must be more than 0"),
        (("kuhn", "--warm-weight", "inf"), "--warm-weight must be more than 0"),
        (("kuhn", "--warm-weight", "1e300"), "--warm-weight must be more than 0"),
        (("kuhn", "--warm-weight", "5"), "--warm-weight requires --warm-start"),
        (("kuhn", "--warm-start", "none.safetensors"), "none.safetensors does not exist"),
        (("kuhn", "--warm-start", "."), ". is not a file"),
        (("kuhn", "--algorithm", "lp", "--warm-start", "x.safetensors"), "leave out --warm-start"),
        (("kuhn", "--out", "nowhere/x.safetensors"), "folder nowhere does not exist"),
        (("kuhn", "--out", "x.npz"), "must end in .safetensors, got x.npz"),
        (("kuhn", "--out", "x" * 300 + ".safetensors"), "cannot be written: File name too long"),
    ],
)
def test_wrong_use_is_one_line_before_work_starts(command: Command, arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(command("solve", *arguments, "--json"))
    assert os.listdir() == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("rush", "--game", "geister"), "geister has no tree"),
        (("random", "--game", "geister"), "geister has no tree"),
        (("random", "--game", "geister"), "`dancfr exploit` (dancfr.best_response in Python) trains a response"),
        (("random", "--game", "goofspiel", "--option", "cards=14"), "cards must be from 2 to 13"),
        (("none.safetensors", "--game", "kuhn"), "none.safetensors does not exist"),
        (
            ("random", "--game", "dark_hex", "--option", "columns=4"),
            "exact evaluation takes boards of at most 10 cells",
        ),
    ],
)
def test_exploitability_is_refused_where_there_is_none(command: Command, arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(command("evaluate", *arguments, "--games", "2", "--exploitability"))


def test_exploitability_is_refused_if_an_agent_has_no_probabilities() -> None:
    with pytest.raises(UsageError, match="mine cannot say with which probability it plays each action"):
        evaluate_exactly("mine", FirstAction(), make_game("dark_hex", rows=2))


def test_exploitability_without_a_tree(command: Command) -> None:
    arguments = ("--game", "dark_hex", "--option", "rows=2", "--games", "2", "--exploitability", "--json")
    outcome = command("evaluate", "random", *arguments)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["nash_conv"] == pytest.approx(0.75, abs=1e-6)


def test_exploitability_without_a_match(command: Command) -> None:
    exact = ("evaluate", "random", "--game", "kuhn", "--option", "cards=4", "--exploitability")
    alone, beside = (json.loads(command(*exact, "--games", games, "--json").out) for games in ("0", "2"))
    assert {key: beside[key] for key in alone} == alone | {"games": 2}
    assert (alone["game_options"], alone["nash_conv"]) == ({"cards": 4}, pytest.approx(0.875))
    text = command(*exact, "--games", "0").out
    assert re.match(r"random in kuhn, without a match:\nvalue \S+ .*\nexploitability 0.4375,", text)
    line = refused(command("evaluate", "random", "--game", "kuhn", "--games", "0", "--exploitability", "--readable"))
    assert "--games must be at least 1" in line


def test_ctrl_c_ends_a_long_solution_at_once(tmp_path: Path) -> None:
    """The time between two evaluations may be hours, in which compiled loops handle no signal."""
    arguments = ("solve", "leduc", "--iterations", str(10**9), "--json")
    process = subprocess.Popen(
        [sys.executable, "-m", "dancfr", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a shell's `&` has it ignored
    )  # fmt: skip
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("iteration 200,000:"):
                break
        watched, children = psutil.Process(process.pid), sum(os.times()[2:4])
        evaluated = sum(watched.cpu_times()[:2])
        while (before := sum(watched.cpu_times()[:2])) < evaluated + 2:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    # CPU seconds, since the machine may have other work; 500,000 iterations are some 6 more of them.
    assert sum(os.times()[2:4]) - children - before < 2
    assert (process.returncode, out) == (1, "")
    assert err.splitlines()[-1].startswith("dancfr: aborted")


def test_pieces_of_a_run_change_nothing(solved: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    from dancfr.agents import solving

    for algorithm in ("cfr+", "dcfr", "vr-mccfr"):
        arguments = ("kuhn", "--algorithm", algorithm, "--iterations", "3000")
        monkeypatch.setattr(solving, "PIECE_SECONDS", 0.0)
        single = solved(*arguments)["curve"]
        monkeypatch.setattr(solving, "PIECE_SECONDS", 100.0)
        assert solved(*arguments)["curve"] == single
