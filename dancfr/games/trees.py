"""Trees of the games of the registry."""

from typing import Any

import psutil

from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from envs.openspiel import OpenSpielGame, openspiel_tree
from envs.tree import MOST_NODES, Tree, TreeTooLarge, compile_tree

BYTES_A_NODE = 300
"""What making a tree takes at its peak, roughly."""


def make_tree(name: str, options: dict[str, Any], most_nodes: int = MOST_NODES) -> Tree:
    """The tree of a game of the registry.

    Raises:
        UsageError: the game has none, or it is too large for `most_nodes` or for this machine.
    """
    room = psutil.virtual_memory().available // BYTES_A_NODE
    game = make_game(name, **options)
    compile_any: Any = openspiel_tree if isinstance(game, OpenSpielGame) else compile_tree
    try:
        tree: Tree = compile_any(game, min(most_nodes, room))
        return tree
    except TreeTooLarge as error:
        cure = "" if most_nodes <= room else f"; {room:,} is what fits into the free memory"
        raise UsageError(f"{error} (--max-nodes){cure}") from None
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None
