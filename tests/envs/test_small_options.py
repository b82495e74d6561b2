"""The small games refuse options of another type, and options out of range."""

from typing import Any

import pytest

from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.liars_dice import LiarsDice
from envs.oshi_zumo import OshiZumo


@pytest.mark.parametrize(
    ("make", "options"),
    [
        *((Kuhn, {"cards": value}) for value in (3.0, "3", None, True)),
        *((Leduc, {name: value}) for name in ("ranks", "suits", "raises", "ante") for value in (2.0, "2", True)),
        *((Leduc, {name: value}) for name in ("sizes", "deal", "name") for value in (2, None, ["2", "4"])),
        *((Goofspiel, {"cards": value}) for value in (5.0, "5", False)),
        *((Goofspiel, {name: value}) for name in ("prizes", "name") for value in (1, None)),
        *((OshiZumo, {name: value}) for name in ("coins", "size", "min_bid") for value in (1.0, "1", True)),
        (OshiZumo, {"name": 1}),
        *((LiarsDice, {name: value}) for name in ("dice", "faces") for value in (2.0, "2", True)),
        (LiarsDice, {"name": 1}),
        *((make, {"colour": 1}) for make in (Kuhn, Leduc, Goofspiel, OshiZumo, LiarsDice)),
    ],
)
def test_options_of_another_type(make: Any, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=rf"^[^\n]*{next(iter(options))}[^\n]*$"):
        make(**options)


@pytest.mark.parametrize(
    ("make", "options", "named"),
    [
        (Kuhn, {"cards": 1}, "cards must be from 2 to 100, got 1"),
        (Kuhn, {"cards": 101}, "cards must be"),
        (Leduc, {"ranks": 1}, "ranks must be from 2 to 30, got 1"),
        (Leduc, {"ranks": 31}, "ranks must be"),
        (Leduc, {"suits": 0}, "suits must be"),
        (Leduc, {"suits": 5}, "suits must be"),
        (Leduc, {"ranks": 2, "suits": 1}, "ranks \\* suits must be at least 3"),
        (Leduc, {"raises": -1}, "raises must be"),
        (Leduc, {"raises": 13}, "raises must be"),
        (Leduc, {"ante": 0}, "ante must be"),
        (Leduc, {"ante": 1001}, "ante must be"),
        (Leduc, {"deal": "suits"}, "deal must be cards or ranks, got 'suits'"),
        *(
            (Leduc, {"sizes": sizes}, "sizes must be")
            for sizes in ("", "2", "2/4/8", "2,4/4", "0/4", "-2/4", "2/1001", "a/b", "2,/4,", "2.5/4", "2\n4", "/")
        ),
        (Leduc, {"sizes": "/".join(["1" + ",1" * 20] * 2)}, "sizes must be 1 to 20 numbers"),
        (Goofspiel, {"cards": 1}, "cards must be from 2 to 13, got 1"),
        (Goofspiel, {"cards": 14}, "cards must be"),
        (Goofspiel, {"prizes": "Random"}, "prizes must be descending, ascending or random, got 'Random'"),
        (OshiZumo, {"coins": 0}, "coins must be from 1 to 50, got 0"),
        (OshiZumo, {"coins": 51}, "coins must be"),
        (OshiZumo, {"size": 0}, "size must be from 1 to 50, got 0"),
        (OshiZumo, {"size": 51}, "size must be"),
        (OshiZumo, {"min_bid": 0}, "min_bid must be from 1 to coins=8, got 0"),
        (OshiZumo, {"min_bid": 9}, "min_bid must be"),
        (OshiZumo, {"min_bid": 8}, "coins=8 with min_bid=8 makes every game a draw"),
        (OshiZumo, {"coins": 2}, "coins=2 with min_bid=1 makes every game a draw"),
        (LiarsDice, {"dice": 0}, "dice must be at least 1, got 0"),
        (LiarsDice, {"faces": 1}, "faces must be at least 2, got 1"),
        (LiarsDice, {"dice": 3, "faces": 11}, "dice \\* faces must be at most 32, .*, got 3 \\* 11"),
    ],
)
def test_options_out_of_range(make: Any, options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=rf"^{named}[^\n]*$"):
        make(**options)
