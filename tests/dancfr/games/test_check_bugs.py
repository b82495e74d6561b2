"""Each bug of a new game is refused by `dancfr games NAME --check` in one line."""

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.games.checks import check_game
from envs.extensive import OVER
from envs.game import GameSpec, IllegalAction, States
from envs.kuhn import Kuhn
from tests.dancfr.games.own_game import Own, other, told, variant


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
    "encode by batch": (
        other("encode", lambda found, packed: found / max(1, len(packed))),
        "encode returned another row for a game alone than for the same game in a batch of 64: a row may depend on no",
    ),
    "observe by batch": (
        other("observe", lambda found, s: found + (len(s) < 2)),
        "observe returned another row for a game alone than for the same game in a batch of 64: a row may depend on no",
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
