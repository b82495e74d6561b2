"""Writes trees in Gambit's extensive-form format, which OpenSpiel plays in C++ (`pyspiel.load_efg_game`)."""

import numpy as np

from envs.extensive import CHANCE
from envs.tree import Tree


def to_efg(tree: Tree) -> str:
    """Converts a tree to version 2 of Gambit's extensive-form format (Gambit manual, "Representation of games").

    Actions and outcomes of chance are labelled by number. Probabilities and returns are written without loss of
    precision; those of two players with a constant sum less `Tree.shift`. Infosets are numbered from 1 for each player.
    """
    players = " ".join(f'"{player}"' for player in range(tree.num_players))
    lines = [f'EFG 2 R "{tree.name.translate(_PLAIN)}" {{ {players} }}']
    starts = np.concatenate([[0], np.cumsum(tree.num_infosets)])
    number = np.arange(1, len(tree.player) + 1) - starts[tree.player]
    choices = [_choices(tree, infoset) for infoset in range(len(tree.player))]
    open_nodes = [0]
    chances = ends = 0
    while open_nodes:  # depth-first: a node, then the subtree of each child in order
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
            lines.append(f't "" {ends} "" {{ {" ".join(_returns(tree, node))} }}')
    return "\n".join(lines) + "\n"


_PLAIN = str.maketrans('"\n', "' ")


def _returns(tree: Tree, node: int) -> list[str]:
    won = float(tree.utility[node])
    returns = [won, -won] if tree.payoffs is None else tree.payoffs[node].tolist()
    return [repr(each + 0.0) for each in returns]  # never -0.0


def _choices(tree: Tree, infoset: int) -> str:
    slots = range(tree.slots[infoset], tree.slots[infoset + 1])
    return " ".join(f'"{tree.slot_action[slot]}"' for slot in slots)


__all__ = ["to_efg"]
