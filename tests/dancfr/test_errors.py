"""The message for an unknown name."""

import pytest

from dancfr.errors import nearest


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("leduk", "no game named 'leduk'; did you mean leduc?"),
        ("LEDUC", "no game named 'LEDUC'; did you mean leduc?"),
        ("chess", "no game named 'chess'; did you mean cheat? There are: cheat, geister, leduc"),
        ("go", "no game named 'go'; there are: cheat, geister, leduc"),
    ],
)
def test_a_name_that_is_hardly_alike_is_not_the_only_one_told(name: str, says: str) -> None:
    assert nearest(name, ["leduc", "cheat", "geister"], "game") == says


def test_a_sign_in_words_is_alike() -> None:
    assert nearest("cfr_plus", ["cfr", "cfr+"], "algorithm") == "no algorithm named 'cfr_plus'; did you mean cfr+?"


def test_without_any_name_that_is_told() -> None:
    assert nearest("x", [], "preset") == "no preset named 'x': no preset exists"
