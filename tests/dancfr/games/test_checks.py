"""Tests of `dancfr games NAME --check`: our games pass, and each bug of a new game is refused in one line."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.games import registry
from dancfr.games.checks import check_game
from dancfr.games.registry import GAMES, make_game
from envs.extensive import OVER, FactoredGame
from envs.game import GameSpec, IllegalAction, States
from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.kuhn.rules import NONE
from envs.record import GameRecord
from tests import games as small
from tests.dancfr.outcomes import Command

ZOO, SPIEL = "pettingzoo:pettingzoo.classic.tictactoe_v3", "openspiel:kuhn_poker"
NODES = {"kuhn": 58, "leduc": 9457, "oshi_zumo": 15321, "oshi_zumo8_k1": 15321, "oshi_zumo8_k3": 19305, SPIEL: 58}
"""Sizes of the trees that are small enough for this test, as docs/explanation/trees-and-cfr.md has them."""


@pytest.mark.parametrize("name", [*registry.all_games(), ZOO, SPIEL])
def test_every_game_passes(name: str) -> None:
    if name == SPIEL:
        pytest.importorskip("pyspiel")
    result = check_game(name, {}, games=32, most_nodes=20_000)
    assert all(re.match(r'encode\(..., "\w+"\) makes ', line) for line in result["warnings"])  # see test_recall_checks
    if name == "guandan":
        assert (result["games"], list(result["checked"])) == (0, ["spec", "rules", "record"])
        return
    parts = ["spec", "decisions", "step", "infostates", "words", "returns", "endings", "repetition", "record", "tree"]
    if not isinstance(make_game(name), FactoredGame):
        parts.remove("words")
    if name in (ZOO, SPIEL):
        parts.remove("record")
    assert list(result["checked"]) == parts
    counts = [int(part.rsplit(" ", 1)[1]) for part in result["checked"]["endings"].split(", ")]
    assert sum(counts) == result["games"] == 32
    assert (result["tree"] or {}).get("nodes") == NODES.get(name)
    if result["tree"] is None:
        assert result["checked"]["tree"].startswith("not checked: ")


def test_games_of_more_players_pass_without_a_tree() -> None:
    result = check_game("cheat", {"players": 4, "ranks": 4}, games=16)
    assert result["checked"]["spec"].startswith("4 players, ")
    assert result["checked"]["tree"].startswith("not checked: cheat has too many deals to list, and therefore no tree")
    assert result["warnings"] == []


def test_options_reach_the_checked_game() -> None:
    assert check_game("kuhn", {"cards": 5}, games=16)["tree"] == {"nodes": 186, "infosets_by_player": [10, 10]}


@dataclass(frozen=True)
class Own(Kuhn):
    """Kuhn poker whose first action must be a pass, so that there are illegal actions; the base of other classes."""

    changes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "spec", replace(self.spec, name="own", **self.changes))

    def legal(self, states: States) -> NDArray[np.bool_]:
        legal = super().legal(states)
        legal[states["length"] == 0, 1] = False
        return legal


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], None]:
    """Registers a function that makes a game as ``own``."""

    def add(make: Callable[..., Any]) -> None:
        entry = GameRecord("own", make, {}, "a game of one's own")
        monkeypatch.setattr(registry, "all_games", lambda: {**GAMES, "own": entry})

    return add


def variant(**methods: Any) -> Callable[[], Any]:
    """Returns a class of `Own` with other methods."""
    return type("Variant", (Own,), methods)


def told(spec: Any = None, **changes: Any) -> Callable[[], Any]:
    """Returns a function that makes an `Own` with other constants."""
    return lambda: Own(changes=changes)


def other(method: str, change: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    """Returns a class of `Own` whose `method` returns `change(right result, first argument)`."""
    right = getattr(Own, method)
    return variant(**{method: lambda self, first, *rest: change(right(self, first, *rest), first)})


def listed(method: str, change: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    """The same, for faults that random games do not show: sent to a worker, it is an `Own`."""
    right = getattr(Own, method)
    changed = lambda self, first, *rest: change(right(self, first, *rest), first)  # noqa: E731
    return variant(**{method: changed, "__reduce__": lambda self: (Own, ())})


def late(game: Any, states: States, actions: Any, rng: Any) -> None:
    """Plays in a loop, and so has played some actions when one is refused."""
    for b in np.flatnonzero(game.to_move(states) >= 0):
        one = states[b : b + 1]
        if not game.legal(one)[0, actions[b]]:
            raise IllegalAction(f"game {b}")
        game.apply(one, actions[b : b + 1])


def careless(game: Any, states: States, actions: Any, rng: Any) -> None:
    """Plays whatever it is told."""
    game.apply(states, np.asarray(actions))


def noisy(game: Any, states: States, actions: Any, rng: Any) -> None:
    """Changes games that have ended."""
    ended = game.finished(states)
    Own.step(game, states, actions, rng)
    states["stake"][ended] += 1


def hurried(game: Any, states: States, actions: Any, rng: Any) -> None:
    """Refuses by another exception."""
    running = states["mover"] >= 0
    if not game.legal(states)[np.arange(len(states)), actions][running].all():
        raise KeyError("illegal")
    Own.step(game, states, actions, rng)


def unlike(game: Any, batch: int, rng: Any) -> States:
    """Draws from a generator of its own."""
    return Own.reset(game, batch, np.random.default_rng())


def peek(packed: Any, states: States) -> Any:
    """Adds the sum of both cards to the infostate."""
    packed[:, -1] = np.where(states["cards"][:, 1] == NONE, 0, states["cards"].sum(axis=1))
    return packed


class Forgetful(Own):
    """Loses an attribute when it is sent to a worker, and then deals otherwise."""

    dealt = False

    def __reduce__(self) -> Any:
        return Swapped, ()


class Swapped(Own):
    """Deals other cards."""

    def reset(self, batch: int, rng: np.random.Generator) -> States:
        return super().reset(batch, np.random.default_rng(5))


def forgetting_players(game: Any, states: States, choices: NDArray[np.integer]) -> None:
    """Plays the choices of players on a copy."""
    dealt = states["mover"] < 0
    played = states[dealt]
    Own.apply(game, played, choices[dealt])
    states[dealt] = played


def counting(game: Any, batch: int) -> States:
    """Adds a number of outcomes to the states."""
    plain = Own.initial(game, batch)
    states = np.zeros(batch, np.dtype([*plain.dtype.descr, ("rolls", np.int64)]))
    for name in plain.dtype.names or ():
        states[name] = plain[name]
    return states


def rolling(game: Any, states: States, choices: NDArray[np.integer]) -> None:
    """Counts outcomes of chance without an end."""
    states["rolls"] += 1


class Unpicklable(Own):
    """Cannot be sent."""

    def __reduce__(self) -> Any:
        raise TypeError("no")


F32, I8 = np.float32, np.int8

BUGS: dict[str, tuple[Callable[[], Any], str]] = {
    "other name": (Kuhn, "spec.name is 'kuhn', expected 'own', the name on the command line"),
    "no actions": (told(num_actions=0), "spec.num_actions is 0, expected a positive whole number"),
    "no bytes": (told(packed_size=0), "spec.packed_size is 0, expected a positive whole number"),
    "no plies": (told(max_plies=0), "spec.max_plies is 0, expected a positive whole number"),
    "no return": (told(max_return=0.0), "spec.max_return is 0.0, expected a positive number"),
    "no shapes": (told(shapes={}), "spec.shapes is {}, expected named shapes, tuples of"),
    "shape of 0": (told(shapes={"flat": (0,)}), "spec.shapes is {'flat': (0,)}, expected named shapes"),
    "shape is not a tuple": (told(shapes={"flat": 11}), "spec.shapes is {'flat': 11}, expected named shapes"),
    "few outputs": (told(slots={"action": 1}), "spec.slots is {'action': 1}, expected 2 outputs in the first layout"),
    "no layouts": (told(slots={}), "spec.slots is {}, expected 2 outputs in the first layout"),
    "no endings": (told(endings=("over",)), "spec.endings is ('over',), expected a name of running games"),
    "default endings": (
        told(endings=("running", "fold", "call")),
        "spec.endings is ('running', 'fold', 'call'), but endings is not overridden and returns only 0 and 1",
    ),
    "no methods": (lambda: Lacking(), "Lacking lacks reset, to_move, "),
    "reset": (variant(reset=lambda self, batch, rng: [0]), "reset returned list of shape (1,), expected a structured"),
    "reset of another size": (
        variant(reset=lambda self, batch, rng: Own.reset(self, 3, rng)),
        "reset returned ndarray of shape (3,), expected a structured array of 64 records",
    ),
    "an exception": (other("legal", lambda found, states: found[:, 5]), "legal raised IndexError: index 5 is out of"),
    "its line": (other("legal", lambda found, states: found[:, 5]), f" ({__file__}, line "),
    "finished type": (
        other("finished", lambda found, s: found.astype(I8)),
        "finished returned int8[64], expected bool[64]",
    ),
    "to_move type": (
        other("to_move", lambda found, s: found.astype(int)),
        "to_move returned int64[64], expected int8[64]",
    ),
    "mover of ended": (
        other("to_move", lambda found, s: np.maximum(found, 0)),
        "to_move returned 0 for a game that has ended, expected -1",
    ),
    "mover unknown": (
        other("to_move", lambda found, s: np.where(found == 1, 2, found).astype(I8)),
        "to_move returned 2 for a game that still runs, expected a player from 0 to 1",
    ),
    "legal shape": (other("legal", lambda found, s: found[:, :1]), "legal returned bool[64, 1], expected bool[64, 2]"),
    "nothing legal": (
        other("legal", lambda found, s: found & (s["length"] < 1)[:, None]),
        "legal returned [False, False] for a game that still runs, expected at least one legal action",
    ),
    "legal after the end": (
        other("legal", lambda found, s: found | (s["mover"] == OVER)[:, None]),
        "legal returned [True, True] for a game that has ended, expected no action",
    ),
    "observe shape": (
        other("observe", lambda found, s: found[:, 1:]),
        "observe returned uint8[64, 4], expected uint8[64, 5]",
    ),
    "observe type": (
        other("observe", lambda found, s: found.astype(F32)),
        "observe returned float32[64, 5], expected uint8",
    ),
    "encode shape": (
        other("encode", lambda found, packed: found[:, :10]),
        'encode(..., "flat") returned float32[64, 10], expected float32[64, 11], since spec.shapes["flat"] is (11,)',
    ),
    "encode type": (
        other("encode", lambda found, p: found.astype(float)),
        'encode(..., "flat") returned float64[64, 11]',
    ),
    "encode not finite": (
        other("encode", lambda found, packed: found / F32(0)),
        'encode(..., "flat") returned numbers that are not finite',
    ),
    "slots type": (
        other("output_slots", lambda found, packed: found.astype(int)),
        'output_slots(..., "action") returned int64[64, 2, 1], expected int16[64, 2, K]',
    ),
    "slots too high": (
        other("output_slots", lambda found, packed: found + np.int16(1)),
        'output_slots(..., "action") returned values from 1 to 2, expected -1 to 1',
    ),
    "slots missing": (
        other("output_slots", lambda found, packed: np.where(found == 1, np.int16(-1), found)),
        'output_slots(..., "action") returned only -1 for the legal action 1, expected at least one output',
    ),
    "illegal is played": (variant(step=careless), "step played the illegal action 1, expected envs.game.IllegalAction"),
    "illegal is refused otherwise": (
        variant(step=hurried),
        "step raised KeyError: 'illegal' for the illegal action 1, expected",
    ),
    "illegal is late": (
        variant(step=late),
        "step refused the illegal action 1 but changed states: check all actions first",
    ),
    "ended changes": (variant(step=noisy), "step changed a game that had ended: (-1, "),
    "describe type": (
        other("describe", lambda found, state: found.encode()),
        "describe returned b'cards ",
    ),
    "describe of lines": (
        other("describe_hand", lambda found, state: f"a hand\n{found}"),
        "expected one line of text",
    ),
    "describe_action": (
        other("describe_action", lambda found, action: ["pass"][action]),
        "describe_action raised IndexError: list index out of range",
    ),
    "exits": (other("legal", lambda found, states: sys.exit(0)), "legal raised SystemExit: 0"),
    "part of a player": (told(num_players=2.0), "spec.num_players is 2.0, expected a positive whole number"),
    "endless": (told(max_plies=float("inf")), "spec.max_plies is inf, expected a positive whole number"),
    "infinite return": (told(max_return=float("inf")), "spec.max_return is inf, expected a positive number"),
    "chance stays": (
        variant(apply=lambda self, states, choices: Own.apply(self, states.copy(), choices)),
        "reset raised ValueError: own: apply did not change the state at the choice ",
    ),
    "players stay": (
        variant(apply=forgetting_players),
        "apply did not change the state at the choice 0: it has to change the states that it is given, in place",
    ),
    "chance moves on forever": (
        variant(initial=counting, apply=rolling),
        "reset raised ValueError: own: after 10,000 outcomes of chance in a row chance is still to move; `apply` has",
    ),
    "chance is not a number": (
        other("chance", lambda found, states: found * np.nan),
        "reset raised ValueError: own: chance returned [nan, nan, nan",
    ),
    "chance is negative": (
        other("chance", lambda found, states: found - np.eye(1, found.shape[1]) + np.eye(1, found.shape[1], 1)),
        "], expected probabilities, of which none is negative (",
    ),
    "chance of one axis": (
        variant(chance=lambda self, states: np.array([0.5, 0.5])),
        "reset raised ValueError: own: chance returned an array (2,), expected an array (64, outcomes)",
    ),
    "chance is a list": (
        variant(chance=lambda self, states: [[0.5, 0.5]] * len(states)),
        "reset raised ValueError: own: chance returned list, expected an array (64, outcomes)",
    ),
    "chance is too small": (
        other("chance", lambda found, states: found * 0.9),
        ", which sum to 0.9, expected probabilities that sum to 1 (",
    ),
    "return type": (
        other("returns", lambda found, s: found.astype(float)),
        "returns returned float64[64, 2], expected float32",
    ),
    "return while running": (
        other("returns", lambda found, s: np.where(s["mover"][:, None] == 1, F32(1), found)),
        "returns returned [1.0, 1.0] for a game that still runs, expected zeros",
    ),
    "return too large": (
        told(max_return=1.0),
        "] for a game that has ended, expected at most 1, spec.max_return",
    ),
    "too long": (
        told(max_plies=1),
        "finished returned False for a game that still runs, expected True after 1 decisions, spec.max_plies",
    ),
    "ending while running": (
        other("endings", lambda found, s: np.ones_like(found)),
        "endings returned 1 for a game that still runs, expected 0",
    ),
    "ending unknown": (
        other("endings", lambda found, s: found * I8(2)),
        "endings returned 2 for a game that has ended, expected 1 to 1, see spec.endings",
    ),
    "another generator": (variant(reset=unlike), "the same seed gave other games in a second play, after 0 decisions"),
    "another as a copy": (
        Forgetful,
        "the same seed gave other games by a copy, after 0 decisions",
    ),
    "not picklable": (Unpicklable, "pickling, by which games are sent to workers, raised TypeError: no"),
}


class Lacking:
    """A game with nothing but a spec."""

    spec: GameSpec = Own().spec


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_told_in_one_line(bug: str, register: Callable[[Any], None]) -> None:
    make, expected = BUGS[bug]
    register(make)
    with np.errstate(all="ignore"), pytest.raises(UsageError, match=re.escape(expected)) as caught:
        check_game("own", {}, games=64)
    assert str(caught.value).startswith("game own: ")
    assert "\n" not in str(caught.value)


def test_the_base_of_the_bugs_has_none(register: Callable[[Any], None]) -> None:
    register(Own)
    result = check_game("own", {}, games=64)
    assert result["checked"]["step"] == "illegal actions are refused; finished games do not change"
    assert result["checked"]["endings"] == "over 64"
    assert result["tree"] == {"nodes": 1 + 3 + 6 + 6 + 12 + 12, "infosets_by_player": [6, 3]}


def test_a_game_that_lists_no_chances_passes_without_a_tree(register: Callable[[Any], None]) -> None:
    game = small.random_game(3)
    object.__setattr__(game, "spec", replace(game.spec, name="own"))
    register(lambda: game)
    result = check_game("own", {}, games=64)
    assert result["tree"] is None
    assert result["checked"]["tree"].startswith("not checked: its rules draw chance events without listing")
    assert result["checked"]["step"].startswith("illegal actions are refused")
    assert result["checked"]["infostates"] == "observe, encode flat, output_slots action, dense, sum"


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        ("pig(horizon=4,winscore=4)", "280 nodes, 40 and 42 infosets; no leak in observe, perfect recall"),
        ("kuhn_poker(players=3)", "617 nodes, 16 and 16 and 16 infosets; no leak in observe, perfect recall"),
        ("python_kuhn_poker", "58 nodes, 6 and 6 infosets; no leak in observe, perfect recall"),
        ("dark_hex_ir(num_cols=2,num_rows=2)", "none: a player forgets an own action, and solvers need perfect recall"),
    ],
)
def test_a_game_of_openspiel_passes_with_or_without_a_tree(name: str, tree: str) -> None:
    pytest.importorskip("pyspiel")
    result = check_game(f"openspiel:{name}", {}, games=16)
    assert result["checked"]["tree"] == tree
    assert result["checked"]["repetition"].startswith("the same seed and actions give the same games")
    assert (result["tree"] is None) == tree.startswith("none")


class Unset(Own):
    """Has a field that nothing fills."""

    def initial(self, batch: int) -> States:
        plain = super().initial(batch)
        states = np.zeros(batch, np.dtype([*plain.dtype.descr, ("unset", float)]))
        for name in plain.dtype.names or ():
            states[name] = plain[name]
        states["unset"] = np.nan
        return states


def test_a_game_that_exits_is_no_success(register: Callable[[Any], None], command: Command) -> None:
    register(other("legal", lambda found, states: sys.exit(0)))
    outcome = command("evaluate", "random", "--game", "own", "--against", "random", "--games", "20", "--json")
    assert (outcome.code, outcome.out) == (1, "")
    assert re.match(r"dancfr: code of a game or an agent called sys\.exit\(0\) \(.*, line \d+\)$", outcome.err)


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
    assert result["warnings"] == ["the returns of a game sum to 2; most learners need a sum of 0; trees shift them"]
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
        (Broken, r"game own: private raised IndexError: .* \(.*test_checks\.py, line \d+\)"),
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


class Unfinished(FactoredGame):
    """Lacks all methods."""


def test_an_abstract_class_is_refused_in_one_line(register: Callable[[Any], None]) -> None:
    register(Unfinished)
    expected = (
        r"^own: the game cannot be made: TypeError: Can't instantiate abstract class Unfinished [^\n]*chance[^\n]*$"
    )
    with pytest.raises(UsageError, match=expected):
        make_game("own")


def test_the_command_prints_lines_or_one_object(command: Command) -> None:
    text = command("games", "kuhn", "--check", "--option", "cards=5")
    assert text.code == 0
    lines = text.out.splitlines()
    assert lines[0] == "kuhn: 256 random games, no error found"
    assert lines[-1] == "tree        186 nodes, 10 and 10 infosets; no leak in observe, perfect recall"
    assert [line.split()[0] for line in lines[1:]] == [
        *("spec", "decisions", "step", "infostates", "words", "returns", "endings", "repetition", "record", "tree")
    ]
    told = json.loads(command("games", "kuhn", "--check", "--option", "cards=5", "--json").out)
    assert told["tree"] == {"nodes": 186, "infosets_by_player": [10, 10]}
    assert command("games", "guandan", "--check").out.startswith("guandan: no games played, no error found\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--check"], "dancfr: --check needs the NAME of a game, see `dancfr games`\n"),
        (["kuhn", "--option", "cards=5"], "dancfr: --option is the option of a game to --check: give --check too\n"),
        (["kuhn", "--check", "--option", "card=5"], "dancfr: no option of kuhn named 'card'; did you mean cards?\n"),
        (
            ["kuhm", "--check"],
            "dancfr: no game named 'kuhm'; did you mean kuhn? (or pettingzoo:MODULE or openspiel:GAME)\n",
        ),
        (["kuhn", "--check", "--option", "cards=1"], "dancfr: kuhn: cards must be from 2 to 100, got 1\n"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments: list[str], expected: str, command: Command) -> None:
    outcome = command("games", *arguments)
    assert (outcome.code, outcome.err, outcome.out) == (2, expected, "")
