"""Tests of readers: blind play is read at chance, play that shows everything is read right, and Kuhn as Bayes says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dancfr
from dancfr.agents.cards import read_card, section
from dancfr.agents.pack import PackRequest, pack
from dancfr.errors import UsageError
from dancfr.evaluation.reading import by_game, read_play
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from dancfr.report.figures import all_figures
from dancfr.report.history import History
from dancfr.runs.run import Run
from dancfr.watch.wandb_reader import evaluated
from envs.game import Game, States
from envs.geister import Geister
from envs.kuhn.game import Kuhn
from envs.players import RandomAgent, choose_uniform
from tests.dancfr.outcomes import refused


class ShowsColours(RandomAgent):
    """Moves its red ghosts in turn and its blue ones only if it must."""

    name = "shows colours"

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        assert self._game is not None
        legal, rows = self._game.legal(states), np.arange(len(states))
        movers = self._game.to_move(states)
        red = (states["red"][rows, movers][:, None] >> np.arange(8)) & 1
        moves = states["moves"][rows, movers].astype(np.int64)
        rank = np.where(red == 1, moves, 1000)  # the red ghost that has moved least
        least = np.where(legal.reshape(-1, 8, 4).any(axis=2), rank, 10_000).min(axis=1)
        wanted = legal & np.repeat(rank == least[:, None], 4, axis=1)
        return np.asarray(choose_uniform(wanted, rng.random(len(states))))


def test_blind_play_is_read_at_chance() -> None:
    """`random` looks at no colour but when it escapes; ten intervals of 95 % and their largest distance, seed 5."""
    found = read_play(
        Geister(history=True, ply_limit=300), (RandomAgent(), RandomAgent()), 600, np.random.default_rng(5)
    )
    assert len(found.plies) >= 8
    for each in found.plies:
        error = (each.ci95[1] - each.ci95[0]) / 3.92
        assert abs(each.accuracy - each.chance) < 3.5 * error, each
        assert error < 0.015
    assert found.plies[-1].chance > found.plies[0].chance == 0.5


def test_play_that_shows_its_colours_is_read_right() -> None:
    agents = (ShowsColours(), RandomAgent())
    found = read_play(Geister(history=True, ply_limit=300), agents, 300, np.random.default_rng(2), plies=(1, 16, 24))
    before, *after = found.plies
    assert before.accuracy < 0.75  # one red ghost at most has moved
    for each in after:
        assert each.accuracy > 0.98
        assert each.ci95[0] > 0.95
        assert each.chance < 0.65


class BetsByCard(RandomAgent):
    """In Kuhn poker: bets with card 2 always, with card 0 in a third of the games, and with card 1 never."""

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        cards = states["cards"][np.arange(len(states)), states["mover"]]
        return (rng.random(len(states)) < np.array([1 / 3, 0, 1])[cards]).astype(np.int64)


def test_kuhn_is_read_as_bayes_says() -> None:
    """After its bet card 2 has 3 of 4 chances, after its pass card 1 has 3 of 5, so in the first seat 2 of 3 cards are
    read right; in the second it has not acted yet, and 1 of 3 is: half of the games in either seat make 1 of 2."""
    found = read_play(Kuhn(), (BetsByCard(), RandomAgent()), 6000, np.random.default_rng(0), plies=(1,)).plies[0]
    assert found.ci95[0] < 0.5 < found.ci95[1]
    assert found.ci95[1] - found.ci95[0] < 0.03
    assert found.chance == pytest.approx(1 / 3)


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_the_interval_over_games_covers_the_share_as_often_as_it_says(share: float) -> None:
    """Secrets of a game are read right together, which intervals over secrets would not cover."""
    rng, covered = np.random.default_rng(3), 0
    for _ in range(400):
        right = rng.random(80) < share
        game = np.repeat(np.arange(80), rng.integers(1, 9, 80))
        low, high = by_game(right[game], game)[1]
        covered += low <= share <= high
        assert high - low > 0.02
    assert covered / 400 > 0.92


def test_evaluate_prints_what_was_read(command: Any) -> None:
    arguments = ["evaluate", "random", "--game", "geister", "--games", "60", "--seed", "4", "--readable"]
    found = json.loads(command(*arguments, "--json").out)
    plain = json.loads(command(*arguments[:-1], "--json").out)
    assert plain["wins"] == found["wins"]
    assert "reading" not in plain
    reading = found["reading"]
    assert (reading["secret"], reading["values"], reading["fitted_on"]) == ("colour of a ghost", ["blue", "red"], 60)
    assert reading["plies"][0].keys() == {"ply", "games", "secrets", "accuracy", "ci95", "chance"}
    assert reading == dancfr.play("random", game="geister", games=60, seed=4, readable=True).as_dict()["reading"]
    text = command(*arguments).out
    assert "colour of a ghost (blue or red) of random, read from its play against random" in text
    few = command("evaluate", "random", "--game", "kuhn", "--games", "10", "--readable").out
    assert "too few games to fit a reader: set --games" in few
    for game in ("goofspiel", "guandan"):
        line = refused(command("evaluate", "random", "--game", game, "--readable"))
        assert "read agents in geister, mini-geister, kuhn, leduc or leduc_2b2r" in line
        assert "evaluation.readable=true: " in refused(
            command("train", "leduc-policy-gradient", "game=liars_dice", "evaluation.readable=true")
        )


def test_an_agent_without_history_is_read_by_what_it_did() -> None:
    """Its reader gets the history of ghosts, which its own games do not have."""
    plain = dancfr.play("heuristic", game="geister", games=100, seed=1, readable=True)
    assert plain.options.get("history") is not True
    assert plain.reading is not None
    game: Game = Geister(ply_limit=300)
    without = dancfr.play(RandomAgent(), RandomAgent(), game, games=100, seed=1, readable=True)
    assert without.reading is not None


def test_readings_along_a_training_reach_its_record_its_report_and_the_card(tmp_path: Path) -> None:
    settings = [
        "iterations=4",
        "games=64",
        "chunk=64",
        "network.width=16",
        "evaluation.every=2",
        "evaluation.games=120",
    ]
    settings += ["evaluation.readable=true", "evaluation.exploitability=false"]
    run = tmp_path / "run"
    train(TrainRequest("leduc-policy-gradient", settings, run, "off", TrainOptions(inline=True, progress=False)))
    rows = Run.open(run).read_metrics("evaluation")
    assert [row["iteration"] for row in rows] == [2, 4]
    for row in rows:
        assert 1 / 3 < row["read_by_chance/2"] < 0.5, "one of three ranks, of which the public card leaves less"
        assert 0.2 < row["read/2"] < 1
        assert evaluated(row)["evaluation/average/random/read/2"] == row["read/2"]
    figures, left_out = all_figures({"one": [History.read(run)]})
    assert "readability" in {figure.name for figure in figures}, left_out
    pack(PackRequest(str(run), tmp_path / "packed", games=120, seed=3, readable=True))
    card = read_card(tmp_path / "packed")
    assert card.packed == "dancfr pack runs/run packed/packed --readable --games 120 --seed 3"
    assert card.readability is not None
    same = dancfr.play(*[str(tmp_path / "packed")] * 2, game="leduc", games=120, seed=3, readable=True).reading
    assert same is not None
    assert [at.accuracy for at in card.readability.plies] == [at.accuracy for at in same.plies]
    assert "read right, in %" in section("pretrained:packed", card)
    with pytest.raises(UsageError, match="read agents in geister"):
        pack(PackRequest("pretrained:guandan", tmp_path / "none", readable=True))
