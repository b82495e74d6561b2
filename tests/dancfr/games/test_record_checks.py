"""Tests of `dancfr games NAME --check` on records: a fault of a display, a page, ... is refused in one line."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.evaluation import bots
from dancfr.games import registry
from dancfr.games.checks import check_game
from dancfr.games.registry import GAMES
from envs.game import States
from envs.general_display import GeneralDisplay
from envs.kuhn import Kuhn
from envs.players import RandomAgent
from envs.record import GameRecord
from tests.dancfr.outcomes import Command, refused

Check = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Own(Kuhn):
    """Kuhn poker under a name of its own, with a switch."""

    open_cards: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "spec", replace(self.spec, name="own"))


class Shown:
    """An adapter that shows the game as it is, and asks in every game."""

    extends = False

    def __init__(self, game: Own) -> None:
        self.game = game

    def asks(self, states: States) -> NDArray[np.bool_]:
        return np.ones(len(states), np.bool_)

    def choose(self, states: States, rng: np.random.Generator) -> NDArray[np.int64]:
        raise NotImplementedError

    def shown(self, states: States) -> States:
        return states


def fitting(game: Own, made_for: dict[str, Any]) -> Shown | None:
    return Shown(game) if made_for and made_for["open_cards"] != game.open_cards else None


def belief(game: Own, states: States, agent: Any, arrangements: Any) -> dict[str, Any]:
    return {"about": "hands", "kind": "uniform", "hands": {"king": 0.5}}


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Check:
    """Checks the game ``own`` with attributes of its record."""

    def run(**attributes: Any) -> dict[str, Any]:
        record = GameRecord("own", Own, {"cards": 3, "open_cards": False}, "a game of one's own", **attributes)
        monkeypatch.setattr(registry, "all_games", lambda: {**GAMES, "own": record})
        return check_game("own", {}, games=16)

    return run


def display(**methods: Any) -> type:
    return type("OwnDisplay", (GeneralDisplay,), methods)


def adapter(**methods: Any) -> Callable[..., Any]:
    kind = type("OwnAdapter", (Shown,), methods)
    return lambda game, made_for: fitting(game, made_for) and kind(game)


def test_sound_record_passes(check: Check, tmp_path: Path) -> None:
    page = tmp_path / "own.js"
    page.touch()
    outcomes = {f"{result} by over": (result, "#0072B2") for result in ("win", "loss")}
    found = check(
        bots=lambda: {"caller": Caller},
        in_matches={"cards": 3},
        outcomes=outcomes,
        page=page,
        display=display(),
        belief=belief,
        adapter=fitting,
    )
    assert re.fullmatch(
        r"options by name, 1 bot, 2 outcomes, page own\.js, display of \d positions, beliefs, adapter",
        found["checked"]["record"],
    )


def test_outcomes_of_returns_with_another_constant_sum(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who loses one chip has a return of 0, and has not drawn."""

    def utilities(self: Own, states: States) -> NDArray[np.float64]:
        return (Kuhn.utilities(self, states) + self.finished(states)[:, None]) / 2

    monkeypatch.setattr(Own, "utilities", utilities)
    outcomes = {f"{result} by over": (result, "#0072B2") for result in ("win", "loss")}
    assert check(outcomes=outcomes)["checked"]["record"].endswith("2 outcomes")


def test_record_without_additions_is_not_mentioned(check: Check) -> None:
    assert "record" not in check()["checked"]


class Caller(RandomAgent):
    """Always bets and calls."""


def raising(error: Exception) -> Callable[..., Any]:
    def method(*arguments: Any) -> Any:
        raise error

    return method


class Silent:
    """A display without methods."""

    def __init__(self, game: Own) -> None:
        pass


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"in_matches": {"card": 3}}, "in_matches sets 'card', which is not an option; its options: cards, open_cards"),
    ({"implied": {"cards=4": {"deal": 1}}}, "implied[\"cards=4\"] sets 'deal', which is not an option"),
    ({"turned_on": ("open",)}, "turned_on sets 'open', which is not an option"),
    ({"outcomes": {"win by luck": ("luck", "red")}}, "outcomes has 'win by luck', expected win, draw or loss by one"),
    ({"outcomes": {"win by over": "won"}}, "outcomes['win by over'] is 'won', expected a name and a colour"),
    ({"outcomes": {"win by over": ("won", "#12")}}, "outcomes['win by over'] has the colour '#12', expected one such"),
    ({"outcomes": {"win by over": ("won", "red")}}, "outcomes lacks 'loss by over', which games had"),
    (
        {"bots": {"caller": Caller}},
        'bots of its entry is dict, expected a function: write bots=lambda: {"NAME": CLASS}',
    ),
    ({"bots": Caller}, "bots of its entry returned Caller, expected a dict: write"),
    (
        {"bots": lambda: {"caller": Caller()}},
        "bots of its entry returned Caller for 'caller', expected its class or a function: write",
    ),
    ({"bots": raising(ImportError("no own.bots"))}, "bots raised ImportError: no own.bots ("),
    ({"bots": lambda: {"caller": raising(KeyError("card"))}}, "bot caller raised KeyError: 'card' ("),
    ({"bots": lambda: {"caller": Own}}, "bot caller returned Own, which lacks name, begin, act of envs.agent.Agent"),
    ({"page": Path("nowhere.js")}, "page is nowhere.js, which does not exist"),
    ({"page": Path(__file__)}, f"page is {__file__}, expected a JavaScript module"),
    ({"display": raising(ImportError("no own.display"))}, "display raised ImportError: no own.display ("),
    ({"display": Silent}, "display returned Silent, which lacks scene, choices, event of envs.display.Display"),
    (
        {"display": display(scene=raising(KeyError("hand")))},
        f"display.scene for viewer None raised KeyError: 'hand' ({__file__}, line",
    ),
    (
        {"display": display(scene=lambda self, state, viewer: {"card": state["card"]} if viewer == 1 else {})},
        "display.scene for viewer 1 raised ValueError: no field of name card",
    ),
    (
        {"display": display(scene=lambda self, state, viewer: {"length": state["length"]})},
        "display.scene for viewer None cannot be sent as JSON: Object of type uint8 is not JSON serializable",
    ),
    ({"display": display(scene=lambda *arguments: None)}, "display.scene for viewer None returned NoneType"),
    ({"display": display(choices=lambda self, states: [])}, "display.choices returned 0 entries, expected a list of"),
    ({"display": display(choices=lambda self, states: [{}, {}])}, "a choice of display.choices has no 'label'"),
    ({"display": display(offer=lambda self, states: "ab")}, "display.offer returned str, expected a list of the 2"),
    ({"display": display(event=lambda *arguments: {"label": 1})}, "display.event for viewer None has no 'label' of"),
    ({"belief": raising(IndexError("hand"))}, "belief raised IndexError: hand ("),
    ({"belief": lambda *arguments: {"about": "hands", "kind": "sure"}}, "belief returned the kind 'sure', expected"),
    ({"adapter": raising(KeyError("deck"))}, "adapter raised KeyError: 'deck' ("),
    ({"adapter": lambda game, made_for: Shown(game)}, "adapter returned Shown for an agent of the same options"),
    ({"adapter": lambda game, made_for: None if made_for else game}, "adapter returned Own, which lacks game, extends"),
    ({"adapter": adapter(asks=lambda self, states: True)}, "OwnAdapter.asks returned True, expected bool[16]"),
    ({"adapter": adapter(shown=raising(KeyError("card")))}, "OwnAdapter.shown raised KeyError: 'card' ("),
    (
        {
            "adapter": adapter(
                asks=lambda self, states: np.zeros(len(states), np.bool_),
                choose=lambda self, states, rng: np.zeros(1, np.int64),
            )
        },
        "OwnAdapter.choose returned [0], expected legal actions",
    ),
]


@pytest.mark.parametrize(("attributes", "expected"), FAULTS)
def test_fault_of_a_record_is_refused_in_one_line(attributes: dict[str, Any], expected: str, check: Check) -> None:
    with pytest.raises(UsageError) as refused:
        check(**attributes)
    assert str(refused.value).startswith(f"game own: {expected}")
    assert "\n" not in str(refused.value)


def test_adapter_that_refuses_an_agent_is_sound(check: Check) -> None:
    def refuses(game: Own, made_for: dict[str, Any]) -> None:
        if made_for.get("open_cards") != game.open_cards:
            raise ValueError("knows no open cards")

    assert check(adapter=refuses)["checked"]["record"] == "adapter"


@pytest.mark.parametrize("extra", ["legal", "illegal"])
def test_adapter_may_show_a_game_with_another_number_of_actions(extra: str, check: Check) -> None:
    """As Geister does, in which agents that never choose colours are shown a game without those actions."""

    class Other(Own):
        def legal(self, states: States) -> NDArray[np.bool_]:
            shown = super().legal(states)
            return shown[:, :1] if extra == "legal" else np.pad(shown, ((0, 0), (0, 1)), constant_values=True)

    def narrower(game: Own, made_for: dict[str, Any]) -> Shown | None:
        return Shown(Other()) if fitting(game, made_for) else None

    if extra == "legal":
        assert check(adapter=narrower)["checked"]["record"] == "adapter"
        found = check_game("geister", {"random_setup": False, "ply_limit": 10}, games=16)
        assert found["checked"]["record"].endswith(", adapter")
        return
    with pytest.raises(UsageError, match=r"^game own: Shown\.shown offers actions that are not legal in the game"):
        check(adapter=narrower)


def test_bots_that_are_not_a_function_are_refused_by_commands(
    monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    record = GameRecord("kuhn", Kuhn, {"cards": 3}, "Kuhn poker", bots={"caller": Caller})  # type: ignore[arg-type]
    monkeypatch.setattr(bots, "all_games", lambda: {**GAMES, "kuhn": record})
    line = refused(command("evaluate", "random", "--game", "kuhn", "--against", "caller"))
    assert line.startswith("dancfr: game kuhn: bots of its entry is dict, expected a function: write bots=lambda: {")
