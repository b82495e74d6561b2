"""The display of dark hex: the board as a viewer sees it."""

from typing import ClassVar

from envs.dark_hex.game import DarkHex
from envs.placement.display import PlacementDisplay


class DarkHexDisplay(PlacementDisplay[DarkHex]):
    """Shows dark hex on the general page."""

    slanted: ClassVar[bool] = True


__all__ = ["DarkHexDisplay"]
