"""Checks a game against the interface `envs.game.Game`: random games, its record, and the tree if it has one.

They find the ordinary bugs of a new game: a wrong shape or type, a return while the game runs, a state that changes
after the end. `B` games are played in lock step; `A` is the number of actions.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import islice, zip_longest
from multiprocessing.reduction import ForkingPickler
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import one_line
from dancfr.games.recall_checks import find_forgotten
from dancfr.games.record_checks import check_record
from dancfr.games.registry import make_game, record_of
from dancfr.games.subject import Subject
from dancfr.games.tree_checks import check_tree
from dancfr.values import count
from envs.extensive import FactoredGame, ListedChance
from envs.faults import changed, unchanged_fault
from envs.game import Game, GameBase, GameSpec, IllegalAction, ListedGame, States

Bools = NDArray[np.bool_]
Plain = dict[str, Any]


def check_game(
    named: str | GameBase, options: Plain, games: int = 256, seed: int = 0, most_nodes: int = 10**6
) -> Plain:
    """Plays random games and checks the values that every method returns; then builds the tree, which finds leaks.

    Args:
        named, options: A name and options, see `make_game`, or a game and no options.
        games, seed, most_nodes: Number of random games, their seed, and the most nodes of a tree that is built.

    Returns:
        ``game``, ``games``, what was ``checked`` and found, the nodes and infosets of the ``tree``, if there is one,
        and ``warnings``, of what the interface allows but most learners do not.

    Raises:
        UsageError: the game cannot be made or breaks the interface: one line that says where.
    """
    subject = Subject(named if isinstance(named, str) else named.spec.name)
    made: Any = subject.attempt("its class", make_game, named, **options) if isinstance(named, str) else named
    subject.game = game = made
    result: Plain = {"game": subject.name, "games": games, "checked": {}, "tree": None, "warnings": []}
    checked, spec = result["checked"], subject.attempt("reading its spec", _check_spec, subject)
    sizes = f"{count(spec.num_players, 'player')}, {count(spec.num_actions, 'action')}"
    checked["spec"] = f"{sizes}, infostates of {count(spec.packed_size, 'byte')}"
    if isinstance(game, ListedGame):
        checked["rules"] = "not checked: only spec and record of a game that lists its actions (ListedGame) are checked"
        _add_record(subject, checked, None, seed)
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
    sums, slack = returns.sum(axis=1), 1e-5 * spec.max_return
    excess, unbalanced = max(sums.tolist(), key=abs), bool(np.ptp(sums) > slack)
    if spec.num_players == 2 and abs(excess) > slack:
        balanced = (
            "policy gradients learn better with a sum of 0; solvers, DREAM and best responses subtract half of it"
        )
        needed = "solvers, DREAM and best responses need a constant sum" if unbalanced else balanced
        result["warnings"] = [f"the returns of a game sum to {excess:g}; {needed}"]
    _check_repetition(subject, game, games, seed, "in a second play")
    subject.attempt("pickling, by which games are sent to workers,", ForkingPickler.dumps, game)
    copied = subject.attempt("copying", deepcopy, game)  # by the same methods; nothing is unpickled in this program
    _check_repetition(subject, copied, games, seed, "by a copy")
    checked["repetition"] = "the same seed and actions give the same games, by a copy too; it can be pickled"
    _add_record(subject, checked, states, seed)
    checked["tree"], result["tree"] = check_tree(subject, games, seed, most_nodes)
    # Last: what it calls has been checked, though in other games, in which it may still fail.
    result["warnings"] += subject.attempt("playing more random games", find_forgotten, subject, games, seed)
    return result


def _add_record(subject: Subject, checked: Plain, ended: States | None, seed: int) -> None:
    """Checks the record of the game, if it has one."""
    record = record_of(subject.game)
    if record is None:
        return
    if found := subject.attempt("playing games for its record", check_record, subject, record, ended, seed):
        checked["record"] = found


def _check_spec(subject: Subject) -> GameSpec:
    """Checks the constants of the game, which it returns, and that the game has all methods."""
    game, ragged = subject.game, isinstance(subject.game, ListedGame)
    needed = [name for name in (*vars(GameBase), *vars(Game)) if name[0] != "_"]
    if not ragged and (lacking := list(dict.fromkeys(name for name in needed if not hasattr(game, name)))):
        raise subject.wrong(f"{type(game).__name__} lacks {', '.join(lacking)} of envs.game.Game")
    spec: GameSpec = game.spec
    for size in ("num_players", "num_actions", "packed_size", "max_plies"):
        if not _is_length(getattr(spec, size)):
            raise subject.wrong(f"spec.{size} is {getattr(spec, size)!r}, expected a positive whole number")
    if not (isinstance(spec.max_return, Real) and 0 < spec.max_return < float("inf")):
        raise subject.wrong(f"spec.max_return is {spec.max_return!r}, expected a positive number")
    shapes = spec.shapes if isinstance(spec.shapes, Mapping) else {}
    sound = [isinstance(shape, tuple) and shape and all(map(_is_length, shape)) for shape in shapes.values()]
    if not sound or not all(sound):
        raise subject.wrong(f"spec.shapes is {spec.shapes}, expected named shapes, tuples of positive whole numbers")
    if not ragged and next(iter(spec.slots.values()), 0) != spec.num_actions:
        raise subject.wrong(f"spec.slots is {spec.slots}, expected {spec.num_actions} outputs in the first layout")
    if len(spec.endings) < 2:
        raise subject.wrong(f"spec.endings is {spec.endings}, expected a name of running games, then of all endings")
    if len(spec.endings) > 2 and getattr(type(game), "endings", None) is ListedChance.endings:
        raise subject.wrong(f"spec.endings is {spec.endings}, but endings is not overridden and returns only 0 and 1")
    return spec


def _is_length(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value > 0)


def _plies(subject: Subject, games: int, seed: int) -> Iterator[States]:
    """Plays random games, and one step more; yields the same array before and after each step."""
    game, rng, choose = subject.game, np.random.default_rng(seed), np.random.default_rng((seed, 1))
    states = subject.attempt("reset", game.reset, games, rng)
    if not isinstance(states, np.ndarray) or states.shape != (games,) or states.dtype.names is None:
        got = f"{type(states).__name__} of shape {np.shape(states)}"
        raise subject.wrong(f"reset returned {got}, expected a structured array of {games} records")
    yield states
    ended = False
    while not ended:
        finished, legal, before = game.finished(states), game.legal(states), states.copy()
        ended, actions = bool(finished.all()), (legal * choose.random(legal.shape)).argmax(axis=1)
        subject.attempt("step", game.step, states, actions, rng)
        if (at := np.flatnonzero(~(finished | changed(before, states)))).size:
            raise subject.wrong(unchanged_fault("apply" if isinstance(game, ListedChance) else "step", actions[at[0]]))
        yield states


def _check_states(subject: Subject, states: States, before: States | None) -> None:
    """Checks the values that all methods return for B states, and that games that had ended `before` did not change."""
    game, spec, size = subject.game, subject.game.spec, len(states)
    finished = subject.array("finished", np.bool_, (size,), states)
    if before is not None and (at := np.flatnonzero(game.finished(before) & changed(before, states))).size:
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


def _check_infostates(subject: Subject, states: States, mover: NDArray[np.int8], legal: Bools) -> None:
    """Checks the infostates of B running games, and the inputs that networks read from them."""
    spec, size = subject.game.spec, len(states)
    for players in (*(np.full(size, player, np.int8) for player in range(spec.num_players)), mover):
        packed = subject.array("observe", np.uint8, (size, spec.packed_size), states, players)
    _check_last(subject, "observe", packed, states, mover)
    for name, shape in spec.shapes.items():
        why = f', since spec.shapes["{name}"] is {shape}'
        inputs = subject.array("encode", np.float32, (size, *shape), packed, name, why=why)
        _check_last(subject, "encode", inputs, packed, name)
    for layout, outputs in spec.slots.items():
        slots = subject.array("output_slots", np.int16, (size, spec.num_actions, None), packed, layout)
        called = f'output_slots(..., "{layout}") returned'
        if slots.min(initial=0) < -1 or slots.max(initial=0) >= outputs:
            raise subject.wrong(f"{called} values from {slots.min()} to {slots.max()}, expected -1 to {outputs - 1}")
        if (lost := np.argwhere(legal & (slots < 0).all(axis=2))).size:
            raise subject.wrong(f"{called} only -1 for the legal action {lost[0, 1]}, expected at least one output")


def _check_last(subject: Subject, method: str, found: NDArray[Any], *arguments: Any) -> None:
    """Checks that a method returns the same last row, of `found`, without the other rows of its arguments."""
    alone = [each[-1:].copy() if isinstance(each, np.ndarray) else each for each in arguments]
    row = subject.attempt(method, getattr(subject.game, method), *alone)
    if np.shape(row) != found[-1:].shape or not np.allclose(row, found[-1:], rtol=1e-4, atol=1e-6):
        raise subject.wrong(
            f"{method} returned another row for a game alone than for the same game in a batch of {len(found)}: a row "
            "may depend on no other row, since batches are large in trainings and small in play"
        )


def _check_words(subject: Subject, state: np.void, first: bool) -> None:
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


def _check_refusal(subject: Subject, states: States, legal: Bools, running: Bools) -> None:
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
    if changed(states, copy).any():
        raise subject.wrong(f"step refused the illegal action {action} but changed states: check all actions first")
    subject.refusal = "illegal actions are refused"


def _check_repetition(subject: Subject, game: Game, games: int, seed: int, when: str) -> None:
    """Checks that the same seed and actions give the same games, decision by decision."""
    plies = islice(_plies(Subject(subject.name, game), games, seed), len(subject.shown) + 1)
    shown = subject.attempt(f"playing {when}", lambda: [_shown(game, states) for states in plies])
    if other := [ply for ply, pair in enumerate(zip_longest(shown, subject.shown)) if pair[0] != pair[1]]:
        raise subject.wrong(f"the same seed gave other games {when}, after {other[0]} decisions: draw from rng alone")


def _shown(game: Game, states: States) -> int:
    """A hash of everything that B games show; the records may hold bytes that mean nothing."""
    running, mover = ~game.finished(states), game.to_move(states)
    seen = [game.observe(states[running], mover[running])] if running.any() else []
    parts = [mover, game.legal(states), game.returns(states), game.endings(states), *seen]
    return hash(b"".join(part.tobytes() for part in parts))
