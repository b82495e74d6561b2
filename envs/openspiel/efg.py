"""Our trees in Gambit's extensive-form format, which OpenSpiel can play in C++ (`pyspiel.load_efg_game`)."""

import numpy as np

from envs.extensive import CHANCE
from envs.tree import Tree


def to_efg(tree: Tree) -> str:
    """The tree in version 2 of Gambit's extensive-form format (Gambit manual, "Representation of games").

    Actions and outcomes of chance are labelled by their numbers; probabilities and returns are written so that they
    are read back to the same bits. Infosets are numbered from 1 for each player.
    """
    lines = [f'EFG 2 R "{tree.name.translate(_PLAIN)}" {{ "0" "1" }}']
    first = int((tree.player == 0).sum())
    number = np.arange(1, len(tree.player) + 1) - np.where(tree.player == 0, 0, first)
    choices = [_choices(tree, infoset) for infoset in range(len(tree.player))]
    open_nodes = [0]
    chances = ends = 0
    while open_nodes:  # a node, then all that is below its first child, then the next child
        node = open_nodes.pop()
        children = range(tree.children[node], tree.children[node + 1])
        open_nodes.extend(reversed(children))
        if tree.mover[node] == CHANCE:
            chances += 1
            parts = [f'"{tree.action[child]}" {float(tree.probability[child])!r}' for child in children]
            lines.append(f'c "" {chances} "" {{ {" ".join(parts)} }} 0')
        elif tree.mover[node] >= 0:
            infoset = tree.infoset[node]
            lines.append(f'p "" {tree.mover[node] + 1} {number[infoset]} "" {{ {choices[infoset]} }} 0')
        else:
            ends += 1
            won = float(tree.utility[node]) + 0.0  # never -0.0
            lines.append(f't "" {ends} "" {{ {won!r} {0.0 - won!r} }}')
    return "\n".join(lines) + "\n"


_PLAIN = str.maketrans('"\n', "' ")


def _choices(tree: Tree, infoset: int) -> str:
    slots = range(tree.slots[infoset], tree.slots[infoset + 1])
    return " ".join(f'"{tree.slot_action[slot]}"' for slot in slots)


__all__ = ["to_efg"]
