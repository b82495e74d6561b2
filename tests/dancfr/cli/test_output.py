"""The text of `dancfr evaluate`, with seats, outcomes, and returns other than 1 and -1, and of a stopped training."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dancfr.cli.output import LEAST_WIDTH, deliver, describe_match, table
from dancfr.evaluation.arena import play
from dancfr.games.registry import make_game
from envs.players import RandomAgent
from tests.dancfr.outcomes import Command

SEATS = {
    "first": {"games": 50, "wins": 9, "draws": 1, "losses": 40, "win_rate": 0.18},
    "second": {"games": 50, "wins": 7, "draws": 0, "losses": 43, "win_rate": 0.14},
}


@pytest.mark.parametrize(
    "options", ["", "--inline", "--workers 1 --wandb off --tensorboard", "--device cpu --wandb offline"]
)
def test_a_stopped_training_names_the_command_that_continues_it_as_it_was_started(
    options: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = {"run_dir": "runs/a b", "iterations": 3, "seconds": 1.0, "samples": 8, "metrics": {}, "stopped": True}
    monkeypatch.setattr("dancfr.agents.trained.train", lambda *_, **__: SimpleNamespace(result=result))
    (line,) = command("train", "leduc-dream", "seed=2", *options.split()).err.splitlines()
    again = f"dancfr train leduc-dream --run-dir 'runs/a b' --resume {options}".rstrip()
    assert line == f"stopped after iteration 3; continue with: {again}"


def test_a_table_is_wrapped_to_fit_into_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"name": "one", "text": " ".join(["word"] * 20)}, {"name": "other", "text": ""}]
    columns = list(rows[0])
    whole = table(rows, columns).splitlines()
    assert whole[0].split() == columns
    assert len(whole) == 3
    monkeypatch.setenv("COLUMNS", "200")
    assert table(rows, columns, wrap=True).splitlines() == whole
    monkeypatch.setenv("COLUMNS", "60")
    wrapped = table(rows, columns, wrap=True).splitlines()
    assert [len(line) for line in wrapped] == [11, 56, 56, 5]
    assert wrapped[2].startswith(" " * 7 + "word")
    assert "".join(wrapped[1:3]).count("word") == 20
    monkeypatch.setenv("COLUMNS", "1")
    assert max(map(len, table(rows, columns, wrap=True).splitlines())) <= 7 + LEAST_WIDTH


def match(**changes: Any) -> dict[str, Any]:
    """A match of 100 games, 16 of them won and 1 drawn."""
    result = {
        "agent": "runs/x",
        "against": "rush",
        "game": "geister",
        "games": 100,
        "wins": 16,
        "draws": 1,
        "losses": 83,
        "win_rate": 0.16,
        "ci95": [0.101, 0.244],
        "categories": {"loss by escape": 83, "win by escape": 16, "draw by ply limit": 1},
        "seats": SEATS,
        "games_per_second": 1147.3,
        "mean_return": -0.67,
    }
    return result | changes


def test_seats_and_outcomes_are_tables_in_percent() -> None:
    assert describe_match(match()).splitlines() == [
        "runs/x against rush: wins 16.0 % of 100 games of geister (95 % interval 10.1 % to 24.4 %): "
        "16 won, 1 drawn, 83 lost; 1147 games/s",
        "",
        "seat    games  won     drawn  lost",
        "first   50     18.0 %  2.0 %  80.0 %",
        "second  50     14.0 %  0.0 %  86.0 %",
        "",
        "outcome            games  share",
        "loss by escape     83     83.0 %",
        "win by escape      16     16.0 %",
        "draw by ply limit  1      1.0 %",
    ]


def test_values_of_all_players_are_shown_where_they_have_no_constant_sum() -> None:
    numbers = {"exploitability": 1.5, "nash_conv": 3.0}
    exact = {"value": 4.0, "values": [4.0, 2.0], "gains": [1.0, 2.0], "max_utility": 10.0, **numbers}
    text = describe_match(match(constant_sum=False, normalised=numbers, **exact))
    assert "\nvalues of the players +4, +2, gains 1, 2\nexploitability 1.5, NashConv 3 (" in text
    assert "\nthe returns of a game have no constant sum: " in text


def test_returns_that_the_counts_do_not_tell_are_shown() -> None:
    assert "mean return" not in describe_match(match())
    assert describe_match(match(mean_return=-0.82, stakes=2)).startswith(
        "runs/x against rush: mean return -0.82 per game; wins "
    )
    text = describe_match(match(mean_return=1.5, mean_return_ci95=[1.25, 1.75], stakes=2))
    assert ": mean return +1.5 per game (95 % interval +1.25 to +1.75); wins " in text


def test_the_only_ending_of_a_game_is_not_named() -> None:
    lines = describe_match(match(categories={"win by over": 60, "loss by over": 40})).splitlines()
    assert [line.split()[:2] for line in lines[-2:]] == [["win", "60"], ["loss", "40"]]


def test_a_seat_without_games_is_left_out() -> None:
    seats = {"first": SEATS["first"], "second": dict.fromkeys(SEATS["second"], 0)}
    assert "second" not in describe_match(match(seats=seats))


def test_a_match_that_is_won_or_lost_says_no_return() -> None:
    result = play(make_game("mini-geister"), (RandomAgent(), RandomAgent()), 101, np.random.default_rng(1))
    text = describe_match({"agent": "random", "against": "random", "game": "mini-geister"} | result.as_dict())
    assert "mean return" not in text
    assert "first   51     " in text


@pytest.mark.parametrize("as_json", [False, True])
def test_standard_output_holds_the_result_alone(as_json: bool, capfd: pytest.CaptureFixture[str]) -> None:
    """Libraries may print during the computation, as Ray does when a worker has died."""

    def compute() -> dict[str, Any]:
        print("(raylet) A worker died")
        print("a game", "prints", end="")
        return {"games": 3}

    deliver(compute, as_json, lambda result: f"{result['games']} games")
    shown = capfd.readouterr()
    assert shown.out == ('{"games": 3}\n' if as_json else "3 games\n")
    assert shown.err == "a game prints\n"
