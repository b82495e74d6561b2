"""Commands on a PettingZoo environment whose returns exceed the option `max_return`: one line with the cure."""

import pytest

from tests.dancfr.outcomes import Command

GAME = "pettingzoo:envs.leduc.env"


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "random", "--game", GAME, "--option", "max_return=0.5", "--games", "20"),
        ("exploit", "random", "--game", GAME, "--option", "max_return=0.5", "--games", "40", "--eval-games", "20"),
        ("train", "leduc-policy-gradient", f"game={GAME}", "game_options.max_return=0.5", "games=4", "--inline"),
    ],
)
def test_a_return_beyond_the_largest_is_told_with_its_cure(arguments: tuple[str, ...], command: Command) -> None:
    ended = command(*arguments)
    assert (ended.code, ended.out) == (1, "")
    told = ended.err.splitlines()[-1]
    assert told.startswith(f"dancfr: {GAME}: a return of ")
    assert told.endswith(" or more, or scale the rewards")
    assert " exceeds max_return=0.5: pass max_return=" in told
    assert "Traceback" not in ended.err
