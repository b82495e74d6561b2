"""A second implementation of the small games, in plain Python over histories, to test the compiled rules.

A history is all that was chosen so far, by chance and by players. `Look` tells everything about one.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

from envs.dark_hex import DarkHex
from envs.extensive import CHANCE, OVER, FactoredGame
from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.liars_dice import LiarsDice
from envs.oshi_zumo import OshiZumo
from envs.phantom_ttt import PhantomTicTacToe
from envs.placement.game import PlacementGame
from tests.envs.placement import boards

History = tuple[int, ...]


@dataclass(frozen=True)
class Position:
    """Who moves; the choices, with chance's probabilities (1 where a player chooses); player 0's winnings; and, of each
    of the two players, all that he knows."""

    mover: int
    choices: dict[int, float]
    won: float
    known: Any


Look = Callable[[History], Position]


def _drawn(weights: dict[int, int], known: Any) -> Position:
    total = sum(weights.values())
    return Position(CHANCE, {outcome: w / total for outcome, w in weights.items() if w > 0}, 0.0, known)


def _turn(mover: int, actions: list[int], known: Any) -> Position:
    return Position(mover, dict.fromkeys(sorted(actions), 1.0), 0.0, known)


def kuhn(game: Kuhn) -> Look:
    turns = {(): 0, (0,): 1, (1,): 1, (0, 1): 0}

    def look(history: History) -> Position:
        hand, played = history[:2], history[2:]
        known = ((hand[:1], played), (hand[1:], played))
        if len(hand) < 2:
            return _drawn({card: card not in hand for card in range(game.cards)}, known)
        if played in turns:
            return _turn(turns[played], [0, 1], known)
        better = 1.0 if hand[0] > hand[1] else -1.0
        return Position(OVER, {}, {(1, 0): 1.0, (0, 1, 0): -1.0, (0, 0): better}.get(played, 2 * better), known)

    return look


def _bet(moves: History, bets: list[int], sizes: list[int], raises: int) -> tuple[History, int, list[int] | None]:
    """Plays a round of betting: the part of `moves` that was played, who would be next, and his choices; None if it is
    over. A fold leaves the one who has folded next."""
    mover, raised = 0, 0
    for k, move in enumerate(moves):
        if move == 0:
            return moves[: k + 1], mover, None
        bets[mover] = bets[1 - mover]
        if move == 1 and k > 0:
            return moves[: k + 1], mover, None
        if move > 1:
            bets[mover] += sizes[move - 2]
            raised += 1
        mover = 1 - mover
    fold = [0] if bets[mover] < bets[1 - mover] else []
    return moves, mover, [*fold, 1, *(2 + k for k in range(len(sizes)) if raised < raises)]


def leduc(game: Leduc) -> Look:
    sizes = [[int(size) for size in part.split(",")] for part in game.sizes.split("/")]
    by_rank = game.deal == "ranks"
    kinds, copies = (game.ranks, game.suits) if by_rank else (game.ranks * game.suits, 1)

    def rank(card: int) -> int:
        return card if by_rank else card // game.suits

    def look(history: History) -> Position:
        dealt = 1 if by_rank else 2
        hand = divmod(history[0], kinds) if by_rank and history else history[:2]
        rest, board, rounds, bets = history[dealt:], (), [], [game.ante] * 2

        def known() -> Any:
            return tuple((hand[p : p + 1], board, tuple(filter(None, rounds))) for p in (0, 1))

        if not history and by_rank:
            pairs = {a * kinds + b: copies * (copies - (a == b)) for a in range(kinds) for b in range(kinds)}
            return _drawn(pairs, known())
        if len(hand) == 2:
            for number in (0, 1):
                played, mover, actions = _bet(rest, bets, sizes[number], game.raises)
                rounds.append(played)
                if actions is not None:
                    return _turn(mover, actions, known())
                if played[-1] == 0:
                    return Position(OVER, {}, -float(bets[0]) if mover == 0 else float(bets[1]), known())
                rest = rest[len(played) :]
                if number == 0 and rest:
                    board, rest = rest[:1], rest[1:]
                elif number == 0:
                    break
            if len(rounds) == 2:
                power = [(rank(card) == rank(board[0]), rank(card)) for card in hand]
                return Position(OVER, {}, float(bets[0] * ((power[0] > power[1]) - (power[0] < power[1]))), known())
        return _drawn({card: copies - hand.count(card) for card in range(kinds)}, known())

    return look


def goofspiel(game: Goofspiel) -> Look:
    n, chance = game.cards, game.prizes == "random"
    fixed = list(range(n)) if game.prizes == "ascending" else list(range(n))[::-1]
    width = 3 if chance else 2

    def look(history: History) -> Position:
        prizes = history[::3] if chance else tuple(fixed)
        bids = [history[p + width - 2 :: width] for p in (0, 1)]
        results = tuple((a > b) - (a < b) for a, b in zip(*bids, strict=False))
        known = tuple((prizes, own, results) for own in bids)
        if len(history) == width * n:
            won = sum(result * (prize + 1) for result, prize in zip(results, prizes, strict=True))
            return Position(OVER, {}, float(won), known)
        turn = len(history) % width - (width - 2)
        if turn < 0:
            return _drawn({prize: prize not in prizes for prize in range(n)}, known)
        return _turn(turn, [card for card in range(n) if card not in bids[turn]], known)

    return look


def oshi_zumo(game: OshiZumo) -> Look:
    def look(history: History) -> Position:
        bids = history[::2], history[1::2]
        results = [(a > b) - (a < b) for a, b in zip(*bids, strict=False)]
        known = tuple((own, tuple(results)) for own in bids)
        coins = [game.coins - sum(own) for own in bids]
        if len(history) % 2:
            return _turn(1, list(range(game.min_bid, coins[1] + 1)), known)
        place = sum(results)
        if abs(place) <= game.size:
            if min(coins) >= game.min_bid:
                return _turn(0, list(range(game.min_bid, coins[0] + 1)), known)
            place += coins[0] // game.min_bid - coins[1] // game.min_bid
        return Position(OVER, {}, float((place > 0) - (place < 0)), known)

    return look


def liars_dice(game: LiarsDice) -> Look:
    rolls = Counter(tuple(sorted(roll)) for roll in product(range(1, game.faces + 1), repeat=game.dice))
    hands = sorted(rolls)
    bids = [(quantity, face) for quantity in range(1, 2 * game.dice + 1) for face in range(1, game.faces + 1)]
    call = len(bids)

    def look(history: History) -> Position:
        dealt, played = [hands[k] for k in history[:2]], history[2:]
        known = tuple((tuple(dealt[p : p + 1]), played) for p in (0, 1))
        if len(dealt) < 2:
            return _drawn({k: rolls[hand] for k, hand in enumerate(hands)}, known)
        if call in played:
            quantity, face = bids[played[-2]]
            found = sum(die in (face, game.faces) for hand in dealt for die in hand)
            winner = len(played) % 2 if found >= quantity else 1 - len(played) % 2
            return Position(OVER, {}, 1.0 - 2.0 * winner, known)
        if not played:
            return _turn(0, list(range(call)), known)
        return _turn(len(played) % 2, [*range(played[-1] + 1, call), call], known)

    return look


def placement(game: PlacementGame) -> Look:
    def look(history: History) -> Position:
        position = boards.Stated()
        for cell in history:
            position = boards.after(game, position, cell)
        if position.mover == OVER:
            won = {0: 1.0, 1: -1.0, None: 0.0}[position.winner]
            return Position(OVER, {}, won, position.tries)
        return _turn(position.mover, position.legal(game.spec.num_actions), position.tries)

    return look


STATED: dict[type, Callable[[Any], Look]] = {
    Kuhn: kuhn,
    Leduc: leduc,
    Goofspiel: goofspiel,
    OshiZumo: oshi_zumo,
    LiarsDice: liars_dice,
    PhantomTicTacToe: placement,
    DarkHex: placement,
}


def stated(game: FactoredGame) -> Look:
    """The rules of `game`, its options included, in plain Python."""
    return STATED[type(game)](game)


LEDUC_2B2R = Leduc(sizes="2,4/4,8", raises=3, deal="ranks", name="leduc_2b2r")

SMALL: dict[str, FactoredGame] = {
    "kuhn": Kuhn(),
    "kuhn-2": Kuhn(2),
    "kuhn-4": Kuhn(4),
    "leduc": Leduc(),
    "leduc-no-raise": Leduc(ranks=2, sizes="1/3", raises=0, ante=2),
    "leduc-one-suit": Leduc(suits=1, sizes="3/1", raises=1, deal="ranks"),
    "leduc-two-sizes": Leduc(ranks=2, suits=3, sizes="1,3/2,5", raises=2, deal="ranks"),
    "goofspiel-2": Goofspiel(2),
    "goofspiel-3": Goofspiel(3),
    "goofspiel-3-random": Goofspiel(3, "random"),
    "goofspiel-4-ascending": Goofspiel(4, "ascending"),
    "oshi-zumo-5": OshiZumo(5, 1),
    "oshi-zumo-7-min-2": OshiZumo(7, 2, 2),
    "oshi-zumo-wide": OshiZumo(4, 50),
    "oshi-zumo-least": OshiZumo(3, 1, 2),
    "liars-dice-3-faces": LiarsDice(1, 3),
    "liars-dice-2-dice": LiarsDice(2, 2),
}
"""Games with trees that plain Python walks in no time, options at their borders among them."""
