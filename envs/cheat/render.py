"""One game of Cheat as text and as a picture.

A spectator sees all cards. A player sees their own cards; of the other players, also after the end, only the number of
cards and the cards that a challenge has just shown. Cards that another player has picked and not yet laid count as
cards in that player's hand.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from envs.cheat import rules
from envs.cheat.cards import absolute
from envs.cheat.game import FACES, Cheat
from envs.drawing import Colour, Picture, font

HEAD, ROW, WIDTH = 44, 66, 800
"""Sizes in pixels: height of a line of text, height of a player's row, and width of the picture."""

_CARD = (44, 30)  # height and width in pixels
_HAND, _PUT, _MARGIN = 150, 560, 12  # left of a player's hand, left of the cards put into the pile, and margin
_FELT, _DARK, _BAR = (38, 98, 74), (24, 66, 50), (22, 30, 30)
_PAPER, _BACK, _EDGE = (246, 243, 232), (94, 114, 158), (30, 40, 36)
_LIGHT, _GOLD, _INK, _RED = (240, 238, 226), (250, 204, 84), (40, 34, 16), (206, 74, 66)
_MOST_PIPS = 10


@dataclass(frozen=True)
class Heap:
    """Cards as the viewer sees them.

    Attributes:
        faces: Faces in order; None if hidden.
        size: Number of cards.
    """

    faces: str | None
    size: int


@dataclass(frozen=True)
class Seat:
    """A player as the viewer sees them.

    Attributes:
        hand: The hand.
        put: Cards that the player has put into the present pile.
        picked: Cards picked for a discard that is not yet laid.
        health: Health points; None if unlimited.
    """

    hand: Heap
    put: Heap
    picked: Heap
    health: int | None


def seats(game: Cheat, state: np.void, view: int | None) -> list[Seat]:
    """Returns all players as the spectator (None) or a player sees them."""
    found = []
    for p in range(game.players):
        picking = state["phase"] == rules.DISCARDING and state["discarder"] == p
        hand, put = (int(state[name][p]) for name in ("hand", "put"))
        picked = int(state["discard"]) if picking else 0
        open_ = view is None or view == p
        if not open_:
            hand, picked = hand + picked, 0
        held, laid, taken = (_heap(game, cards, int(state["rank"]), open_) for cards in (hand, put, picked))
        found.append(Seat(held, laid, taken, int(state["health"][p]) if game.health else None))
    return found


def _heap(game: Cheat, cards: int, rank: int, open_: bool) -> Heap:
    faces = "".join(FACES[r] * count for r, count in enumerate(absolute(cards, rank, game.ranks)))
    return Heap(faces if open_ else None, len(faces))


def headline(game: Cheat, state: np.void) -> str:
    """Describes a game in one line: ply, rank, and the decision to make or the result."""
    begun = f"ply {state['ply']}, rank {game.name_rank(state['rank'])}"
    discarder = f"player_{state['discarder']}"
    if state["ending"] != rules.RUNNING:
        outcome = "no player wins"
        if state["winner"] >= 0:
            outcome = f"player_{state['winner']} wins"
        elif state["loser"] >= 0:
            outcome = f"player_{state['loser']} loses"
        return f"{begun}: {outcome} ({rules.ENDINGS[state['ending']]})"
    if state["phase"] == rules.DISCARDING:
        return f"{begun}: {discarder} discards"
    return f"{begun}: {discarder} claims {state['claimed']}, player_{state['mover']} answers"


def news(game: Cheat, state: np.void) -> str:
    """Describes the cards that a challenge showed in the last transition; empty if there was no challenge."""
    if state["taken"] < 0:
        return ""
    before = int(state["rank"]) - int(state["phase"] == rules.DISCARDING)  # in a new turn the rank has risen since
    shown = game.name_cards(state["shown"], before % game.ranks)
    return f"shown {shown}, player_{state['taken']} takes the pile"


def ansi(game: Cheat, state: np.void, view: int | None = None) -> str:
    """Renders one game as text, as the spectator (None) or a player sees it; ``>`` marks the player to move."""
    lines = [headline(game, state)]
    if shown := news(game, state):
        lines.append(f"  {shown}")
    for p, seat in enumerate(seats(game, state, view)):
        text = f"{'>' if state['mover'] == p else ' '} player_{p}"
        if seat.health is not None:
            text += f"  health {seat.health}"
        text += f"  hand {_describe(seat.hand)}  put {_describe(seat.put)}"
        lines.append(text + (f"  picked {_describe(seat.picked)}" if seat.picked.size else ""))
    return "\n".join(lines) + "\n"


def _describe(heap: Heap) -> str:
    return f"{heap.size} ({heap.faces})" if heap.faces else str(heap.size)


def rgb_array(game: Cheat, state: np.void, view: int | None = None) -> Picture:
    """Draws one game, `uint8[HEAD + players * ROW + HEAD, WIDTH, 3]`, as the spectator (None) or a player sees it.

    Each player has a row: the name, golden if the player is to move, and the health; the hand, with picked cards
    raised; and the cards put into the pile. Cards that lie face down are blue.
    """
    height = 2 * HEAD + game.players * ROW
    image = Image.new("RGB", (WIDTH, height), _FELT)
    draw = ImageDraw.Draw(image)
    for top, text in ((0, headline(game, state)), (height - HEAD, news(game, state))):
        _fill(draw, top, 0, (HEAD, WIDTH), _BAR)
        draw.text((_MARGIN, top + HEAD // 2), text, fill=_LIGHT, font=font(20), anchor="lm")
    for p, seat in enumerate(seats(game, state, view)):
        top = HEAD + p * ROW
        moving = state["mover"] == p
        ink = _INK if moving else _LIGHT
        _fill(draw, top + 6, _MARGIN, (ROW - 12, _HAND - 2 * _MARGIN), _GOLD if moving else _DARK)
        draw.text((2 * _MARGIN, top + 21), f"player_{p}", fill=ink, font=font(18), anchor="lm")
        _draw_health(draw, seat.health, game.health, top + 38, ink)
        _draw_heaps(draw, (seat.hand, seat.picked), top + 14, _HAND, _PUT - 2 * _MARGIN)
        _draw_heaps(draw, (seat.put, Heap("", 0)), top + 14, _PUT, WIDTH - _MARGIN)
        _fill(draw, top + ROW - 1, 0, (1, WIDTH), _DARK)
    return np.array(image)


def _fill(draw: ImageDraw.ImageDraw, top: int, left: int, size: tuple[int, int], colour: Colour) -> None:
    draw.rectangle((left, top, left + size[1] - 1, top + size[0] - 1), fill=colour)


def _draw_health(draw: ImageDraw.ImageDraw, health: int | None, most: int, top: int, colour: Colour) -> None:
    """Draws a pip per health point, hollow if lost; a number if there are many points, nothing if there is no limit."""
    if health is None:
        return
    if most > _MOST_PIPS:
        draw.text((2 * _MARGIN, top + 5), f"health {health}", fill=colour, font=font(15), anchor="lm")
        return
    for point in range(most):
        left = 2 * _MARGIN + 11 * point
        _fill(draw, top, left, (9, 9), _EDGE)
        if point < health:
            _fill(draw, top + 1, left + 1, (7, 7), _RED)


def _draw_heaps(draw: ImageDraw.ImageDraw, heaps: tuple[Heap, Heap], top: int, left: int, right: int) -> None:
    """Draws cards side by side, overlapping if there are many; the cards of the second heap are raised."""
    count = sum(heap.size for heap in heaps)
    step = min(_CARD[1] + 3, (right - left - _CARD[1]) / max(count - 1, 1))
    at = 0
    for heap, raised in zip(heaps, (0, 8), strict=True):
        for face in heap.faces if heap.faces is not None else [""] * heap.size:
            _draw_card(draw, face, top - raised, left + int(at * step))
            at += 1


def _draw_card(draw: ImageDraw.ImageDraw, face: str, top: int, left: int) -> None:
    """Draws a card with its face, or its back if the face is empty."""
    _fill(draw, top, left, _CARD, _EDGE)
    _fill(draw, top + 1, left + 1, (_CARD[0] - 2, _CARD[1] - 2), _PAPER if face else _BACK)
    if face:
        draw.text((left + 3, top + 12), face, fill=_INK, font=font(16), anchor="lm")


__all__ = ["HEAD", "ROW", "WIDTH", "Heap", "Seat", "ansi", "headline", "news", "rgb_array", "seats"]
