"""Words drawn as strokes."""

import string

import numpy as np
import pytest

from envs.lettering import blend, width_of, write

LETTERS = string.ascii_letters + string.digits + "_+-:;.,/()*"


def drawn(text: str, height: int = 30) -> np.ndarray:
    """A text in white on black with 20 pixels around it, `uint8[H, W]`."""
    picture = np.zeros((2 * height + 40, width_of(text, height) + 40, 3), np.uint8)
    write(picture, text, 20, 20, height, (255, 255, 255))
    assert (picture == picture[..., :1]).all()
    return picture[..., 0]


def test_every_letter_differs_from_the_others() -> None:
    shapes = [np.trim_zeros(drawn(letter)) for letter in LETTERS]
    for i, one in enumerate(shapes):
        assert one.max() == 255
        for other in shapes[:i]:
            assert one.shape != other.shape or not np.array_equal(one, other)


@pytest.mark.parametrize("height", [9, 12, 31])
def test_texts_are_where_they_should_be(height: int) -> None:
    for text in (*LETTERS, "player_0 moves"):
        shown = drawn(text, height)
        thick = height // 10 + 2
        rows, columns = np.flatnonzero(shown.any(1)), np.flatnonzero(shown.any(0))
        assert 20 - thick <= rows[0] <= rows[-1] < 20 + height * 4 / 3 + thick
        assert 20 - thick <= columns[0] <= columns[-1] < 20 + width_of(text, height) + thick
    assert np.array_equal(drawn("AB"), drawn("AB"))
    assert width_of("", height) == 0
    assert width_of("a b", height) > width_of("ab", height)


def test_rounded_strokes_are_round_and_symmetric() -> None:
    shown = drawn("O", 60)
    assert np.abs(shown.astype(int) - shown[:, ::-1]).max() <= 1
    ring = shown[14 : 14 + 72]
    assert np.abs(ring.astype(int) - ring[::-1]).max() <= 1
    assert shown[20, 20] == 0  # the corner of its box


def test_unknown_characters_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^no letter for '#' in 'a#b'$"):
        drawn("a#b")


def test_blending_mixes_by_cover() -> None:
    picture = np.full((4, 5, 3), 100, np.uint8)
    blend(picture, 1, 2, np.array([[0.0, 0.5, 1.0]], np.float32), (200, 0, 100))
    assert picture[1].tolist() == [[100] * 3] * 3 + [[150, 50, 100], [200, 0, 100]]
    assert (np.delete(picture, 1, axis=0) == 100).all()
