"""Drawing tools of the pictures of all games: Pillow's built-in font, sprites with smooth edges, and text."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
Picture = NDArray[np.uint8]

TEXT_SHAPE = 160, 640, 3
"""Shape of every picture of text."""

_SAMPLES = 4  # per pixel and axis
_PAPER, _INK, _MARGIN = (246, 243, 232), (40, 34, 16), 12
_SIZES = (24, 20, 16, 12, 9)  # of text, in pixels


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font of all pictures at a size in pixels; capitals are about 0.7 of it high."""
    return ImageFont.load_default(size)


def sprite(width: int, height: int, paint: Callable[[ImageDraw.ImageDraw, int], None]) -> Image.Image:
    """Draws a small transparent picture with smooth edges, to be pasted with itself as the mask.

    Args:
        width, height: Size in pixels.
        paint: Draws the sprite on a canvas that is larger by a factor, the second argument.

    Returns:
        The sprite, an image of mode ``RGBA``.
    """
    large = Image.new("RGBA", (width * _SAMPLES, height * _SAMPLES))
    paint(ImageDraw.Draw(large), _SAMPLES)
    return large.reduce(_SAMPLES)


def text_picture(text: str) -> Picture:
    """Draws text in the largest size in which it fits, with lines broken between words, `uint8[TEXT_SHAPE]`."""
    height, width, _ = TEXT_SHAPE
    image = Image.new("RGB", (width, height), _PAPER)
    draw = ImageDraw.Draw(image)
    for size in _SIZES:
        broken = "\n".join(_broken(line, size, width - 2 * _MARGIN) for line in text.splitlines())
        if draw.multiline_textbbox((_MARGIN, _MARGIN), broken, font(size))[3] <= height - _MARGIN:
            break
    draw.multiline_text((_MARGIN, _MARGIN), broken, fill=_INK, font=font(size))
    return np.array(image)


def _broken(line: str, size: int, width: int) -> str:
    """Returns a line with line breaks, so that it fits into `width` pixels unless a word does not."""
    lines = [""]
    for word in line.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if font(size).getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


__all__ = ["TEXT_SHAPE", "Colour", "Picture", "font", "sprite", "text_picture"]
