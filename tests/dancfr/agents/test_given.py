"""Agents as objects and as results: checked against the rules of a game like agents by name."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import dancfr
from dancfr.agents.adapted import AdaptedAgent
from dancfr.agents.by_name import agent_for
from dancfr.agents.solving import Solution
from dancfr.agents.trained import TrainedRun
from dancfr.errors import UsageError
from dancfr.games.rules import check_rules, first_difference
from envs.kuhn import Kuhn

CARDS = "was made for other rules of kuhn: cards=4, but this game has cards=3$"


def uniform(infostates: Any, legal: Any) -> Any:
    return legal / legal.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def solution() -> Solution:
    return dancfr.solve(dancfr.make_game("kuhn", cards=4), algorithm="lp")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    settings = {"network.width": 16, "game": "kuhn", "game_options": {"cards": 4}, "traversals": 32, "chunk": 16}
    settings |= {"evaluation.games": 10}
    settings |= {f"{part}_training.minibatches": 2 for part in ("advantage", "baseline")}
    folder = tmp_path_factory.mktemp("given") / "run"
    return dancfr.train(
        "leduc-dream-quick", settings, iterations=1, inline=True, wandb="off", run_dir=folder, progress=False
    )


def agents(solution: Solution, run: TrainedRun) -> list[Any]:
    """Agents for four cards, as objects and as the results that they come from."""
    return [solution, solution.agent(), run, run.agent(), dancfr.policy_agent(uniform, Kuhn(cards=4))]


CALLS: list[Callable[[Any, Kuhn], object]] = [
    lambda agent, game: dancfr.play(agent, "random", game, games=4),
    lambda agent, game: dancfr.play("random", agent, game, games=4),
    lambda agent, game: dancfr.exploitability(agent, game),
    lambda agent, game: dancfr.tournament([agent, "random"], game, games=4, report=lambda line: None),
    lambda agent, game: gymnasium.make("dancfr/Game-v0", game=game, opponent=agent).reset(seed=1),
]


@pytest.mark.parametrize("call", CALLS)
def test_other_options_are_refused_wherever_agents_are_taken(
    call: Callable[[Any, Kuhn], object], solution: Solution, run: TrainedRun
) -> None:
    for agent in agents(solution, run):
        call(agent, Kuhn(cards=4))
        with pytest.raises(UsageError, match=CARDS):
            call(agent, Kuhn())


def test_best_responses_to_other_options_are_refused(solution: Solution, run: TrainedRun) -> None:
    for agent in agents(solution, run):
        with pytest.raises(UsageError, match=CARDS):
            dancfr.best_response(agent, games=100, eval_games=20, options={"cards": 3})


def test_a_result_is_its_agent_in_its_game(solution: Solution, run: TrainedRun) -> None:
    """Without a game, or with its name alone, its own rules are played, as those of a run by name are."""
    for agent in agents(solution, run):
        assert dancfr.play(agent, games=4).options["cards"] == 4
        assert repr(dancfr.exploitability(agent)).startswith("Evaluation(kuhn, cards=4: value ")
        assert dancfr.exploitability(agent, "kuhn") == dancfr.exploitability(agent, Kuhn(cards=4))
    assert dancfr.exploitability(solution).nash_conv == pytest.approx(solution.nash_conv, abs=1e-12)
    assert dancfr.exploitability(run) == dancfr.exploitability(run.name())
    assert run.name(1, average="exact", threshold=0.5) == f"{run.name()}@1?average=exact&threshold=0.5"
    found = dancfr.tournament([run, solution], games=4, report=lambda line: None).as_dict()
    assert (found["agents"], found["game_options"]["cards"]) == ([run.name(), "lp"], 4)
    with pytest.raises(UsageError, match="lp is named twice"):
        dancfr.tournament([solution, solution])
    assert dancfr.play(solution, solution, games=4).result.games == 4


def test_a_file_says_for_which_options_it_is_evaluated(solution: Solution, tmp_path: Path) -> None:
    solution.save(tmp_path / "four.safetensors")
    found = dancfr.exploitability(tmp_path / "four.safetensors", "kuhn")
    assert repr(found).startswith("Evaluation(kuhn, cards=4: value ")
    assert "in kuhn, cards=4: " in repr(dancfr.play(tmp_path / "four.safetensors", game="kuhn", games=4))
    assert repr(dancfr.exploitability("random", "kuhn")).startswith("Evaluation(kuhn: value ")
    with pytest.raises(UsageError, match=f"four.safetensors {CARDS}"):
        dancfr.exploitability(tmp_path / "four.safetensors", Kuhn())


def test_a_game_that_only_a_program_knows_is_that_of_its_solution() -> None:
    games = [Kuhn(), Kuhn(cards=4)]
    for game in games:
        object.__setattr__(game, "spec", replace(game.spec, name="house-rules"))
    solution = dancfr.solve(games[1], "lp")
    assert dancfr.exploitability(solution).nash_conv == pytest.approx(0, abs=1e-9)
    assert dancfr.play(solution, games=4).game == "house-rules"
    with pytest.raises(UsageError, match="lp was made for other rules of house-rules: cards=4, but this game has"):
        dancfr.exploitability(solution, games[0])


def test_bots_play_any_rules() -> None:
    bot = dancfr.make_agent("random", Kuhn(cards=5))
    assert dancfr.play(bot, "random", Kuhn(), games=4).result.games == 4


def test_objects_are_adapted_where_agents_by_name_are() -> None:
    """A policy that has seen no history plays a game with one, but not the other way round."""
    plain, history = (dancfr.make_game("geister", ply_limit=20, history=each) for each in (False, True))
    blind, seeing = (dancfr.policy_agent(uniform, game, encoding="flat") for game in (plain, history))
    assert isinstance(agent_for(blind, history), AdaptedAgent)
    assert agent_for(blind, dancfr.make_game("geister", ply_limit=30)) is blind, "the length of a game may differ"
    assert dancfr.play(blind, seeing, games=4).options["history"] is True
    with pytest.raises(UsageError, match="policy observes the history of ghosts, which the game at hand lacks"):
        dancfr.play(seeing, "random", plain, games=4)


class Plain:
    """A game of a class without generated methods, as in docs/tutorials/own-game.md; only its options matter here."""

    def __init__(self, cards: int = 4, *, wild: tuple[int, ...] = ()) -> None:
        self.spec, self.cards, self._wild = Kuhn().spec, cards, wild
        self.drawn = np.zeros(3)


def test_classes_of_ones_own_are_compared_by_the_arguments_that_they_keep() -> None:
    four, six, wild = (Plain(), Plain(cards=6), Plain(wild=(1, 2)))
    assert first_difference(six, four) == ("cards", 6, 4)  # type: ignore[arg-type]
    assert first_difference(four, Plain()) is None  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^mine was made for other rules of kuhn: wild=\[\], but .* wild=\[1,2\]$"):
        check_rules("mine", four, wild)  # type: ignore[arg-type]
