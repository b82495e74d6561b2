"""Finds situations that nets cannot tell apart, since `observe` shows them alike or `encode` makes them alike, and
descriptions by which a player could tell apart situations that the rules show alike.

A game may mean the first so, as an abstraction. Random games find common cases only.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dancfr.games.subject import Subject
from envs.extensive import CHANCE, OVER, ExtensiveGame, FactoredGame, TooManyOutcomes
from envs.game import Game, Identified, States

MOST_DECISIONS = 20_000
"""Decisions after which no more are looked at, since games of other libraries may be slow."""
MOST_DESCRIBED = 4_000
"""Decisions after which no more are described: one after the other, as text."""
MOST_SHOWN = 100
"""Longest description of a situation in a warning, in characters."""

Situation = tuple[np.void, int, Sequence[int]]
"""A state, the player to move, and all choices before it, those of chance too where the game lists them."""


def find_forgotten(subject: Subject, games: int, seed: int) -> list[str]:
    """Plays random games and compares the knowledge of players with the results of `observe` and `encode`.

    The knowledge of players in an `ExtensiveGame` are their actions, and the public and private observations; elsewhere
    `identify` tells it apart, or else `observe` itself.

    Returns:
        A warning for `observe` and for each encoding that loses a difference, with two situations as an example.

    Raises:
        UsageError: `describe` tells a player apart what the player knows to be the same.
    """
    game, found = subject.game, dict[str, str]()
    shown: dict[tuple[str, int, int], tuple[object, Situation]] = {}  # by hashes: rows may have kilobytes

    def look(what: str, seen: NDArray[np.generic], known: Sequence[object], situations: Sequence[Situation]) -> None:
        """Compares rows that are seen with the knowledge there, and notes the first difference that is lost."""
        for row, key, situation in zip(seen, known, situations, strict=True):
            before, other = shown.setdefault((what, situation[1], hash(row.tobytes())), (key, situation))
            if before != key and what not in found:
                found[what] = _warning(game, what, other, situation)

    texts: dict[tuple[int, object], str] = {}  # by player and knowledge

    def read(known: Sequence[object], states: States, players: Sequence[int]) -> None:
        """Compares the descriptions of situations that a player cannot tell apart."""
        for key, state, player in zip(known, states, players, strict=True):
            text = game.describe(state, player)  # type: ignore[attr-defined]
            other = texts.setdefault((player, key), text)
            if other != text:
                raise subject.wrong(
                    f"describe(state, {player}) tells situations apart that player {player} has seen alike, "
                    f"{_cut(other)} and {_cut(text)}: leave out the cards, dice or ghosts that only others know, "
                    "as the page in the browser shows this text"
                )

    decisions = 0
    for states, players, known, everyone, paths in _walk(game, games, np.random.default_rng((seed, 3))):
        packed = game.observe(states, players)
        situations = list(zip(states, players.tolist(), paths, strict=True))
        if known is not None:
            look("observe", packed, known, situations)
            if isinstance(game, FactoredGame) and decisions < MOST_DESCRIBED:
                for player, keys in enumerate(everyone):  # the page shows the text to those who wait, too
                    read(keys, states, [player] * len(states))
                if not everyone:
                    read(known, states, players.tolist())
        infostates = [hash(row.tobytes()) for row in packed]
        for encoding in game.spec.shapes:
            look(encoding, game.encode(packed, encoding), infostates, situations)
        if (decisions := decisions + len(states)) > MOST_DECISIONS:
            break
    return [found[what] for what in ("observe", *game.spec.shapes) if what in found]


def _warning(game: Game, what: str, one: Situation, other: Situation) -> str:
    """A warning with an example."""
    texts = [
        "after the choices " + ", ".join(map(str, path)) if path else "at the start" for _, _, path in (one, other)
    ]
    if isinstance(game, FactoredGame):
        described = [game.describe(state, player) for state, player, _ in (one, other)]
        texts = texts if described[0] == described[1] else described
    pair = " and ".join(map(_cut, texts))
    if what == "observe":
        return (
            f"observe shows player {one[1]} the same in situations that this player can tell apart, {pair}: nets and "
            "stored strategies forget the difference; add it to observe if it matters, or leave it out of public and "
            "private if the player should not know it"
        )
    return (
        f'encode(..., "{what}") makes infostates of player {one[1]} alike that observe tells apart, {pair}: nets play '
        "the same in both; add the difference to encode if it matters"
    )


def _cut(text: str) -> str:
    """The text in quotes, if need be shortened."""
    return repr(text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}...")


def _walk(
    game: Game, games: int, rng: np.random.Generator
) -> Iterator[tuple[States, NDArray[np.int8], list[object] | None, list[list[int]], list[tuple[int, ...]]]]:
    """Plays random games. Yields the D states in which players decide, the players, the knowledge of each, if it is
    defined beside `observe`, for every player the knowledge in all states, if it is made of observations, and the
    choices before each state."""
    listed = isinstance(game, ExtensiveGame) and _lists_chance(game)
    keys = [[0] * game.spec.num_players for _ in range(games)]  # of what each player knows
    states = game.initial(games) if listed else game.reset(games, rng)  # type: ignore[attr-defined]
    paths: list[tuple[int, ...]] = [()] * games
    while True:
        mover = game.mover(states) if listed else game.to_move(states)  # type: ignore[attr-defined]
        running = np.flatnonzero(mover != OVER)
        if not len(running):
            return
        states, mover = states[running], mover[running]
        keys, paths = [keys[i] for i in running], [paths[i] for i in running]
        at = np.flatnonzero(mover >= 0)
        if len(at):
            decided, players, known = states[at], mover[at].astype(np.int8), None
            everyone: list[list[int]] = []
            if listed and getattr(game, "timed", True):
                everyone = [[keys[i][player] for i in at] for player in range(game.spec.num_players)]
                known = [everyone[player][i] for i, player in enumerate(players.tolist())]
            elif isinstance(game, Identified):
                known = [row.tobytes() for row in game.identify(decided, players)]
            yield decided.copy(), players, known, everyone, [paths[i] for i in at]
        weight = game.legal(states).astype(np.float64)
        if listed and len(by_chance := np.flatnonzero(mover == CHANCE)):
            chances = game.chance(states[by_chance])  # type: ignore[attr-defined]
            weight = np.pad(weight, ((0, 0), (0, max(0, chances.shape[1] - weight.shape[1]))))
            weight[by_chance] = np.pad(chances, ((0, 0), (0, weight.shape[1] - chances.shape[1])))
        choices = (weight * rng.random(weight.shape)).argmax(axis=1)
        paths = [(*path, choice) for path, choice in zip(paths, choices.tolist(), strict=True)]
        if not listed:
            game.step(states, choices, rng)
            continue
        game.apply(states, choices)  # type: ignore[attr-defined]
        public = game.public(states).tolist()  # type: ignore[attr-defined]
        for player in range(game.spec.num_players):
            private = game.private(states, player).tolist()  # type: ignore[attr-defined]
            for i, key in enumerate(keys):
                own = int(choices[i]) if mover[i] == player else -1
                key[player] = hash((key[player], public[i], private[i], own))


def _lists_chance(game: ExtensiveGame) -> bool:
    states = game.initial(1)
    try:
        if game.mover(states)[0] == CHANCE:
            game.chance(states)
    except TooManyOutcomes:
        return False
    return True


__all__ = ["find_forgotten"]
