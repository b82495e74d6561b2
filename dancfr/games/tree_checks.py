"""Checks that need the tree of a game: chance events, observations, leaks and recall."""

from typing import Any

import numpy as np

from dancfr.errors import UsageError
from dancfr.games.subject import Subject
from dancfr.games.trees import make_tree
from envs.chanceless import ChanceDrawn, extensive
from envs.extensive import CHANCE, MOST_OUTCOMES, OVER, ExtensiveGame, TooManyOutcomes
from envs.faults import chance_fault
from envs.openspiel import OpenSpielGame
from envs.tree import ImperfectRecall, TreeTooLarge
from envs.tree_answers import SLACK

Plain = dict[str, Any]


def check_tree(subject: Subject, games: int, seed: int, most_nodes: int) -> tuple[str, Plain | None]:
    """Checks the methods that a tree needs, then builds it unless the game has none or is too large.

    Args:
        subject: The game.
        games, seed, most_nodes: See `dancfr.games.checks.check_game`.

    Returns:
        A description, and the tree's sizes if there is one.

    Raises:
        UsageError: the game lists chance events or observations wrongly, or its tree has a fault.
    """
    if why := getattr(subject.game, "no_tree", ""):
        return f"not checked: {why}", None
    try:
        if isinstance(subject.game, ExtensiveGame):
            _check_listing(subject, games, seed)
        tree = subject.attempt("building its tree", make_tree, subject.game, None, most_nodes, general=True)
    except UsageError as error:
        cause = error.__cause__ or error.__context__
        if isinstance(cause, TreeTooLarge):  # `make_tree` put a line that names --max-nodes in its place
            return f"not checked: it has more than {most_nodes:,} nodes, or more than fit into memory", None
        if isinstance(cause, ChanceDrawn):
            return f"not checked: {str(cause).partition(' has no tree: ')[2]}", None
        if isinstance(cause, TooManyOutcomes):
            return f"not checked: {cause}", None
        if isinstance(cause, ImperfectRecall) and isinstance(subject.game, OpenSpielGame):  # a game may be meant so
            return f"none: {str(cause).removeprefix(f'{subject.name}: ')}, and solvers need perfect recall", None
        raise
    # Of a game without chance events, observe itself is what the players have seen, so it cannot leak.
    leaks = "no leak in observe, " if isinstance(subject.game, (ExtensiveGame, OpenSpielGame)) else ""
    infosets = " and ".join(f"{count:,}" for count in tree.num_infosets)
    text = f"{tree.num_nodes:,} nodes, {infosets} infosets; {leaks}perfect recall"
    if tree.identity is None and not tree.tells_apart:
        text += "; strategies of it cannot be stored, since observe shows less than the players know"
    return text, {"nodes": tree.num_nodes, "infosets_by_player": list(tree.num_infosets)}


def _check_listing(subject: Subject, games: int, seed: int) -> None:
    """Plays B random games by the methods of an `ExtensiveGame` and checks their return values."""
    game, spec, rng = extensive(subject.game), subject.game.spec, np.random.default_rng((seed, 2))
    states = subject.attempt("initial", game.initial, games)
    for _ in range(spec.max_plies + MOST_OUTCOMES):
        mover = subject.array("mover", np.int8, (len(states),), states)
        if (strange := mover[(mover < CHANCE) | (mover >= spec.num_players)]).size:
            raise subject.wrong(f"mover returned {strange[0]}, expected a player, {OVER} (over) or {CHANCE} (chance)")
        states, mover = states[mover != OVER], mover[mover != OVER]
        if not len(states):
            return
        weight = subject.attempt("legal", game.legal, states).astype(np.float64)
        by_chance = np.flatnonzero(mover == CHANCE)
        if by_chance.size:
            chances = subject.array("chance", np.float64, (len(by_chance), None), states[by_chance])
            if fault := chance_fault(chances, len(by_chance), SLACK):
                raise subject.wrong(fault)
            weight = np.pad(weight, ((0, 0), (0, max(0, chances.shape[1] - weight.shape[1]))))
            weight[by_chance] = np.pad(chances, ((0, 0), (0, weight.shape[1] - chances.shape[1])))
        choices = (weight * rng.random(weight.shape)).argmax(axis=1)
        if subject.attempt("apply", game.apply, states, choices) is not None:
            raise subject.wrong("apply returned something, but has to change the states that it is given")
        for method, arguments in (("public", ()), *(("private", (p,)) for p in range(spec.num_players))):
            codes = subject.array(method, np.int64, (len(states),), states, *arguments)
            if codes.min() < 0:
                raise subject.wrong(f"{method} returned {codes.min()}, expected codes from 0")
        subject.array("utilities", np.float64, (len(states), spec.num_players), states)
    raise subject.wrong("games played by initial, chance and apply do not end")


__all__ = ["check_tree"]
