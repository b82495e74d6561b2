"""Checks the record of a game beside its rules: options by name, bots, outcomes, page, display, beliefs and adapter."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError, shortened
from dancfr.games.entry_bots import entry_bots
from dancfr.games.rules import noted_options
from dancfr.games.subject import Subject
from dancfr.values import count
from envs.adapter import Adapter
from envs.agent import Agent
from envs.belief import KINDS
from envs.display import Display, Terse
from envs.game import Game, GameBase, States, listed, outcomes_of
from envs.players import RandomAgent
from envs.record import GameRecord

_RESULTS = ("loss", "draw", "win")
_STREAM = 3  # of this module's draws


def check_record(subject: Subject, record: GameRecord, ended: States | None, seed: int) -> str:
    """Checks the attributes that a record has, by a random game and by the games that were played.

    Args:
        subject: The game.
        record: Its record.
        ended: The games played, in their last states; None for a game that lists its actions.
        seed: Of the random game.

    Returns:
        The attributes that were checked, in words; empty for a record of rules alone.

    Raises:
        UsageError: one line that names the attribute and its fault.
    """
    checked = [_check_options(subject, record), _check_bots(subject, record)]
    checked += [_check_outcomes(subject, record, ended), _check_page(subject, record)]
    checked.append(_check_positions(subject, record, np.random.default_rng((seed, _STREAM))))
    if record.adapter is not None and isinstance(subject.game, Game):
        checked.append(_check_adapter(subject, record, np.random.default_rng((seed, _STREAM))))
    return ", ".join(part for part in checked if part)


def _check_options(subject: Subject, record: GameRecord) -> str:
    """Checks that the options which the record sets exist."""
    sets: dict[str, Any] = {name: getattr(record, name) for name in ("in_matches", "in_evaluations", "for_people")}
    sets |= {"turned_on": record.turned_on}
    sets |= {f'implied["{key}"]': (key.partition("=")[0], *changes) for key, changes in record.implied.items()}
    for attribute, names in sets.items():
        if unknown := [name for name in names if name not in record.options]:
            known = ", ".join(record.options) or "none"
            raise subject.wrong(f"{attribute} sets {unknown[0]!r}, which is not an option; its options: {known}")
    return "options by name" if any(sets.values()) else ""


def _check_bots(subject: Subject, record: GameRecord) -> str:
    """Makes each bot, and checks that it is an agent."""
    makers: Mapping[str, Callable[[], Agent]] = subject.attempt("bots", entry_bots, record)
    for name, make in makers.items():
        made = subject.attempt(f"bot {name}", make)
        if lacking := [each for each in ("name", "begin", "act") if not hasattr(made, each)]:
            kind = type(made).__name__
            raise subject.wrong(f"bot {name} returned {kind}, which lacks {', '.join(lacking)} of envs.agent.Agent")
    return count(len(makers), "bot") if makers else ""


def _check_outcomes(subject: Subject, record: GameRecord, ended: States | None) -> str:
    """Checks the names and colours of outcomes, and that the outcomes of the games played are among them."""
    if not record.outcomes:
        return ""
    game, endings = subject.game, subject.game.spec.endings
    possible = {f"{result} by {ending}" for result in _RESULTS for ending in endings[1:]}
    for outcome, shown in record.outcomes.items():
        if outcome not in possible:
            raise subject.wrong(
                f"outcomes has {outcome!r}, expected win, draw or loss by one of {', '.join(endings[1:])}"
            )
        if not (isinstance(shown, tuple) and len(shown) == 2 and all(isinstance(text, str) for text in shown)):
            raise subject.wrong(f"outcomes[{outcome!r}] is {shortened(shown)}, expected a name and a colour")
        if not re.fullmatch(r"#[0-9a-fA-F]{6}|[a-z][a-z:0-9]*|C\d", shown[1]):
            raise subject.wrong(f"outcomes[{outcome!r}] has the colour {shown[1]!r}, expected one such as '#0072B2'")
    if ended is not None:
        found = outcomes_of(game.returns(ended), game.spec.max_return)
        for ending, row in zip(game.endings(ended).tolist(), found.tolist(), strict=True):
            for result in row:
                if (name := f"{_RESULTS[result + 1]} by {endings[ending]}") not in record.outcomes:
                    raise subject.wrong(f"outcomes lacks {name!r}, which games had: figures need all of them")
    return f"{len(record.outcomes)} outcomes"


def _check_page(subject: Subject, record: GameRecord) -> str:
    """Checks that the module of the page exists."""
    if (page := record.page) is None:
        return ""
    if not page.is_file():
        raise subject.wrong(f"page is {page}, which does not exist: GameRecord.page names a JavaScript module")
    if page.suffix not in (".js", ".mjs"):
        raise subject.wrong(f"page is {page}, expected a JavaScript module, whose name ends in .js")
    return f"page {page.name}"


def _check_positions(subject: Subject, record: GameRecord, rng: np.random.Generator) -> str:
    """Plays a random game, and checks display and beliefs at each position."""
    game = subject.game
    display = _display(subject, record)
    agent = None if record.belief is None else _agent(record, game)
    if display is None and agent is None:
        return ""
    states, positions = subject.attempt("reset", game.reset, 1, rng), 1
    if agent is not None:
        subject.attempt("begin of a bot", agent.begin, game, 1, rng)
    _check_scenes(subject, display, states)
    while not game.finished(states)[0] and positions <= game.spec.max_plies:
        actions = _actions(game, states)
        _check_choices(subject, display, states, len(actions))
        if agent is not None:
            _check_belief(subject, record, states, agent)
        at, before = int(rng.integers(len(actions))), states.copy()
        drawn = (rng,) if isinstance(game, Game) else ()
        subject.attempt("step", game.step, states, actions[at : at + 1], *drawn)
        _check_events(subject, display, before[0], actions[at], states[0])
        _check_scenes(subject, display, states)
        positions += 1
    parts = [f"display of {positions} positions"] if display is not None else []
    return ", ".join([*parts, "beliefs"] if agent is not None else parts)


def _display(subject: Subject, record: GameRecord) -> Display | None:
    if record.display is None:
        return None
    display: Display = subject.attempt("display", record.display, subject.game)
    if lacking := [name for name in ("scene", "choices", "event") if not callable(getattr(display, name, None))]:
        kind = type(display).__name__
        raise subject.wrong(f"display returned {kind}, which lacks {', '.join(lacking)} of envs.display.Display")
    return display


def _agent(record: GameRecord, game: GameBase) -> Agent | None:
    """An agent to ask for its beliefs: random, or the first bot of a game that lists its actions."""
    if isinstance(game, Game):
        return RandomAgent()
    return next((make() for make in entry_bots(record).values()), None)


def _actions(game: GameBase, states: States) -> NDArray[Any]:
    """The legal actions in one game: `int64[n]`, or `[n]` records."""
    return np.flatnonzero(game.legal(states)[0]) if isinstance(game, Game) else listed(game).legal(states).rows


def _check_scenes(subject: Subject, display: Display | None, states: States) -> None:
    """Checks the scene of one game for each viewer."""
    if display is None:
        return
    for viewer in _viewers(subject):
        found = subject.attempt(f"display.scene for viewer {viewer}", display.scene, states[0], viewer)
        _require_object(subject, f"display.scene for viewer {viewer}", found)


def _check_choices(subject: Subject, display: Display | None, states: States, count: int) -> None:
    """Checks the choices of the player to move, and the form in which they are sent."""
    if display is None:
        return
    methods = {"choices": display.choices} | ({"offer": display.offer} if isinstance(display, Terse) else {})
    for name, method in methods.items():
        found = subject.attempt(f"display.{name}", method, states)
        if not isinstance(found, list) or len(found) != count:
            got = f"{len(found)} entries" if isinstance(found, list) else type(found).__name__
            raise subject.wrong(f"display.{name} returned {got}, expected a list of the {count} legal actions")
        for each in found if name == "choices" else ():
            _require_object(subject, "a choice of display.choices", each, "label")
        _require_json(subject, f"display.{name}", found)


def _check_events(subject: Subject, display: Display | None, before: np.void, action: Any, after: np.void) -> None:
    """Checks the event of a move for each viewer."""
    if display is None:
        return
    for viewer in _viewers(subject):
        found = subject.attempt(f"display.event for viewer {viewer}", display.event, before, action, after, viewer)
        _require_object(subject, f"display.event for viewer {viewer}", found, "label")


def _check_belief(subject: Subject, record: GameRecord, states: States, agent: Agent) -> None:
    assert record.belief is not None
    found = subject.attempt("belief", record.belief, subject.game, states, agent, None)
    _require_object(subject, "belief", found, "about")
    if found.get("kind") not in KINDS:
        wanted = ", ".join(map(repr, KINDS))
        raise subject.wrong(f"belief returned the kind {shortened(found.get('kind'))}, expected one of {wanted}")


def _viewers(subject: Subject) -> tuple[int | None, ...]:
    """Players, and None for a viewer who may see everything."""
    return (None, *range(subject.game.spec.num_players))


def _require_object(subject: Subject, what: str, found: Any, text: str = "") -> None:
    """Refuses a value that is not a JSON object or lacks the entry `text`."""
    if not isinstance(found, dict):
        raise subject.wrong(f"{what} returned {type(found).__name__}, expected a dict")
    if text and not isinstance(found.get(text), str):
        raise subject.wrong(f"{what} has no {text!r} of type str: {shortened(found)}")
    _require_json(subject, what, found)


def _require_json(subject: Subject, what: str, found: Any) -> None:
    try:
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise subject.wrong(f"{what} cannot be sent as JSON: {error}") from None


def _check_adapter(subject: Subject, record: GameRecord, rng: np.random.Generator) -> str:
    """Checks the adapters for agents of the same game, of unknown options, and of each switch turned."""
    made = noted_options(subject.game)
    if (found := _adapter(subject, record, made)) is not None:
        kind = type(found).__name__
        raise subject.wrong(f"adapter returned {kind} for an agent of the same options, expected None")
    turned = [{**made, key: not value} for key, value in made.items() if isinstance(value, bool)]
    adapters = [each for each in (_adapter(subject, record, options) for options in ({}, *turned)) if each is not None]
    for adapter in adapters:
        _check_adapted(subject, adapter, rng)
    return "adapter"


def _adapter(subject: Subject, record: GameRecord, made_for: Mapping[str, Any]) -> Adapter | None:
    """The adapter of an agent that was made for other options; None if it needs none, or is refused."""
    try:
        found: Adapter | None = subject.attempt("adapter", record.adapter, subject.game, made_for)  # type: ignore[arg-type]
    except UsageError as error:
        if isinstance(error.__cause__, ValueError):  # see `envs.adapter.MakesAdapter`
            return None
        raise
    names = ("game", "extends", "asks", "choose", "shown")
    if found is not None and (lacking := [name for name in names if not hasattr(found, name)]):
        kind = type(found).__name__
        raise subject.wrong(f"adapter returned {kind}, which lacks {', '.join(lacking)} of envs.adapter.Adapter")
    return found


def _check_adapted(subject: Subject, adapter: Adapter, rng: np.random.Generator) -> None:
    """Plays random games, and checks the states that an agent is shown and the actions drawn in its place."""
    game, kind = subject.game, type(adapter).__name__
    states = game.reset(16, rng)
    while not game.finished(states).all():
        running = states[~game.finished(states)]
        legal, asked = game.legal(running), subject.attempt(f"{kind}.asks", adapter.asks, running)
        if not isinstance(asked, np.ndarray) or asked.dtype != np.bool_ or asked.shape != (len(running),):
            raise subject.wrong(f"{kind}.asks returned {shortened(asked)}, expected bool[{len(running)}]")
        if asked.any():
            shown = subject.attempt(f"{kind}.shown", adapter.shown, running[asked])
            offered = subject.attempt(f"legal of the game that {kind} shows", adapter.game.legal, shown)
            if not _all_legal(offered, legal[asked]):
                raise subject.wrong(f"{kind}.shown offers actions that are not legal in the game that is played")
        if not asked.all():
            drawn = np.asarray(subject.attempt(f"{kind}.choose", adapter.choose, running[~asked], rng))
            count = int((~asked).sum())
            if drawn.shape != (count,) or not legal[~asked][np.arange(count), drawn].all():
                raise subject.wrong(f"{kind}.choose returned {shortened(drawn.tolist())}, expected legal actions")
        everywhere = game.legal(states)
        game.step(states, (everywhere * rng.random(everywhere.shape)).argmax(axis=1), rng)


def _all_legal(offered: NDArray[np.bool_], legal: NDArray[np.bool_]) -> bool:
    """Returns whether all offered actions are legal; the game that is shown may have fewer actions, or more."""
    if offered.ndim != 2 or len(offered) != len(legal):
        return False
    shared = min(offered.shape[1], legal.shape[1])
    return not ((offered[:, :shared] & ~legal[:, :shared]).any() or offered[:, shared:].any())


__all__ = ["check_record"]
