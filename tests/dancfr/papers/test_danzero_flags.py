"""Tests of the ablation of paper 004's flags by the wild cards that a team is dealt."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.games.registry import make_game
from dancfr.papers.paper004_flags import WILD, _rows, crossed, wild_cards, won_by_wild_cards
from dancfr.papers.reproduce import EXPERIMENTS, reproduce
from envs.guandan.rules.cards import CARDS, unpack
from tests.dancfr.papers.test_danzero import TINY
from tests.dancfr.papers.test_reproduce import by_cell


def test_wild_cards_are_the_hearts_of_the_level_in_both_hands_of_a_team() -> None:
    game = make_game("guandan", length="round", situation="drawn")
    states = game.reset(200, np.random.default_rng(3))
    counts = wild_cards(states)
    assert (counts.sum(1) == WILD).all()
    assert {0, 1, 2} == set(counts[:, 0])
    for state, held in zip(states, counts, strict=True):
        heart = CARDS[4 * int(state["level"])]
        hands = [unpack(int(low), int(high)) for low, high in zip(state["low"], state["high"], strict=True)]
        assert [sum(hands[seat].count(heart) for seat in team) for team in ((0, 2), (1, 3))] == held.tolist()


def test_rounds_are_counted_by_the_wild_cards_of_the_first_agent() -> None:
    game = make_game("guandan", length="round", situation="drawn")
    planner, random = make_agent("planner", game), make_agent("random", game)
    won = won_by_wild_cards(game, (planner, random), 60, np.random.default_rng(5))
    assert sum(map(len, won.values())) == 60
    assert len(won[0]) == len(won[WILD]), "each deal is played from both sides"
    assert len(won[1]) % 2 == 0
    assert np.concatenate(list(won.values())).mean() > 0.9
    again = won_by_wild_cards(game, (planner, random), 60, np.random.default_rng(5))
    assert all((won[wild] == again[wild]).all() for wild in won)


def test_the_interval_of_crossed_trainings_covers_the_mean_of_its_distribution() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        values = rng.normal(0, 2, (5, 1)) + rng.normal(0, 1, (1, 5)) + rng.normal(0, 1, (5, 5)) + 50
        mean, low, high = crossed(values)
        assert low < mean < high
        covered += low < 50 < high
    assert covered / 400 >= 0.93


def test_rows_are_the_percentages_of_either_side() -> None:
    """Rows and columns are trainings; the variance of the first mean is 8 / 2 by rows plus 13 / 3 by columns."""
    none, one, both = ([[40, 44, 45], [42, 46, 47]], [[50, 52, 57], [54, 56, 61]], [[70, 70, 73], [72, 72, 75]])
    rows = _rows(np.stack([none, one, both], axis=-1).astype(float), [100, 400, 120])
    assert [row["ours"] for row in rows] == pytest.approx([55, (44 + 72) / 2, 72, 100 - 44, 72 - (100 - 44)])
    assert [row["note"].split("; ")[1].split(" ")[0] for row in rows] == ["400", "220", "120", "100", "220"]
    half = 12.706204736432095 * np.sqrt(8 / 2 + 13 / 3)  # 97.5 % quantile of t with 1 degree of freedom
    assert f"interval over trainings {55 - half:.1f} to {55 + half:.1f};" in rows[0]["note"]


def test_the_experiment_trains_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = EXPERIMENTS["danzero-wild-flags"]
    quick = replace(experiment.scales["quick"], games=40, overrides=())
    monkeypatch.setitem(EXPERIMENTS, "danzero-wild-flags", replace(experiment, scales={"quick": quick}))
    monkeypatch.setenv("WANDB_MODE", "disabled")
    found = reproduce("danzero-wild-flags", out_dir=tmp_path, seeds=(1, 2), overrides=TINY, inline=True)
    rows = by_cell(found["rows"])
    assert len(found["runs"]) == 4
    share = rows["Ours vs Ours-, both wild cards in one team"]["ours"]
    assert 0 <= share <= 100
    difference = rows["the former minus the latter"]
    assert difference["ours"] == pytest.approx(2 * share - 100)
    assert difference["ours"] == pytest.approx(
        rows["Ours with both wild cards"]["ours"] - rows["Ours- with both wild cards"]["ours"]
    )
    assert "of 4 pairs of trainings" in difference["note"]
