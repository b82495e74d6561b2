"""Pictures of single cards, drawn with NumPy alone."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from envs.lettering import Colour, Picture, blend, write

WIDTH, HEIGHT = 62, 88  # pixels of a card
STEP, STEP_DOWN = 34, 22  # so much of a card shows its rank and suit

_PAPER, _GOLDEN = (252, 251, 246), (255, 224, 130)
_RED, _BLACK, _EDGE = (200, 36, 44), (28, 30, 36), (88, 88, 92)
_STAR = (176, 112, 0)
_BACK, _BACK_LINE = (58, 88, 148), (104, 134, 192)
_FINE = 4  # rows and columns of samples in a pixel

Cover = NDArray[np.float32]


def rounded(height: int, width: int, radius: float, inset: float = 0.0) -> Cover:
    """A rectangle with round corners, `float32[height, width]`, smaller by `inset` on all sides."""
    y = np.abs(np.arange(height) + 0.5 - height / 2)[:, None] - (height / 2 - inset - radius)
    x = np.abs(np.arange(width) + 0.5 - width / 2)[None, :] - (width / 2 - inset - radius)
    beyond = np.hypot(np.maximum(x, 0), np.maximum(y, 0)) + np.minimum(np.maximum(x, y), 0)
    return np.clip(radius - beyond + 0.5, 0, 1).astype(np.float32)


@lru_cache(maxsize=64)
def symbol(name: str, size: int) -> Cover:
    """A suit, ``S``, ``H``, ``C``, ``D``, or a star ``*``, `float32[size, size]`."""
    fine = (np.arange(size * _FINE) + 0.5) / (size * _FINE) * 2 - 1
    y, x = np.meshgrid(fine, fine, indexing="ij")
    inside = {"H": _heart, "D": _diamond, "S": _spade, "C": _club, "*": _star}[name](x, y)
    return inside.reshape(size, _FINE, size, _FINE).mean((1, 3), dtype=np.float32)


def _heart(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    x, y = 1.22 * x, 0.14 - 1.18 * y
    return (x**2 + y**2 - 1) ** 3 < x**2 * y**3


def _diamond(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.abs(x / 0.78) ** 0.9 + np.abs(y / 0.98) ** 0.9 < 1


def _foot(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (y > 0.2) & (y < 0.96) & (np.abs(x) < 0.07 + 0.5 * np.maximum(y - 0.45, 0) ** 1.6)


def _spade(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    return _heart(1.04 * x, -1.12 * y - 0.14) | _foot(x, y)


def _club(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    leaves = (np.hypot(x - cx, y - cy) < 0.43 for cx, cy in ((0, -0.5), (-0.48, 0.2), (0.48, 0.2)))
    return np.logical_or.reduce([*leaves, np.hypot(x, y) < 0.2]) | _foot(x, y)


def _star(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    turn = np.abs((np.arctan2(x, -y) * 5 / (2 * np.pi) + 0.5) % 1 - 0.5) * 2 * np.pi / 5  # from the nearest tip
    tip, notch = 0.98, 0.4
    edge = tip * notch * np.sin(np.pi / 5) / (notch * np.sin(np.pi / 5 - turn) + tip * np.sin(turn))
    return np.hypot(x, y) < edge


def colour(card: str) -> Colour:
    """Red or black."""
    return _RED if card[0] in "HD" else _BLACK


@lru_cache(maxsize=128)
def face(card: str, wild: bool) -> Picture:
    """A card whose corners are not cut yet, `uint8[HEIGHT, WIDTH, 3]`; golden and with a star if it is wild."""
    picture = np.full((HEIGHT, WIDTH, 3), _GOLDEN if wild else _PAPER, np.uint8)
    ink = colour(card)
    if card in ("SB", "HR"):
        write(picture, card, 6, 6, 13, ink, 0.16)
        blend(picture, 36, 11, symbol("*", 40), ink)
        return picture
    write(picture, card[1], 5, 6, 15, ink, 0.16)
    blend(picture, 6, 19, symbol(card[0], 13), ink)
    blend(picture, 40, 13, symbol(card[0], 36), ink)
    if wild:
        blend(picture, 5, 43, symbol("*", 14), _STAR)
    return picture


@lru_cache(maxsize=1)
def back() -> Picture:
    """The back of a card."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    woven = ((x + y) % 8 < 2) | ((x - y) % 8 < 2)
    picture = np.where(woven[..., None], np.array(_BACK_LINE), np.array(_BACK)).astype(np.uint8)
    blend(picture, 0, 0, 1 - rounded(HEIGHT, WIDTH, 5, 4), _PAPER)
    return picture


@lru_cache(maxsize=1)
def _shapes() -> tuple[Cover, Cover]:
    return rounded(HEIGHT, WIDTH, 7), rounded(HEIGHT, WIDTH, 6, 1)


def lay(picture: Picture, card: str | None, top: int, left: int, wild: bool = False) -> None:
    """A card onto a picture; None is one that lies on its face."""
    outer, inner = _shapes()
    blend(picture, top, left, outer, _EDGE)
    blend(picture, top, left, inner, back() if card is None else face(card, wild))


__all__ = ["HEIGHT", "STEP", "STEP_DOWN", "WIDTH", "lay", "rounded", "symbol"]
