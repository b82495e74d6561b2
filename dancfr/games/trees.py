"""Trees of the registered games."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

import envs
from dancfr.errors import UsageError, one_line, place_of
from dancfr.games.registry import make_game
from envs.chanceless import extensive
from envs.game import GameBase
from envs.openspiel import OpenSpielGame, openspiel_tree
from envs.tree import MOST_NODES, Tree, TreeTooLarge, compile_tree

_ENVS = str(Path(envs.__file__).parent)

BYTES_A_NODE = 300
"""Peak memory of the arrays of a tree while it is made, roughly, without the part that depends on the game."""

_PROBES = 2000
"""States that are made to find the memory of one in OpenSpiel, from 0.5 to 10 kB."""


class Treeless(UsageError):
    """A game has no tree, or too large a one."""


def make_tree(
    game: str | GameBase,
    options: Mapping[str, Any] | None = None,
    most_nodes: int | None = None,
    *,
    observations: bool = True,
    general: bool = False,
) -> Tree:
    """Makes the tree of a game.

    Args:
        game: Name of a registered game, or a game.
        options: Options of a game given by name.
        most_nodes: Largest number of nodes; None: `MOST_NODES`.
        observations: Whether agents other than tables by digests will play on it, see `openspiel_tree`.
        general: Whether games of more players, or of returns without a constant sum, have a tree too; it then has
            `Tree.payoffs`.

    Raises:
        Treeless: the game has no tree, or the tree is too large for `most_nodes`.
        UsageError: the tree is too large for this machine, or code of the game fails.
    """
    if isinstance(game, str):
        game = make_game(game, **(options or {}))
    allowed = MOST_NODES if most_nodes is None else most_nodes
    fitting = allowed
    try:
        fitting = psutil.virtual_memory().available // bytes_a_node(game)
        limit = min(allowed, fitting)
        if isinstance(game, OpenSpielGame):
            return openspiel_tree(game, limit, observations=observations, general=general)
        return compile_tree(game, limit, general=general)
    except MemoryError:
        raise UsageError(f"the tree of {game.spec.name} does not fit into the free memory") from None
    except TreeTooLarge as error:
        more = "" if most_nodes is None else ", or allow more (--max-nodes)"
        cure = "" if allowed <= fitting else f"; the free memory holds {fitting:,}"
        raise Treeless(f"{error}{more}{cure}") from None
    except (TypeError, ValueError, RuntimeError) as error:
        at = place_of(error)  # of this project's own code, which refuses a game in one line, or of the game's
        if at.startswith(_ENVS):
            raise Treeless(str(error)) from None
        raise UsageError(f"game {game.spec.name}: building its tree raised {one_line(error)} ({at})") from None


def bytes_a_node(game: GameBase) -> int:
    """Estimates the memory that making a tree takes for each node: arrays, and the states, legal actions and
    infostates of the widest layer."""
    spec, shown = game.spec, 2 * game.spec.packed_size
    if not isinstance(game, OpenSpielGame):
        return BYTES_A_NODE + shown + spec.num_actions + 2 * int(extensive(game).initial(1).dtype.itemsize)
    process = psutil.Process()
    start = game.spiel.new_initial_state()
    kept = [start.clone() for _ in range(_PROBES)]  # fills what was free already
    before = process.memory_info().rss
    kept += [start.clone() for _ in range(_PROBES)]
    state = (process.memory_info().rss - before) // _PROBES
    return int(2 * BYTES_A_NODE + shown + max(state, 500))
