"""Games without a tree and incorrect games: each is refused in one line."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.extensive import CHANCE, OVER, FactoredGame
from envs.game import States
from envs.geister import Geister
from envs.goofspiel import Goofspiel
from envs.guandan import GuanDan
from envs.kuhn import Kuhn
from envs.tree import ImperfectRecall, NoConstantSum, Tree, TreeTooLarge, assemble, compile_tree
from learners.cfr.players_form import players_form
from tests.envs.sketch import Sketch


class Pennies(Sketch):
    """Chance tosses a coin that no player sees; both players choose a side, hidden. A base to build wrong games on."""

    STATE = np.dtype([("mover", np.int8), ("chosen", np.int8, (3,)), ("length", np.int8)])
    PLAYERS = 2

    def __init__(self) -> None:
        super().__init__("pennies", size=2, most=self.PLAYERS)
        self.spec = replace(self.spec, num_players=self.PLAYERS)

    def initial(self, batch: int) -> States:
        states = np.zeros(batch, self.STATE)
        states["mover"] = CHANCE
        return states

    def chance(self, states: States) -> NDArray[np.float64]:
        return np.full((len(states), 2), 0.5)

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        states["chosen"][np.arange(len(states)), states["length"]] = choices
        states["length"] += 1
        states["mover"] = np.array([CHANCE, 0, 1, OVER])[states["length"]]

    def utilities(self, states: States) -> NDArray[np.float64]:
        won = np.where(states["mover"] == OVER, np.where(states["chosen"].sum(1) % 2, 1.0, -1.0), 0.0)
        return np.stack([won, -won], axis=1)

    def observe(self, states: States, players: NDArray[np.int8]) -> NDArray[np.uint8]:
        return np.repeat(np.asarray(players, np.uint8)[:, None], 2, axis=1)


def test_what_nobody_sees_parts_no_infosets() -> None:
    tree = compile_tree(Pennies())
    assert (tree.num_nodes, tree.num_infosets, tree.num_public_states) == (15, (1, 1), 4)
    assert np.bincount(tree.infoset[tree.infoset >= 0]).tolist() == [2, 4]
    assert tree.parent_slot.tolist() == [-1, -1]


class Codes(Pennies):
    """Both choices are seen, by codes that are as large as codes may be."""

    def public(self, states: States) -> NDArray[np.int64]:
        said = states["chosen"][np.arange(len(states)), np.maximum(states["length"], 1) - 1].astype(np.int64)
        return np.where(states["length"] > 1, 2**63 - 1 - said, 2**62)


def test_codes_of_any_size_are_told_apart() -> None:
    tree = compile_tree(Codes())
    assert (tree.num_infosets, tree.num_public_states) == ((1, 2), 8)


class Careless(Pennies):
    """Names the actions of players where chance is to move, too."""

    def legal(self, states: States) -> NDArray[np.bool_]:
        return np.repeat((states["mover"] != OVER)[:, None], 2, axis=1)


def test_actions_of_players_do_not_count_where_chance_is_to_move() -> None:
    tree, careless = compile_tree(Pennies()), compile_tree(Careless())
    for name in ("mover", "parent", "action", "probability", "utility", "infoset"):
        assert np.array_equal(getattr(careless, name), getattr(tree, name)), name


class HiddenTurn(Pennies):
    """Heads gives player 0 both moves, tails gives player 1 the first one; neither is told how the coin fell."""

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        super().apply(states, choices)
        states["mover"][(states["length"] == 1) & (states["chosen"][:, 0] == 1)] = 1
        states["mover"][states["length"] == 2] = 0


def test_a_player_who_has_moved_knows_it_from_one_who_has_not() -> None:
    """Player 0 tells a first action, even that of number 0, from the turn of another that is not seen."""
    tree = compile_tree(HiddenTurn())
    assert tree.num_infosets == (4, 1)
    assert tree.parent_slot.tolist() == [-1, 0, 1, -1, -1]
    assert np.bincount(tree.infoset[tree.infoset >= 0]).tolist() == [1, 1, 1, 2, 1]


class Untimed(Pennies):
    """Infosets are told apart by packed infostates, and both players see the same empty one."""

    timed: ClassVar[bool] = False

    def observe(self, states: States, players: NDArray[np.int8]) -> NDArray[np.uint8]:
        return np.zeros((len(states), 2), np.uint8)


def test_equal_infostates_of_two_players_are_two_infosets() -> None:
    tree = compile_tree(Untimed())
    assert tree.num_infosets == (1, 1)
    at = np.flatnonzero(tree.mover >= 0)
    assert np.array_equal(tree.player[tree.infoset[at]], tree.mover[at])


class Forgetful(Pennies):
    """Player 1 has another action where player 0 chose 1, of which he sees nothing."""

    def legal(self, states: States) -> NDArray[np.bool_]:
        legal = super().legal(states)
        legal[(states["mover"] == 1) & (states["chosen"][:, 1] == 1), 0] = False
        return legal


class OtherActions(Forgetful):
    """As many actions everywhere, but not the same ones."""

    def legal(self, states: States) -> NDArray[np.bool_]:
        legal = super().legal(states)
        legal[(states["mover"] == 1) & (states["chosen"][:, 1] == 0), 1] = False
        return legal


class Leaky(Pennies):
    """The packed infostate of player 1 shows player 0's choice."""

    def observe(self, states: States, players: NDArray[np.int8]) -> NDArray[np.uint8]:
        packed = super().observe(states, players)
        packed[:, 1] = states["chosen"][:, 1]
        return packed


class Generous(Pennies):
    """Both win after two tails."""

    def utilities(self, states: States) -> NDArray[np.float64]:
        utilities = super().utilities(states)
        utilities[(states["mover"] == OVER) & (states["chosen"].sum(1) == 3)] = 2.0
        return utilities


class Stuck(Pennies):
    """Player 1 is to move and can do nothing."""

    def legal(self, states: States) -> NDArray[np.bool_]:
        return super().legal(states) & (states["mover"] == 0)[:, None]


class Biased(Pennies):
    """The coin falls on neither side now and then."""

    def chance(self, states: States) -> NDArray[np.float64]:
        return np.full((len(states), 2), 0.45)


class Negative(Pennies):
    """The coin falls on one side less often than never."""

    def chance(self, states: States) -> NDArray[np.float64]:
        return np.tile([-0.5, 1.5], (len(states), 1))


class Narrow(Pennies):
    """The array of legal actions lacks a column."""

    def legal(self, states: States) -> NDArray[np.bool_]:
        return super().legal(states)[:, :1]


class Counted(Pennies):
    """Legal actions are numbers."""

    def legal(self, states: States) -> Any:
        return super().legal(states).astype(np.int64)


class Early(Pennies):
    """Returns are told before the end."""

    def utilities(self, states: States) -> NDArray[np.float64]:
        return super().utilities(states) + np.array([0.25, -0.25])


class Flat(Pennies):
    """The probabilities of the coin have one axis."""

    def chance(self, states: States) -> NDArray[np.float64]:
        return np.array([0.5, 0.5])


class Below(Pennies):
    """Codes from -1: player 0 sees the coin and one's own move, and would take tails and heads for one history."""

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        seen = states["chosen"][np.arange(len(states)), states["length"] - 1].astype(np.int64)
        return np.where((player == 0) & (states["length"] < 3), seen - 1, 0)


class Likely(Pennies):
    """A probability in place of a code."""

    def public(self, states: States) -> NDArray[np.int64]:
        return np.full(len(states), 0.5)  # type: ignore[arg-type]


class Copying(Pennies):
    """Plays on a copy."""

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        super().apply(states.copy(), choices)


class Endless(Sketch):
    """Player 0 ends the game by 0 and continues by 1, any number of times; random games end soon."""

    def __init__(self, most: int) -> None:
        super().__init__("endless", size=2, most=most)

    def initial(self, batch: int) -> States:
        return np.zeros(batch, np.dtype([("mover", np.int8), ("won", float), ("length", np.int64)]))

    def chance(self, states: States) -> NDArray[np.float64]:
        return np.ones((len(states), 1))

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        states["length"] += 1
        states["mover"] = np.where(choices == 0, OVER, 0)

    def observe(self, states: States, players: NDArray[np.int8]) -> NDArray[np.uint8]:
        return np.stack([states["length"] >> 8, states["length"] & 255], axis=1).astype(np.uint8)


def test_a_game_that_runs_on_is_refused_at_its_most_decisions() -> None:
    started = time.perf_counter()
    for most in (3, 200):
        told = f"^endless: a game still runs after {most} decisions, spec.max_plies: end it by then, or raise max_plies"
        with pytest.raises(ValueError, match=told):
            compile_tree(Endless(most))
    assert time.perf_counter() - started < 10


class Three(Pennies):
    """A game of three players."""

    PLAYERS = 3


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (Forgetful, ImperfectRecall, "pennies: an infoset has nodes with different legal actions"),
        (OtherActions, ImperfectRecall, "pennies: an infoset has nodes with different legal actions"),
        (Leaky, ValueError, r"pennies: a packed infostate reveals more than the player has observed: player 1 [^\n]+"),
        (
            Generous,
            NoConstantSum,
            r"solvers need two players [^\n]+, and pennies has returns \[2.0, 2.0\], and others that sum to 0: [^\n]+",
        ),
        (Stuck, ValueError, "pennies: a state that has not ended has no legal action"),
        (Narrow, ValueError, r"pennies: legal returned an array \(256, 1\), expected \(256, 2\)"),
        (Counted, ValueError, r"pennies: legal returned int64, expected truth values \(bool\)"),
        (Early, ValueError, "pennies: utilities returned 0.25 while the game runs, expected zeros"),
        (Flat, ValueError, r"pennies: chance returned an array \(2,\), expected an array \(256, outcomes\)"),
        (Biased, ValueError, r"pennies: chance [^\n]* \[0.45, 0.45\], which sum to 0.9, expected [^\n]* sum to 1"),
        (
            Negative,
            ValueError,
            r"pennies: chance returned \[-0.5, 1.5\], expected probabilities, of which none is negative",
        ),
        (Below, ValueError, "pennies: private returned -1, expected codes from 0"),
        (Likely, ValueError, "pennies: public returned float64, expected integers"),
        (Copying, ValueError, r"pennies: apply did not change the state at the choice [01]: it has to change [^\n]+"),
        (
            Three,
            NoConstantSum,
            r"solvers need two players [^\n]+, and pennies has 3 players: [^\n]+",
        ),
    ],
)
def test_games_that_have_no_such_tree(make: Callable[[], FactoredGame], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=f"^{told}$"):
        compile_tree(make())


class Majority(Pennies):
    """Three players choose a side, hidden; a player alone on a side pays 2, and the coin gives player 0 one more."""

    STATE = np.dtype([("mover", np.int8), ("chosen", np.int8, (4,)), ("length", np.int8)])
    PLAYERS = 3

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        states["chosen"][np.arange(len(states)), states["length"]] = choices
        states["length"] += 1
        states["mover"] = np.array([CHANCE, 0, 1, 2, OVER])[states["length"]]

    def utilities(self, states: States) -> NDArray[np.float64]:
        sides = states["chosen"][:, 1:]
        alone = (sides[:, :, None] == sides[:, None, :]).sum(axis=2) == 1
        found = np.where(alone, -2.0, 0.0)
        found[:, 0] += states["chosen"][:, 0]
        return np.where((states["mover"] == OVER)[:, None], found, 0.0)


def test_exact_evaluations_have_trees_of_more_players_and_any_returns() -> None:
    tree = compile_tree(Majority(), general=True)
    assert (tree.num_players, tree.num_infosets, tree.num_nodes) == (3, (1, 1, 1), 1 + 2 + 4 + 8 + 16)
    policy = np.array([1.0, 0.0, 0.0, 1.0, 0.5, 0.5])  # 0 and 1 are apart, and the third player joins either
    found = players_form(tree).evaluate(policy)
    assert found.values == (0.5 - 1.0, -1.0, 0.0)
    assert found.gains == (1.0, 1.0, 0.0)  # each of the two is alone every other time, and never beside the other
    together = players_form(tree).evaluate(np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0]))
    assert (together.values, together.gains) == ((0.5, 0.0, -2.0), (0.0, 0.0, 2.0))
    assert (together.nash_conv, together.exploitability) == (2.0, 2.0 / 3)


@pytest.mark.parametrize("game", [Geister(), GuanDan(), "kuhn", None], ids=["geister", "guandan", "text", "nothing"])
def test_what_cannot_be_enumerated(game: Any) -> None:
    with pytest.raises(
        TypeError,
        match=r"^[^\n]+ has no tree: (its rules draw chance|trees need a game with numbered actions)[^\n]+$",
    ):
        compile_tree(game)


def test_trees_that_are_too_large() -> None:
    assert compile_tree(Kuhn(), 58).num_nodes == 58
    for most in (57, 5, 1, 0):
        with pytest.raises(TreeTooLarge, match=rf"^kuhn has more nodes than the {most} allowed[:,] [^\n]+$"):
            compile_tree(Kuhn(), most)
    started = time.perf_counter()
    with pytest.raises(TreeTooLarge, match=r"^goofspiel has more nodes than the 200,000 allowed[:,] [^\n]+$"):
        compile_tree(Goofspiel(13, "random"), 200_000)
    assert time.perf_counter() - started < 10  # refused before it is made


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ([0, 1, 1], "alone: a player forgets an own action"),  # what he did a move ago
        ([0, 0, 1], "alone: a player forgets an own action"),  # that he has moved
        ([0, 1, 2], None),
    ],
)
def test_imperfect_recall_of_own_actions(keys: list[int], told: str | None) -> None:
    """Player 0 moves twice; trees that come with infosets of their own may have forgotten the first move."""
    nodes = {
        "mover": np.array([0, 0, 0, *[OVER] * 4]),
        "parent": np.array([-1, 0, 0, 1, 1, 2, 2]),
        "action": np.array([-1, 0, 1, 0, 1, 0, 1]),
        "probability": np.ones(7),
        "utility": np.array([0, 0, 0, 1.0, 2, 3, 4]),
    }
    all_keys, observed = np.array([*keys, *[-1] * 4]), np.zeros((7, 1), np.uint8)

    def make() -> Tree:
        return assemble("alone", 2, [1, 2, 4], nodes, all_keys, observed, started=time.perf_counter())

    if told is None:
        tree = make()
        assert tree.num_infosets == (3, 0)
        assert tree.parent_slot.tolist() == [-1, 0, 1]
        assert tree.num_public_states is None
    else:
        with pytest.raises(ImperfectRecall, match=f"^{told}$"):
            make()


@pytest.mark.parametrize(
    ("chances", "told"),
    [
        ((1.5, -0.5), "alone: chance has the probability -0.5"),
        ((0.5, 0.4), r"alone: the probabilities of chance must sum to 1, got 0\.9 at node 0"),
        ((0.5, float("nan")), "alone: the probabilities of chance must sum to 1, got nan at node 0"),
    ],
)
def test_chances_of_trees_that_come_with_their_nodes(chances: tuple[float, float], told: str) -> None:
    nodes = {
        "mover": np.array([CHANCE, OVER, OVER]),
        "parent": np.array([-1, 0, 0]),
        "action": np.array([-1, 0, 1]),
        "probability": np.array([1.0, *chances]),
        "utility": np.array([0, 1.0, -1.0]),
    }
    keys, observed = np.full(3, -1), np.zeros((3, 1), np.uint8)
    with pytest.raises(ValueError, match=f"^{told}$"):
        assemble("alone", 2, [1, 2], nodes, keys, observed, started=time.perf_counter())
