"""The comparison of decisions: its counts, that a better action is found to be better, and the page."""

import json
from pathlib import Path

import numpy as np
import pytest

from dancfr.agents.decisions import decisions_command
from dancfr.errors import UsageError
from dancfr.evaluation.agreement import agreement
from dancfr.evaluation.decisions import Beside, compare_decisions
from envs.geister import Geister
from envs.guandan import GuanDan
from envs.guandan.bots.planner import PlannerBot
from envs.guandan.bots.players import GreedyBot
from envs.players import RandomAgent

GAME = GuanDan()


def compare(first, second, other, rounds=40, most=60, deals=8, seed=1):
    return compare_decisions(GAME, (first, second), other, rounds, most, deals, np.random.default_rng(seed))


def test_the_planner_is_right_where_greedy_differs() -> None:
    most = 200
    match, rows, examples = compare(GreedyBot(), PlannerBot(), PlannerBot(), rounds=120, most=most)
    assert match.win_rate < 0.3
    assert match.deals is not None
    assert match.paired_ci95 == match.deals.ci95 != match.ci95, "each deal is played twice"
    assert [row.situation for row in rows] == ["lead", "follow", "partner holds", "endgame", "all"]
    assert sum(row.decisions for row in rows[:-1]) == rows[-1].decisions > 300
    assert sum(row.differ for row in rows[:-1]) == rows[-1].differ
    assert all(0 < row.differ < row.decisions for row in rows)
    everywhere = rows[-1].gains["planner"]
    assert everywhere is not None
    assert everywhere.high < 0, "greedy's plays cost points"
    assert everywhere.n == len(examples) == sum(min(row.differ, most) for row in rows[:-1])
    means = [(row.differ, row.gains["planner"].mean) for row in rows[:-1]]
    weighted = sum(count * mean for count, mean in means) / rows[-1].differ
    assert everywhere.mean == pytest.approx(weighted), "a situation counts as often as the agents differ in it"
    assert max(row.differ for row in rows[:-1]) > most, "some are drawn"
    assert [each.gain for each in examples] == sorted(each.gain for each in examples)
    assert examples[0].own != examples[0].other
    assert "(hidden)" in examples[0].picture, "a picture shows what the player sees"


def test_the_same_seed_gives_the_same_rows_and_both_ways_round_agree_in_sign() -> None:
    first, again = (compare(GreedyBot(), PlannerBot(), PlannerBot(), rounds=10)[1] for _ in range(2))
    assert first == again
    other = compare(PlannerBot(), GreedyBot(), GreedyBot())[1]
    gain = other[-1].gains["planner"]
    assert gain is not None
    assert gain.low > 0


def test_an_agent_beside_itself_never_differs() -> None:
    match, rows, examples = compare(PlannerBot(), GreedyBot(), PlannerBot(), rounds=6)
    assert match.games == 6
    assert rows[-1].differ == 0
    assert rows[-1].gains == {"planner": None, "greedy": None} or not any(rows[-1].gains.values())
    assert examples == []


def test_the_recorder_plays_as_its_agent() -> None:
    states = GAME.reset(8, np.random.default_rng(1))
    recorder, alone = Beside(GreedyBot(), PlannerBot()), GreedyBot()
    for agent in (recorder, alone):
        agent.begin(GAME, 8, np.random.default_rng(2))
    played = recorder.act(states, np.arange(8), np.random.default_rng(3))
    assert (played == alone.act(states, np.arange(8), np.random.default_rng(3))).all()
    assert len(recorder.states[0]) == len(recorder.actions[0][0]) <= 8


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = decisions_command("greedy", "planner", "guandan", games=6, judged=5, deals=4, seed=3, out=page)
    json.dumps(result)
    assert result["page"] == str(page)
    assert 0 < len(result["examples"]) <= 12
    assert all(each["gain"] < 0 for each in result["examples"]), "lost, not won"
    text = page.read_text()
    assert "greedy won" in text
    assert text.count("<h3>") == len(result["examples"])
    assert "partner holds" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"games": 0}, "--games must be at least 1"),
        ({"deals": 1}, "--deals must be at least 2"),
        ({"deals": 10**30}, "--deals must be at most 10,000"),
        ({"out": Path("")}, "is a folder"),
        ({"judged": 1}, "--judged must be at least 2"),
        ({"out": Path("/no/such/folder/x.html")}, "/no/such/folder is not a folder"),
        ({"game": "geister", "agent": "rush", "beside": "random"}, "such as guandan"),
        ({"agent": "gready"}, "greedy"),
        ({"game": None, "agent": "pretrained:geister"}, "such as guandan, not in geister"),
    ],
)
def test_wrong_use_is_refused(arguments, says) -> None:
    given = {"agent": "greedy", "beside": "planner", "game": "guandan", "games": 2} | arguments
    with pytest.raises(UsageError, match=says):
        decisions_command(**given)


def test_a_game_without_situations_is_named() -> None:
    with pytest.raises(UsageError, match="not in"):
        compare_decisions(Geister(), (RandomAgent(), RandomAgent()), RandomAgent(), 2, 2, 2, np.random.default_rng(0))


def test_agents_are_compared_in_as_many_deals_as_games() -> None:
    recorder = Beside(PlannerBot(), PlannerBot())
    decisions, same = agreement(GAME, recorder, PlannerBot(), 4, np.random.default_rng(1))
    states = np.concatenate(recorder.states)
    assert same == decisions > len(states) > 100
    assert len(np.unique(states)) == len(states), "no deal is played twice"
