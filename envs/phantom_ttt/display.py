"""The display of phantom tic-tac-toe: the board as a viewer sees it."""

from envs.phantom_ttt.game import PhantomTicTacToe
from envs.placement.display import PlacementDisplay


class PhantomTicTacToeDisplay(PlacementDisplay[PhantomTicTacToe]):
    """Shows phantom tic-tac-toe on the general page."""


__all__ = ["PhantomTicTacToeDisplay"]
