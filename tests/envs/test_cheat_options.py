"""Options of Cheat: their limits and their effects."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from envs.cheat import Cheat
from envs.game import GameSpec
from tests.envs.stated_cheat import PASS, discards_of

Mini = partial(Cheat, ranks=3, copies=2, dealt=2, max_discard=2)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"ranks": 1}, "ranks must be from 2 to 13, got 1"),
        ({"ranks": 14}, "ranks must be from 2 to 13, got 14"),
        ({"copies": 0}, "copies must be from 1 to 7, got 0"),
        ({"copies": 8}, "copies must be from 1 to 7, got 8"),
        ({"players": 1}, "players must be from 2 to 6, got 1"),
        ({"players": 7}, "players must be from 2 to 6, got 7"),
        ({"players": 6, "dealt": 9}, "6 players with 9 cards need more than the 52"),
        ({"players": 6, "ranks": 5, "copies": 1, "max_discard": 2}, "6 players with 1 cards need more than the 5"),
        ({"dealt": -1}, "dealt must be from 0 to 91, got -1"),
        ({"health": -1}, "health must be from 0 to 10000, got -1"),
        ({"health": 10_001}, "health must be"),
        ({"health": 0}, "health=0 means unlimited health"),
        ({"max_discard": 0}, "max_discard must be from 1 to 91, got 0"),
        ({"max_discard": 53}, "max_discard must be at most the 52 cards of the deck, got 53"),
        ({"discards": "both"}, "discards must be sets or cards, got 'both'"),
        ({"discards": "sets", "max_discard": 5}, "discards of up to 5 of 13 ranks are 8,567 sets, more than the 5,000"),
        ({"ply_limit": -1}, "ply_limit must be"),
        ({"observation_health": 256}, "observation_health must be from 0 to 255, got 256"),
    ],
)
def test_options_out_of_range(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=rf"^{named}[^\n]*$"):
        Cheat(**options)
    with pytest.raises(UsageError, match=rf"^cheat: {named}[^\n]*$"):
        make_game("cheat", **options)


@pytest.mark.parametrize("name", ["ranks", "copies", "players", "dealt", "health", "max_discard", "ply_limit"])
@pytest.mark.parametrize("value", [2.0, "2", True, None])
def test_options_of_another_type(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{name} must be an integer, got {value!r}$"):
        Cheat(**{name: value})
    with pytest.raises(TypeError, match=r"^challenge_last must be true or false, got 1$"):
        Cheat(challenge_last=1)  # type: ignore[arg-type]
    for text in ("discards", "name"):
        with pytest.raises(TypeError, match=rf"^{text} must be a string, got 3$"):
            Cheat(**{text: 3})  # type: ignore[arg-type]


def test_the_spec_says_what_there_is() -> None:
    spec: GameSpec = Cheat().spec
    assert (spec.num_players, spec.num_actions) == (2, 16)
    assert Cheat(discards="sets").spec.num_actions == 2 + len(discards_of(Cheat())) == 2381
    assert make_game("mini-cheat").spec.num_actions == 2 + 9
    assert Mini(discards="sets").describe_action(PASS) == "pass"
    assert [Mini(discards="sets").describe_action(a) for a in (1, 2, 6)] == ["challenge", "discard +0", "discard +0 +1"]
    assert [Mini().describe_action(a) for a in (2, 3, 5)] == ["lay", "add +0", "add +2"]


def test_discards_share_outputs_by_size_and_by_the_number_of_cards_of_each_rank() -> None:
    game = Cheat(ranks=4, copies=3, max_discard=3, discards="sets")
    states = game.reset(2, np.random.default_rng(0))
    slots = game.output_slots(game.observe(states, game.to_move(states)), "cards")
    assert slots.shape == (2, game.spec.num_actions, 4)
    assert np.array_equal(slots[0], slots[1])
    assert game.spec.slots["cards"] == 2 + 3 + 4 * 3 == slots.max() + 1
    assert slots[0, :2].tolist() == [[0, -1, -1, -1], [1, -1, -1, -1]]  # a pass and a challenge
    sizes, ranks = [2, 3, 4], [[5 + 3 * rank + count for count in range(3)] for rank in range(4)]
    for discard, row in zip(discards_of(game), slots[0, 2:].tolist(), strict=True):
        held = [ranks[rank][discard.count(rank) - 1] for rank in sorted(set(discard))]
        assert row == [sizes[len(discard) - 1], *held, *[-1] * (3 - len(held))]
