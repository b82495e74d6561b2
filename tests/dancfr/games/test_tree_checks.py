"""Findings of `dancfr games NAME --check` when it makes the tree of a game."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.games.checks import check_game
from envs.extensive import OVER
from envs.game import States
from envs.goofspiel import Goofspiel
from tests.dancfr.games.own_game import Own, listed, peek

F32, I8 = np.float32, np.int8


class Unset(Own):
    """Has a field that nothing fills."""

    def initial(self, batch: int) -> States:
        plain = super().initial(batch)
        states = np.zeros(batch, np.dtype([*plain.dtype.descr, ("unset", float)]))
        for name in plain.dtype.names or ():
            states[name] = plain[name]
        states["unset"] = np.nan
        return states


def test_a_state_may_hold_what_is_not_a_number(register: Callable[[Any], None]) -> None:
    register(Unset)
    assert check_game("own", {}, games=64)["tree"] == {"nodes": 40, "infosets_by_player": [6, 3]}


class Certain(Goofspiel):
    """Lists no chance, as it has none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "spec", replace(self.spec, name="own"))

    def chance(self, states: States) -> NDArray[np.float64]:
        raise NotImplementedError


def test_chance_is_asked_only_where_it_is_to_move(register: Callable[[Any], None]) -> None:
    register(lambda: Certain(3))
    assert check_game("own", {}, games=16)["tree"] is not None


def test_a_game_without_chance_has_a_tree_whatever_it_implements() -> None:
    result = check_game("mini-geister", {"random_setup": False, "ply_limit": 2, "observation_limit": 2}, games=16)
    assert re.fullmatch(r"[\d,]+ nodes, [\d,]+ and [\d,]+ infosets; perfect recall", result["checked"]["tree"])
    assert result["tree"]["nodes"] > 16


def test_a_game_whose_strategies_cannot_be_stored_is_named() -> None:
    result = check_game("mini-geister", {"random_setup": False, "ply_limit": 4, "observation_limit": 4}, games=16)
    assert "strategies of it cannot be stored, since observe shows less" in result["checked"]["tree"]


class Prize(Own):
    """The loser gets the maximum return less the winner's return."""

    def utilities(self, states: States) -> NDArray[np.float64]:
        over = states["mover"] == OVER
        return (super().utilities(states) + np.where(over, self.spec.max_return, 0)[:, None]) / 2


def test_returns_of_a_constant_sum_have_a_tree(register: Callable[[Any], None]) -> None:
    register(Prize)
    result = check_game("own", {}, games=64)
    assert result["warnings"] == [
        "the returns of a game sum to 2; policy gradients learn better with a sum of 0; solvers, DREAM and best "
        "responses subtract half of it"
    ]
    assert result["tree"] is not None


def test_returns_that_do_not_sum_to_zero_are_a_warning(register: Callable[[Any], None]) -> None:
    register(Generous)
    result = check_game("own", {}, games=64)
    told = "the returns of a game sum to -2; solvers, DREAM and best responses need a constant sum"
    assert result["warnings"] == [told]
    assert result["tree"] is not None


class Generous(Own):
    """The winner gets nothing."""

    def utilities(self, states: States) -> NDArray[np.float64]:
        return np.minimum(super().utilities(states), 0)


class Leaky(Own):
    """Shows both cards to both players."""

    def observe(self, states: States, players: NDArray[np.int8]) -> NDArray[np.uint8]:
        return peek(super().observe(states, players), states)


class Blind(Own):
    """Two bets differ in the legal answers, which the players do not see."""

    def legal(self, states: States) -> NDArray[np.bool_]:
        legal = super().legal(states)
        legal[(states["length"] == 1) & (states["cards"][:, 0] == 0), 1] = False
        return legal


class Broken(Own):
    """Cannot list its deals, because of a bug that random games do not meet."""

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        return states["cards"][:, player + 1].astype(np.int64)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            Leaky,
            r"own: a packed infostate reveals more than the player has observed: player 0 has observed the same after "
            r"the choices \[0, 1\] and \[0, 2\], but the packed rows are "
            r"\[0, 0, 255, 255, 1\] and \[0, 0, 255, 255, 2\]",
        ),
        (Blind, "own: an infoset has nodes with different legal actions"),
        (
            listed("chance", lambda found, states: found.astype(F32)),
            r"game own: chance returned float32\[64, \d\], expected float64\[64, K\]",
        ),
        (
            listed("chance", lambda found, states: found.astype(F32).astype(float)),
            r"game own: chance returned \[.*\], which sum to 1 \+ \(3e-08\), expected probabilities that sum to 1: "
            "compute them in float64",
        ),
        (
            listed("mover", lambda found, states: np.where(found == OVER, I8(5), found)),
            r"game own: mover returned 5, expected a player, -1 \(over\) or -2 \(chance\)",
        ),
        (
            listed("public", lambda found, states: found.astype(float)),
            r"game own: public returned float64\[64\], expected int64\[64\]",
        ),
        (listed("public", lambda found, states: found - 9), r"game own: public returned -\d, expected codes from 0"),
        (listed("private", lambda found, states: None), r"game own: private returned NoneType, expected int64\[64\]"),
        (
            listed("apply", lambda found, states: states),
            "game own: apply returned something, but has to change the states that it is given",
        ),
        (
            listed("utilities", lambda found, states: found.astype(F32)),
            r"game own: utilities returned float32\[64, 2\], expected float64\[64, 2\]",
        ),
        (Broken, r"game own: private raised IndexError: .* \(.*test_tree_checks\.py, line \d+\)"),
    ],
)
def test_what_only_the_tree_shows(make: Callable[[], Any], expected: str, register: Callable[[Any], None]) -> None:
    register(make)
    with pytest.raises(UsageError, match=f"^{expected}$"):
        check_game("own", {}, games=64)


def test_large_trees_are_not_built(register: Callable[[Any], None]) -> None:
    register(Own)
    for most, built in ((40, True), (39, False)):
        result = check_game("own", {}, games=8, most_nodes=most)
        assert (result["tree"] is not None) == built
    assert result["checked"]["tree"] == "not checked: it has more than 39 nodes, or more than fit into memory"
