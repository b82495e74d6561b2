"""Warnings of `dancfr games NAME --check` about differences that nets cannot see."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.games.checks import check_game
from dancfr.games.recall_checks import find_forgotten
from dancfr.games.registry import GAMES, make_game
from dancfr.games.subject import Subject
from envs.game import Game, Packed, States
from envs.kuhn import Kuhn
from envs.leduc import Leduc

ABSTRACT = {"leduc": ["flat"], "mini-geister": ["planes", "flat"], "mini-cheat": ["flat"]}
"""Encodings of our games that leave something out: suits in Leduc, which do not matter, and omissions of papers."""


def warnings(game: Game) -> list[str]:
    return find_forgotten(Subject(game.spec.name, game), 64, 0)


@pytest.mark.parametrize("name", sorted(set(GAMES) - {"guandan"}))
def test_our_games_show_nets_all_that_players_know_unless_they_abstract(name: str) -> None:
    game = make_game(name)
    assert isinstance(game, Game)
    assert [re.findall(r'^encode\(..., "(\w+)"\)', line) for line in warnings(game)] == [
        [encoding] for encoding in ABSTRACT.get(name, [])
    ]


@dataclass(frozen=True)
class Forgetful(Kuhn):
    """Kuhn poker whose players see a pass in place of every action."""

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        shown = states.copy()
        shown["actions"] = 0
        return super().observe(shown, players)


@dataclass(frozen=True)
class Blind(Leduc):
    """Leduc whose nets see nothing at all."""

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        return np.zeros_like(super().encode(packed, encoding))


class TellsTheWaiting(Kuhn):
    """Kuhn poker whose descriptions name both cards to the player who waits."""

    waiting = True

    def describe(self, state: np.void, view: int | None = None) -> str:
        told = view is not None and (view != state["mover"]) == self.waiting
        return super().describe(state, None if told else view)


class TellsTheMover(TellsTheWaiting):
    """The same to the player to move."""

    waiting = False


@pytest.mark.parametrize("game", [TellsTheWaiting(), TellsTheMover()])
def test_description_that_tells_a_card_of_the_other_is_refused_whoever_is_to_move(game: Game) -> None:
    with pytest.raises(UsageError, match=r"describe\(state, [01]\) tells situations apart .+ has seen alike, 'card"):
        warnings(game)


class Rare(Kuhn):
    """Kuhn poker that fails in one of many games."""

    no_tree = "it would find the fault"

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        super().apply(states, choices)
        if ((states["cards"] == (2, 1)).all(axis=1) & (states["stake"] == 2)).any():
            raise KeyError("showdown")


def test_fault_that_only_these_games_meet_is_refused_in_one_line() -> None:
    told = set()
    for seed in range(60):
        try:
            check_game(Rare(), {}, games=1, seed=seed)
        except UsageError as error:
            told.add(str(error).partition(" raised KeyError: 'showdown' (")[0])
    assert told == {"game kuhn: step", "game kuhn: playing more random games"}


def test_observe_that_forgets_is_a_warning_with_two_situations() -> None:
    (told,) = warnings(Forgetful())
    found = re.fullmatch(
        r"observe shows player (\d) the same [^\n]+ tell apart, '(.+)' and '(.+)': nets and [^\n]+", told
    )
    assert found is not None, told
    assert found[2] != found[3]


def test_encode_that_forgets_is_a_warning_and_no_error() -> None:
    (told,) = warnings(Blind())
    assert told.startswith('encode(..., "flat") makes infostates of player 0 alike that observe tells apart, \'card')
    assert len(check_game("leduc", {}, games=32)["warnings"]) == 1


def test_game_of_openspiel_without_its_past_is_a_warning() -> None:
    pytest.importorskip("pyspiel")
    (told,) = warnings(make_game("openspiel:dark_hex(board_size=2)"))  # type: ignore[arg-type]
    assert told.startswith("observe shows player ")
    assert "after the choices" in told
