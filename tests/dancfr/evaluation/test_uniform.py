"""The exploitability of uniform play, which is shown beside that of agents."""

from pathlib import Path
from typing import Any

import pytest

import dancfr
from actors.cores import available_cpus
from dancfr.cli.output import describe_match, describe_solution
from dancfr.evaluation import exploitability
from dancfr.games.registry import all_games, make_game
from dancfr.report.figures_exact import nash_conv_curves
from dancfr.report.history import History
from envs.capabilities import ExactGame
from envs.game import GameBase
from envs.players import RandomAgent
from learners.cfr.whole_policy import evaluate_agent

KNOWN = [name for name, record in all_games().items() if record.uniform is not None]


def walked(game: GameBase) -> ExactGame:
    assert isinstance(game, ExactGame)
    return game


def test_uniform_play_is_the_yardstick_of_agents_and_solutions() -> None:
    """In Kuhn poker its exploitability is 11/24: gains of 1/2 and 5/12."""
    found = dancfr.exploitability("random", "kuhn")
    assert found.uniform == found.exploitability == pytest.approx(11 / 24)
    assert "(of uniform play 0.4583)" in repr(found)
    solution = dancfr.solve("kuhn", iterations=100)
    exact = dancfr.exploitability(solution)
    assert exact.uniform == solution.found["uniform_exploitability"] == found.uniform
    line = "\nfor comparison: uniform play has an exploitability of 0.4583"
    assert line in describe_solution(solution.found)
    match = dancfr.play(solution, games=2, game="kuhn", exploitability=True)
    assert line in describe_match(match.as_dict())


def test_uniform_play_is_the_yardstick_of_more_players() -> None:
    game = make_game("openspiel:kuhn_poker(players=3)") if _has_openspiel() else pytest.skip("OpenSpiel is missing")
    found = dancfr.exploitability("random", game)
    assert found.uniform == found.exploitability
    assert found.as_dict()["uniform_exploitability"] == found.uniform


def _has_openspiel() -> bool:
    try:
        import pyspiel  # noqa: F401
    except ImportError:
        return False
    return True


def test_other_rules_than_those_of_the_record_have_no_known_yardstick() -> None:
    same, other = make_game("liars_dice_2d5f"), make_game("liars_dice", dice=2, faces=5)
    assert exploitability._uniform_by_walk(walked(same)) == all_games()["liars_dice_2d5f"].uniform
    assert exploitability._uniform_by_walk(walked(other)) is None
    small = walked(make_game("liars_dice5"))
    assert exploitability._uniform_by_walk(small) == evaluate_agent(small, RandomAgent(), 1).exploitability


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_known_yardsticks_are_those_of_uniform_play(name: str) -> None:
    found = evaluate_agent(walked(make_game(name)), RandomAgent(), available_cpus())
    assert found.exploitability == pytest.approx(all_games()[name].uniform, abs=5e-5)


def test_reports_tell_the_nash_conv_of_uniform_play() -> None:
    def drawn(**config: Any) -> str:
        rows = [{"kind": "exploitability", "iteration": 1, "policy": "average", "nash_conv": 1.0}]
        train = {"kind": "train", "iteration": 1, "player": 0, "samples/decisions": 100}
        plot = nash_conv_curves({"a": [History("a", Path("a"), {"config": config}, (train,), (), tuple(rows))]}, {})
        assert plot is not None
        return plot.caption

    assert "Uniform play has a NashConv of 4.747." in drawn(game="leduc", game_options={})
    assert "Uniform play has a NashConv of 1.577." in drawn(game="phantom_ttt")
    assert "Uniform play" not in drawn(game="of-another-package")
