"""Drawing tools of the pictures of all games: Pillow's built-in font, and sprites with smooth edges."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
Picture = NDArray[np.uint8]

_SAMPLES = 4  # per pixel and axis


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


__all__ = ["Colour", "Picture", "font", "sprite"]
