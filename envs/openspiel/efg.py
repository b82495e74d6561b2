"""Writes trees in Gambit's extensive-form format, which OpenSpiel plays in C++ (`pyspiel.load_efg_game`)."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from envs.extensive import CHANCE
from envs.openspiel.gambit import quoted
from envs.tree import Tree


def to_efg(tree: Tree) -> str:
    """Converts a tree to version 2 of Gambit's extensive-form format (Gambit manual, "Representation of games").

    Actions and outcomes of chance are labelled by number, and infosets are numbered from 1 for each player. Returns are
    written without loss of precision; those of two players with a constant sum less `Tree.shift`. The sum of
    probabilities is exactly 1, as Gambit demands: they are the simplest fractions that round to those of the tree where
    these have that sum, such as 1/3; else decimals, of which the likeliest takes up what rounding lost.
    """
    players = " ".join(f'"{player}"' for player in range(tree.num_players))
    lines = [f"EFG 2 R {quoted(tree.name)} {{ {players} }}"]
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
            chance = chances_of(tuple(tree.probability[children.start : children.stop].tolist()))
            parts = [f'"{tree.action[child]}" {part}' for child, part in zip(children, chance, strict=True)]
            lines.append(f'c "" {chances} "" {{ {" ".join(parts)} }} 0')
        elif tree.mover[node] >= 0:
            infoset = tree.infoset[node]
            lines.append(f'p "" {tree.mover[node] + 1} {number[infoset]} "" {{ {choices[infoset]} }} 0')
        else:
            ends += 1
            lines.append(f't "" {ends} "" {{ {" ".join(_returns(tree, node))} }}')
    return "\n".join(lines) + "\n"


@lru_cache
def chances_of(probabilities: tuple[float, ...]) -> list[str]:
    """Returns fractions or decimals near the probabilities of one node, whose sum is exactly 1."""
    simple = [_simplest(each) for each in probabilities]
    if sum(simple) == 1:
        return list(map(str, simple))
    with localcontext(prec=_DIGITS):  # decimals, since OpenSpiel reads no fractions of large numbers
        parts = [Decimal(repr(each)) for each in probabilities]
        likeliest = parts.index(max(parts))
        parts[likeliest] += 1 - sum(parts)
        return [f"{each:f}" for each in parts]


def _simplest(number: float) -> Fraction:
    """Returns a fraction with a small denominator that rounds to a number, or the number's own."""
    exact = Fraction(number)
    near = (exact.limit_denominator(10**digits) for digits in range(1, 8))
    return next((each for each in near if float(each) == number), exact)


_DIGITS = 400
"""Enough for sums of any two probabilities."""


def _returns(tree: Tree, node: int) -> list[str]:
    won = float(tree.utility[node])
    returns = [won, -won] if tree.payoffs is None else tree.payoffs[node].tolist()
    return [repr(each + 0.0) for each in returns]  # never -0.0


def _choices(tree: Tree, infoset: int) -> str:
    slots = range(tree.slots[infoset], tree.slots[infoset + 1])
    return " ".join(f'"{tree.slot_action[slot]}"' for slot in slots)


__all__ = ["chances_of", "to_efg"]
