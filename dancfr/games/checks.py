"""Checks a game against the interface `envs.game.Game`: random games, and the tree if it has one.

They find the ordinary bugs of a new game: a wrong shape or type, a return while the game runs, a state that changes
after the end. `B` games are played in lock step; `A` is the number of actions.
"""

import traceback
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import islice, zip_longest
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dancfr.errors import UsageError, one_line
from dancfr.games.registry import make_game
from dancfr.games.trees import make_tree
from envs.chanceless import ChanceDrawn
from envs.extensive import ExtensiveGame, FactoredGame, ListedChance
from envs.game import Game, GameSpec, IllegalAction, RaggedGame, States
from envs.openspiel import OpenSpielGame
from envs.tree import TreeTooLarge

Bools = NDArray[np.bool_]
Plain = dict[str, Any]


def check_game(name: str, options: Plain, games: int = 256, seed: int = 0, most_nodes: int = 10**6) -> Plain:
    """Plays random games and checks what every method returns; then builds the tree, which finds leaks.

    Args:
        name, options: See `make_game`.
        games, seed, most_nodes: Number of random games, their seed, and the most nodes of a tree that is built.

    Returns:
        ``game``, ``games``, what was ``checked`` and found, the nodes and infosets of the ``tree``, if there is one,
        and ``warnings``, of what the interface allows but most learners do not.

    Raises:
        UsageError: the game cannot be made or breaks the interface: one line that says where.
    """
    subject = _Subject(name)
    subject.game = game = subject.attempt("its class", make_game, name, **options)
    result: Plain = {"game": name, "games": games, "checked": {}, "tree": None, "warnings": []}
    checked, spec = result["checked"], subject.attempt("reading its spec", _check_spec, subject)
    checked["spec"] = f"{spec.num_players} players, {spec.num_actions} actions, infostates of {spec.packed_size} bytes"
    if isinstance(game, RaggedGame):
        checked["rules"] = "not checked: only the spec of a game that lists its actions (RaggedGame) is checked"
        return result | {"games": 0}
    before: States | None = None
    for states in _plies(subject, games, seed):
        _check_states(subject, states, before)
        if isinstance(game, FactoredGame):
            _check_words(subject, states[0], first=before is None)
        before = states.copy()
    returns, counts = game.returns(states), np.bincount(game.endings(states), minlength=len(spec.endings))
    checked["decisions"] = f"at most {len(subject.shown) - 2} a game, where {spec.max_plies} are allowed"
    checked["step"] = f"{subject.refusal}; finished games do not change"
    checked["infostates"] = f"observe, encode {', '.join(spec.shapes)}, output_slots {', '.join(spec.slots)}"
    if isinstance(game, FactoredGame):
        checked["words"] = f"describe, describe_hand, describe_action of {spec.num_actions} actions"
    checked["returns"] = f"from {returns.min():g} to {returns.max():g}, where {spec.max_return:g} is allowed"
    checked["endings"] = ", ".join(f"{spec.endings[k]} {counts[k]}" for k in range(1, len(counts)))
    excess = max(returns.sum(axis=1).tolist(), key=abs)
    if unbalanced := spec.num_players == 2 and abs(excess) > 1e-5:
        result["warnings"] = [f"the returns of a game sum to {excess:g}; most learners, and trees, need a sum of 0"]
    _check_repetition(subject, game, games, seed, "in a second play")
    subject.attempt("pickling, by which games are sent to workers,", ForkingPickler.dumps, game)
    copied = subject.attempt("copying", deepcopy, game)  # by the same methods; nothing is unpickled in this program
    _check_repetition(subject, copied, games, seed, "by a copy")
    checked["repetition"] = "the same seed and actions give the same games, by a copy too; it can be pickled"
    if spec.num_players != 2 or unbalanced:
        checked["tree"] = "not checked: a tree needs two players and returns that sum to 0"
    else:
        checked["tree"], result["tree"] = _check_tree(subject, options, most_nodes)
    return result


class _Subject:
    """The game that is checked, what it showed after each decision, and what became of illegal ones."""

    def __init__(self, name: str, game: Any = None) -> None:
        self.name, self.game, self.refusal = name, game, "no action was illegal"
        self.shown: list[int] = []

    def wrong(self, text: str) -> UsageError:
        return UsageError(f"game {self.name}: {' '.join(text.split())}")  # records may be printed in several lines

    def attempt(self, what: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Calls a function; whatever the game of someone else raises becomes a UsageError that names the line."""
        try:
            return function(*arguments, **options)
        except UsageError:
            raise
        except Exception as error:
            last = [each for each in traceback.extract_tb(error.__traceback__) if "/numpy/" not in each.filename][-1]
            raise self.wrong(f"{what} raised {one_line(error)} ({last.filename}, line {last.lineno})") from error

    def array(self, method: str, kind: DTypeLike, shape: tuple[Any, ...], *arguments: Any, why: str = "") -> NDArray:
        """Calls a method that has to return an array of this type and shape; None in the shape is any length."""
        label = next((f'{method}(..., "{each}")' for each in arguments if isinstance(each, str)), method)
        found = self.attempt(label, getattr(self.game, method), *arguments)
        fits = isinstance(found, np.ndarray) and found.dtype == kind and found.ndim == len(shape)
        if not fits or any(length not in (None, got) for length, got in zip(shape, found.shape, strict=True)):
            lengths = ", ".join("K" if length is None else str(length) for length in shape)
            got = f"{found.dtype}{list(found.shape)}" if isinstance(found, np.ndarray) else type(found).__name__
            raise self.wrong(f"{label} returned {got}, expected {np.dtype(kind)}[{lengths}]{why}")
        if not np.isfinite(found).all():
            raise self.wrong(f"{label} returned numbers that are not finite")
        return np.asarray(found)

    def require(self, right: Bools, finished: Bools, method: str, found: NDArray, end: str, run: str) -> None:
        """Refuses the first of B games that is not `right`; `end` and `run` are expected of ended and running games."""
        if (at := np.flatnonzero(~right)).size:
            expected, which = (end, "that has ended") if finished[at[0]] else (run, "that still runs")
            raise self.wrong(f"{method} returned {found[at[0]].tolist()} for a game {which}, expected {expected}")


def _check_spec(subject: _Subject) -> GameSpec:
    """Checks the constants of the game, which it returns, and that the game has all methods."""
    game, ragged = subject.game, isinstance(subject.game, RaggedGame)
    if not ragged and (lacking := [name for name in vars(Game) if name[0] != "_" and not hasattr(game, name)]):
        raise subject.wrong(f"{type(game).__name__} lacks {', '.join(lacking)} of envs.game.Game")
    spec: GameSpec = game.spec
    if spec.name != subject.name:
        raise subject.wrong(f"spec.name is {spec.name!r}, expected {subject.name!r}, the name on the command line")
    for size in ("num_players", "num_actions", "packed_size", "max_plies", "max_return"):
        if not getattr(spec, size) > 0:
            raise subject.wrong(f"spec.{size} is {getattr(spec, size)}, expected a positive number")
    if not spec.shapes or not all(name and shape and min(shape) > 0 for name, shape in spec.shapes.items()):
        raise subject.wrong(f"spec.shapes is {spec.shapes}, expected named shapes of positive lengths")
    if not ragged and next(iter(spec.slots.values()), 0) != spec.num_actions:
        raise subject.wrong(f"spec.slots is {spec.slots}, expected {spec.num_actions} outputs in the first layout")
    if len(spec.endings) < 2:
        raise subject.wrong(f"spec.endings is {spec.endings}, expected a name of running games, then of all endings")
    if len(spec.endings) > 2 and getattr(type(game), "endings", None) is ListedChance.endings:
        raise subject.wrong(f"spec.endings is {spec.endings}, but endings is not overridden and returns only 0 and 1")
    return spec


def _plies(subject: _Subject, games: int, seed: int) -> Iterator[States]:
    """Plays random games, and one step more; yields the same array before and after each step."""
    game, rng, choose = subject.game, np.random.default_rng(seed), np.random.default_rng((seed, 1))
    states = subject.attempt("reset", game.reset, games, rng)
    if not isinstance(states, np.ndarray) or states.shape != (games,) or states.dtype.names is None:
        got = f"{type(states).__name__} of shape {np.shape(states)}"
        raise subject.wrong(f"reset returned {got}, expected a structured array of {games} records")
    yield states
    ended = False
    while not ended:
        ended, legal = game.finished(states).all(), game.legal(states)
        subject.attempt("step", game.step, states, (legal * choose.random(legal.shape)).argmax(axis=1), rng)
        yield states


def _check_states(subject: _Subject, states: States, before: States | None) -> None:
    """Checks what all methods return for B states, and that games that had ended `before` did not change."""
    game, spec, size = subject.game, subject.game.spec, len(states)
    finished = subject.array("finished", np.bool_, (size,), states)
    if before is not None and (at := np.flatnonzero(game.finished(before) & _changed(before, states))).size:
        raise subject.wrong(f"step changed a game that had ended: {before[at[0]]} became {states[at[0]]}")
    mover = subject.array("to_move", np.int8, (size,), states)
    right = np.where(finished, mover == -1, (mover >= 0) & (mover < spec.num_players))
    subject.require(right, finished, "to_move", mover, "-1", f"a player from 0 to {spec.num_players - 1}")
    legal = subject.array("legal", np.bool_, (size, spec.num_actions), states)
    subject.require(legal.any(axis=1) != finished, finished, "legal", legal, "no action", "at least one legal action")
    returns = subject.array("returns", np.float32, (size, spec.num_players), states)
    small = np.abs(returns).max(axis=1) <= np.where(finished, spec.max_return * (1 + 1e-6), 0)
    subject.require(small, finished, "returns", returns, f"at most {spec.max_return:g}, spec.max_return", "zeros")
    endings = subject.array("endings", np.int8, (size,), states)
    right = np.where(finished, (endings > 0) & (endings < len(spec.endings)), endings == 0)
    subject.require(right, finished, "endings", endings, f"1 to {len(spec.endings) - 1}, see spec.endings", "0")
    late = f"True after {spec.max_plies} decisions, spec.max_plies"
    subject.require(finished | (len(subject.shown) < spec.max_plies), finished, "finished", finished, "", late)
    if (running := ~finished).any():
        _check_infostates(subject, states[running], mover[running], legal[running])
        _check_refusal(subject, states, legal, running)
    subject.shown.append(_shown(game, states))


def _check_infostates(subject: _Subject, states: States, mover: NDArray[np.int8], legal: Bools) -> None:
    """Checks the infostates of B running games, and what networks read of them."""
    spec, size = subject.game.spec, len(states)
    for players in (*(np.full(size, player, np.int8) for player in range(spec.num_players)), mover):
        packed = subject.array("observe", np.uint8, (size, spec.packed_size), states, players)
    for name, shape in spec.shapes.items():
        why = f', since spec.shapes["{name}"] is {shape}'
        subject.array("encode", np.float32, (size, *shape), packed, name, why=why)
    for layout, outputs in spec.slots.items():
        slots = subject.array("output_slots", np.int16, (size, spec.num_actions, None), packed, layout)
        called = f'output_slots(..., "{layout}") returned'
        if slots.min(initial=0) < -1 or slots.max(initial=0) >= outputs:
            raise subject.wrong(f"{called} values from {slots.min()} to {slots.max()}, expected -1 to {outputs - 1}")
        if (lost := np.argwhere(legal & (slots < 0).all(axis=2))).size:
            raise subject.wrong(f"{called} only -1 for the legal action {lost[0, 1]}, expected at least one output")


def _check_words(subject: _Subject, state: np.void, first: bool) -> None:
    """Checks the words for a state, which error messages and boards show, and the `first` time those for actions."""
    spec = subject.game.spec
    calls: list[tuple[str, tuple[Any, ...]]] = [("describe", (state,))]
    for player in range(spec.num_players):
        calls += [("describe", (state, player)), ("describe_hand", (state, player))]
    if first:
        calls += [("describe_action", (action,)) for action in range(spec.num_actions)]
    for method, arguments in calls:
        found = subject.attempt(method, getattr(subject.game, method), *arguments)
        if not isinstance(found, str) or len(found.splitlines()) != 1:
            raise subject.wrong(f"{method} returned {found!r}, expected one line of text")


def _check_refusal(subject: _Subject, states: States, legal: Bools, running: Bools) -> None:
    """Checks that `step` refuses an illegal action, if there is one, and leaves all games as they were."""
    if not (illegal := np.argwhere(~legal & running[:, None])).size:
        return
    game, action = illegal[-1]  # the last one: a loop that plays before it checks has changed the others by then
    copy, actions, raised = states.copy(), legal.argmax(axis=1), None
    actions[game] = action
    try:
        subject.game.step(copy, actions, np.random.default_rng(0))
    except Exception as error:  # whatever the game of someone else raises
        raised = error
    if not isinstance(raised, IllegalAction):
        what = f"raised {one_line(raised)} for" if raised else "played"
        raise subject.wrong(f"step {what} the illegal action {action}, expected envs.game.IllegalAction") from raised
    if _changed(states, copy).any():
        raise subject.wrong(f"step refused the illegal action {action} but changed states: check all actions first")
    subject.refusal = "illegal actions are refused"


def _check_repetition(subject: _Subject, game: Any, games: int, seed: int, when: str) -> None:
    """Checks that the same seed and actions give the same games, decision by decision."""
    plies = islice(_plies(_Subject(subject.name, game), games, seed), len(subject.shown) + 1)
    shown = subject.attempt(f"playing {when}", lambda: [_shown(game, states) for states in plies])
    if other := [ply for ply, pair in enumerate(zip_longest(shown, subject.shown)) if pair[0] != pair[1]]:
        raise subject.wrong(f"the same seed gave other games {when}, after {other[0]} decisions: draw from rng alone")


def _check_tree(subject: _Subject, options: Plain, most_nodes: int) -> tuple[str, Plain | None]:
    """Builds the tree; describes it, and counts its nodes and infosets."""
    try:
        if isinstance(subject.game, ExtensiveGame):
            subject.attempt("chance", lambda: subject.game.chance(subject.game.initial(1)))
        tree = subject.attempt("building its tree", make_tree, subject.name, options, most_nodes)
    except UsageError as error:
        if isinstance(error.__context__, TreeTooLarge):  # `make_tree` put a line that names --max-nodes in its place
            return f"not checked: it has more than {most_nodes:,} nodes, or more than fit into memory", None
        if isinstance(error.__context__, ChanceDrawn):
            return "not checked: it draws at random without listing the outcomes (envs.extensive.ExtensiveGame)", None
        if isinstance(error.__cause__, ValueError):  # Cheat's, which refuses to list too many deals
            return f"not checked: {error.__cause__}", None
        raise
    first, second = tree.num_infosets
    # Of a game without chance events, observe itself is what the players have seen, so it cannot leak.
    leaks = "no leak in observe, " if isinstance(subject.game, (ExtensiveGame, OpenSpielGame)) else ""
    text = f"{tree.num_nodes:,} nodes, {first:,} and {second:,} infosets; {leaks}perfect recall"
    return text, {"nodes": tree.num_nodes, "infosets_by_player": [first, second]}


def _changed(before: States, after: States) -> Bools:
    """Returns which records differ, `bool[B]`."""
    names, size = before.dtype.names or (), len(before)
    return np.any([(before[name] != after[name]).reshape(size, -1).any(axis=1) for name in names], axis=0)


def _shown(game: Any, states: States) -> int:
    """A hash of what B games show of themselves; the records may hold bytes that mean nothing."""
    running, mover = ~game.finished(states), game.to_move(states)
    seen = [game.observe(states[running], mover[running])] if running.any() else []
    parts = [mover, game.legal(states), game.returns(states), game.endings(states), *seen]
    return hash(b"".join(part.tobytes() for part in parts))
