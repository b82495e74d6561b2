"""Trees of the registered games."""

from pathlib import Path
from typing import Any

import psutil

import envs
from dancfr.errors import UsageError, one_line, place_of
from dancfr.games.registry import make_game
from envs.openspiel import OpenSpielGame, openspiel_tree
from envs.tree import MOST_NODES, Tree, TreeTooLarge, compile_tree

_ENVS = str(Path(envs.__file__).parent)

BYTES_A_NODE = 300
"""Peak memory of making a tree, roughly."""


def make_tree(name: str, options: dict[str, Any], most_nodes: int = MOST_NODES) -> Tree:
    """Makes the tree of a registered game.

    Args:
        name: Name of the game.
        options: Options of the game.
        most_nodes: Largest number of nodes.

    Raises:
        UsageError: the game has no tree, or the tree is too large for `most_nodes` or for this machine.
    """
    fitting = psutil.virtual_memory().available // BYTES_A_NODE
    game = make_game(name, **options)
    compile_any: Any = openspiel_tree if isinstance(game, OpenSpielGame) else compile_tree
    try:
        tree: Tree = compile_any(game, min(most_nodes, fitting))
        return tree
    except TreeTooLarge as error:
        cure = "" if most_nodes <= fitting else f"; the free memory holds {fitting:,}"
        raise UsageError(f"{error} (--max-nodes){cure}") from None
    except (TypeError, ValueError) as error:
        at = place_of(error)  # of this project's own code, which refuses a game in one line, or of the game's
        told = str(error) if at.startswith(_ENVS) else f"game {name}: building its tree raised {one_line(error)} ({at})"
        raise UsageError(told) from None
