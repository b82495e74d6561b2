"""Words for pictures: strokes drawn with NumPy alone, smooth at any size.

A stroke is a line through points of a grid, each written as the digits x and y: the baseline is y = 6, capitals reach
up to 0, small letters to 2. A ``~`` rounds the corners of a stroke; one that ends where it begins has no corner there.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Colour = tuple[int, int, int]

CAPITAL, LOWEST = 6, 8  # height of a capital, and of all from its top to the lowest point, in units of the grid
WEIGHT = 0.13  # thickness of a stroke in heights of a capital
_GAP, _SPACE = 1.7, 3.6  # between letters and for a blank, in units of the grid

_STROKES = {
    "0": "~0030360600",
    "1": "022026",
    "2": "~0100404306 0646",
    "3": "~0100404313 ~1343460605",
    "4": "36300444",
    "5": "400003 ~0342460605",
    "6": "~41400005 ~0343460603",
    "7": "004016",
    "8": "~0040430300 ~0343460603",
    "9": "~05064641 ~0040430300",
    "A": "062046 1434",
    "B": "0600 ~00404303 ~03434606",
    "C": "~414000064645",
    "D": "0600 ~00404606",
    "E": "40000646 0333",
    "F": "400006 0333",
    "G": "~414000064643 4323",
    "H": "0006 4046 0343",
    "I": "0006",
    "J": "3034 ~34360604",
    "K": "0006 4004 1346",
    "L": "000636",
    "M": "0600234046",
    "N": "06004640",
    "O": "~0040460600",
    "P": "0600 ~00404303",
    "Q": "~0040460600 2447",
    "R": "0600 ~00404303 2346",
    "S": "~4140000343460605",
    "T": "0040 2026",
    "U": "0004 ~04064644 4440",
    "V": "002640",
    "W": "0016213640",
    "X": "0046 4006",
    "Y": "002340 2326",
    "Z": "00400646",
    "a": "~0232360602 3236",
    "b": "~0232360602 0006",
    "c": "~333202063635",
    "d": "~0232360602 3036",
    "e": "0434 ~343202063635",
    "f": "~301012 1216 0232",
    "g": "~0232360602 3236 ~36380807",
    "h": "0006 ~04023234 3436",
    "i": "0206 00",
    "j": "1216 ~161808 10",
    "k": "0006 3205 1436",
    "l": "0004 ~040616",
    "m": "0206 ~04022224 2426 ~24224244 4446",
    "n": "0206 ~04023234 3436",
    "o": "~0232360602",
    "p": "~0232360602 0208",
    "q": "~0232360602 3238",
    "r": "0206 ~040222",
    "s": "~3332020434360605",
    "t": "1015 ~151636 0232",
    "u": "0204 ~04063634 3236",
    "v": "022642",
    "w": "0216233642",
    "x": "0236 3206",
    "y": "0226 4218",
    "z": "02320636",
    "_": "0747",
    "+": "0444 2226",
    "-": "0434",
    ":": "03 06",
    ";": "13 1607",
    ".": "06",
    ",": "1607",
    "/": "0640",
    "(": "~100316",
    ")": "~001306",
    "*": "2125 0244 4204",
}


def _points(stroke: str) -> NDArray[np.float64]:
    """Corners of a stroke, `[n, 2]`; rounded ones are cut off four times (Chaikin 1974), which nears a smooth curve."""
    digits = stroke.removeprefix("~")
    points = np.array([[int(x), int(y)] for x, y in zip(digits[::2], digits[1::2], strict=True)], np.float64)
    if digits == stroke:
        return points
    closed = bool((points[0] == points[-1]).all())
    for _ in range(4):
        near, far = 0.75 * points[:-1] + 0.25 * points[1:], 0.25 * points[:-1] + 0.75 * points[1:]
        cut = np.stack([near, far], axis=1).reshape(-1, 2)
        points = np.concatenate([cut, cut[:1]]) if closed else np.concatenate([points[:1], cut[1:-1], points[-1:]])
    return points


def _grid_width(char: str) -> int:
    return max(int(x) for stroke in _STROKES[char].split() for x in stroke.removeprefix("~")[::2])


@lru_cache(maxsize=1024)
def _letter(char: str, height: int, weight: float) -> NDArray[np.float32]:
    """How much of each pixel a letter covers, with a margin of `_margin` pixels on all sides."""
    scale, half, margin = height / CAPITAL, weight * height / 2, _margin(height, weight)
    shape = round(LOWEST * scale) + 2 * margin, round(_grid_width(char) * scale) + 2 * margin
    y, x = np.mgrid[: shape[0], : shape[1]] + 0.5 - margin
    distance = np.full(shape, np.inf)
    for stroke in _STROKES[char].split():
        points = _points(stroke) * scale
        if len(points) == 1:  # a dot
            points = points.repeat(2, axis=0)
        for (x0, y0), (dx, dy) in zip(points, np.diff(points, axis=0), strict=False):
            along = ((x - x0) * dx + (y - y0) * dy) / max(dx * dx + dy * dy, 1e-9)
            share = np.clip(along, 0, 1)
            distance = np.minimum(distance, np.hypot(x - x0 - share * dx, y - y0 - share * dy))
    return np.clip(half - distance + 0.5, 0, 1).astype(np.float32)


def _margin(height: int, weight: float) -> int:
    return int(np.ceil(weight * height / 2)) + 1


def width_of(text: str, height: int) -> int:
    """Pixels from the first stroke of a text to its last.

    Args:
        text: Letters, digits and ``_+-:;.,/()*`` and blanks.
        height: Of a capital, in pixels.

    Raises:
        ValueError: a character that there is no letter for.
    """
    return round(_ends(text, height)[-1] - _GAP * height / CAPITAL) if text else 0


def _ends(text: str, height: int) -> list[float]:
    """Where each letter begins, and where one after the last would."""
    missing = sorted(set(text) - set(_STROKES) - {" "})
    if missing:
        raise ValueError(f"no letter for {missing[0]!r} in {text!r}")
    at = [0.0]
    for char in text:
        at.append(at[-1] + ((_SPACE if char == " " else _grid_width(char) + _GAP) * height / CAPITAL))
    return at


def blend(picture: Picture, top: int, left: int, cover: NDArray[np.float32], colour: Colour | Picture) -> None:
    """Paints over a picture, in place.

    Args:
        picture: `uint8[H, W, 3]`.
        top, left: Where `cover` begins; it lies within the picture.
        cover: `float32[h, w]`, from 0 for nothing to 1.
        colour: One, or one a pixel, `uint8[h, w, 3]`.
    """
    area = picture[top : top + cover.shape[0], left : left + cover.shape[1]]
    share = cover[..., None]
    area[:] = np.rint(area * (1 - share) + np.asarray(colour, np.float32) * share)


def write(
    picture: Picture, text: str, top: int, left: int, height: int, colour: Colour, weight: float = WEIGHT
) -> None:
    """A text into a picture; its capitals' top and left are given, `height` is theirs, in pixels.

    Raises:
        ValueError: a character that there is no letter for.
    """
    margin = _margin(height, weight)
    for char, at in zip(text, _ends(text, height), strict=False):
        if char != " ":
            blend(picture, top - margin, left + round(at) - margin, _letter(char, height, weight), colour)


__all__ = ["Colour", "Picture", "blend", "width_of", "write"]
