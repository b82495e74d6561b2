"""Tests of the newest measures in words: win rates, mean returns where they count, and NashConv."""

from pathlib import Path

from dancfr.watch.following import evaluated
from dancfr.watch.strength import describe_each, describe_measures, measures
from tests.dancfr.methods.table_runs import configured, run_preset


def test_win_rates_are_short() -> None:
    latest = {"average/random": 0.99, "average/rush": 0.968, "last/random": 0.004}
    assert describe_measures(latest) == "wins of average: random 99, rush 97 %; of last: random 0 %"
    assert describe_measures({"average/nash_conv": 0.01234, "last/rush": 1.0}) == (
        "NashConv of average 0.0123  wins of last: rush 100 %"
    )
    assert describe_measures({}) == ""


def test_mean_returns_stand_for_win_rates_where_games_have_stakes() -> None:
    row = {"kind": "evaluation", "policy": "average", "win_rate": 0.375, "mean_return": 0.412}
    assert evaluated(row | {"opponent": "rush"}) == {"evaluation/average/rush/win_rate": 0.375}
    assert evaluated(row | {"opponent": "rush", "stakes": 13.0}) == {
        "evaluation/average/rush/win_rate": 0.375,
        "evaluation/average/rush/mean_return": 0.412,
    }
    staked = measures(row | {"opponent": "random", "stakes": 13.0})
    assert staked == {"average/random": 0.375, "average/random/mean_return": 0.412}
    latest = staked | measures(row | {"opponent": "runs/x/mean"}) | {"average/nash_conv": 0.5}
    assert describe_measures(latest) == (
        "NashConv of average 0.5  mean return of average: random +0.412  wins of average: runs/x/mean 38 %"
    )
    assert describe_each(latest) == [
        "average/random: mean return +0.412 per game, 37.5 % of games won",
        "average/runs/x/mean: 37.5 % of games won",
        "average/nash_conv: 0.5",
    ]


def test_a_run_of_a_game_with_stakes_tells_its_mean_returns(tmp_path: Path) -> None:
    config = configured(
        "leduc-dream-quick", "iterations=2", "evaluation.every=2", "evaluation.games=40", "traversals=50"
    )
    result = run_preset(tmp_path / "run", "leduc-dream-quick", config)
    returned = [name for name in result["metrics"] if name.endswith("/random/mean_return")]
    assert returned == ["average/random/mean_return", "last/random/mean_return"]
