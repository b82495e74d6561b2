"""`dancfr.check` tells the same of a game without a name as the command tells of a game with one."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dancfr
from dancfr.errors import UsageError
from envs.game import Packed, States
from envs.kuhn import Kuhn
from tests.dancfr.outcomes import Command


@dataclass(frozen=True)
class Peek(Kuhn):
    """Kuhn poker in which players see the other's card, which `observe` does not show."""

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        return super().private(states, 0) * 8 + super().private(states, 1)


@dataclass(frozen=True)
class Leaky(Kuhn):
    """Kuhn poker whose infostates show both cards."""

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        packed = super().observe(states, players)
        packed[:, -1] = states["cards"].astype(np.uint8) @ np.array([1, 8], np.uint8)
        return packed


def test_check_of_an_object_is_that_of_its_name(command: Command) -> None:
    text = command("games", "kuhn", "--check", "--option", "cards=5")
    found = dancfr.check(dancfr.make_game("kuhn", cards=5))
    assert repr(found) == repr(dancfr.check("kuhn", {"cards": 5})) == text.out.rstrip("\n")
    told = json.loads(command("games", "kuhn", "--check", "--option", "cards=5", "--json").out)
    assert found.as_dict() == told
    assert found.warnings == []
    assert "<td>186 nodes, 10 and 10 infosets; no leak in observe, perfect recall</td>" in found._repr_html_()


def test_check_warns_of_private_observations_that_observe_lacks() -> None:
    found = dancfr.check(Peek(), games=64)
    (warning,) = found.warnings
    assert warning.startswith("observe shows player ")
    assert warning.endswith("or leave it out of public and private if the player should not know it")
    assert repr(found).endswith(f"\nwarning: {warning}")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: dancfr.check(Leaky(), games=64), "kuhn: a packed infostate reveals more than the player has observed"),
        (lambda: dancfr.check(Kuhn(), {"cards": 4}), "the rules of kuhn are given: leave out the options"),
        (lambda: dancfr.check("kuhn", games=0), "games must be at least 1 and seed at least 0, got 0 and 0"),
        (lambda: dancfr.check("kuhm"), "no game named 'kuhm'; did you mean kuhn?"),
        (lambda: dancfr.check(Kuhn), "make one, Kuhn(...)"),  # type: ignore[arg-type]
    ],
)
def test_check_refuses_a_fault_in_one_line(call: Any, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        call()
    assert told in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
