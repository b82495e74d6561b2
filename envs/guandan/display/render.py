"""A table of GuanDan as text and as a picture.

Both show all cards to a spectator; to one of the seats they hide the other hands until the game ends. The picture has
player 0, or the player who looks, at the bottom; the next players sit to the right, above and to the left.
"""

import numpy as np
from PIL import Image, ImageDraw

from envs.drawing import Colour, Picture, font
from envs.guandan.display.faces import HEIGHT, STEP, STEP_DOWN, WIDTH, lay
from envs.guandan.display.scene import PLACES, Scene, Seat, seen, team_name
from envs.guandan.rules.state import SEATS

LONGEST_HAND = 28

_MARGIN, _GAP, _STRIP, _PLATE = 20, 10, 32, 28
_HEAD = _STRIP + _MARGIN  # top of the upper hand
_SIDE = _MARGIN + WIDTH + 2 * _GAP  # left of what lies before the left seat
SIZE = (
    (LONGEST_HAND - 1) * STEP_DOWN + HEIGHT + 2 * _HEAD,
    (LONGEST_HAND - 1) * STEP + WIDTH + 2 * _SIDE,
)
"""Height and width of the picture, in pixels."""
HEADLINE, NEWS, NAME = 20, 17, 18
"""Sizes of the font: of the line above, of the line below, and of the players' names."""

_FELT, _DARK, _BAR = (38, 98, 74), (24, 66, 50), (22, 30, 30)
_LIGHT, _DIM, _GOLD, _INK = (240, 238, 226), (150, 186, 168), (250, 204, 84), (40, 34, 16)


def ansi(state: np.void, view: int | None = None) -> str:
    """Renders one table as text, as the spectator (None) or a seat sees it.

    Cards are written as in actions, S3 or HT, with a double space between ranks and a star at wild cards.
    """
    scene = seen(state, view)
    lines = [_headline(scene)]
    lines.append("levels: " + ", ".join(f"{scene.levels[team]} of {team_name(team)}" for team in (0, 1)))
    lines += scene.news
    for seat in range(len(scene.seats)):
        lines += ["", *_seat_lines(scene, seat)]
    return "\n".join(lines) + "\n"


def _headline(scene: Scene) -> str:
    title = f"round {scene.number}"
    if scene.level is not None:
        title += f" at level {scene.level}, wild card {scene.wild}"
    return f"{title}: {scene.turn}"


def _seat_lines(scene: Scene, seat: int) -> list[str]:
    """Lines of a seat: its name and last move, and its cards."""
    shown = scene.seats[seat]
    mark = ">" if seat == scene.mover else " "
    first = f"{mark} player_{seat}  {_state_of(shown):<8}  {_last_move(scene, seat)}".rstrip()
    if shown.hand is None:
        return [first, "    (hidden)"] if shown.left else [first]
    return [first, f"    {in_ranks(shown.hand, scene.wild)}"] if shown.hand else [first]


def _state_of(shown: Seat) -> str:
    if shown.place is not None:
        return PLACES[shown.place]
    return f"{shown.left} card{'s' * (shown.left != 1)}"


def _last_move(scene: Scene, seat: int) -> str:
    last = scene.seats[seat].last
    if last is None:
        return ""
    if not last:
        return "passed"
    move = f"{scene.move}: " if seat == scene.holder else ""
    return move + " ".join(marked(card, scene.wild) for card in last)


def marked(card: str, wild: str | None) -> str:
    """Returns the name of a card, with a star if it is wild."""
    return f"{card}*" if card == wild else card


def in_ranks(cards: list[str], wild: str | None) -> str:
    """Joins names of cards in order, with a double space between ranks; both jokers are one rank."""
    text = ""
    for i, card in enumerate(cards):
        rank = _rank(card)
        text += ("" if i == 0 else " " if rank == _rank(cards[i - 1]) else "  ") + marked(card, wild)
    return text


def _rank(card: str) -> str:
    return "joker" if card in ("SB", "HR") else card[1]


def rgb_array(state: np.void, view: int | None = None) -> Picture:
    """Draws one table as the spectator (None) or a seat sees it, `uint8[*SIZE, 3]`.

    The cards of each seat's last move lie before it. The move to beat and the name of the player to move are golden;
    so are wild cards.
    """
    scene = seen(state, view)
    image = Image.new("RGB", SIZE[::-1], _FELT)
    draw = ImageDraw.Draw(image)
    _draw_bar(draw, _headline(scene), 0, HEADLINE)
    _draw_bar(draw, "; ".join(scene.news), SIZE[0] - _STRIP, NEWS)
    _draw_levels(image, draw, scene)
    for seat in range(SEATS):
        side = (seat - (view or 0)) % SEATS
        _draw_hand(image, scene, seat, side)
        _draw_move(image, draw, scene, seat, side)
    return np.array(image)


def _draw_bar(draw: ImageDraw.ImageDraw, text: str, top: int, size: int) -> None:
    """Draws a strip with a line of text."""
    draw.rectangle((0, top, SIZE[1], top + _STRIP - 1), fill=_BAR)
    draw.text((_MARGIN, top + _STRIP // 2), text, fill=_LIGHT, font=font(size), anchor="lm")


def places(count: int, side: int, hidden: bool) -> list[tuple[int, int]]:
    """Returns top and left of each card of a hand: a centred row or, at the sides, a centred column.

    Args:
        count: Number of cards, at most 28.
        side: 0 below, 1 at the right, 2 above, 3 at the left.
        hidden: Whether the cards lie face down, and so closer.
    """
    upright = side % 2 == 1
    step = (STEP_DOWN if upright else STEP) // (2 if hidden else 1)
    length = (count - 1) * step + (HEIGHT if upright else WIDTH)
    start = (SIZE[not upright] - length) // 2
    edge = (SIZE[0] - _HEAD - HEIGHT, SIZE[1] - _MARGIN - WIDTH, _HEAD, _MARGIN)[side]
    along = [start + i * step for i in range(count)]
    return [(at, edge) if upright else (edge, at) for at in along]


def _draw_hand(image: Image.Image, scene: Scene, seat: int, side: int) -> None:
    shown = scene.seats[seat]
    hidden = shown.hand is None
    cards: list[str | None] = [None] * shown.left if shown.hand is None else [*shown.hand]
    for card, (top, left) in zip(cards, places(len(cards), side, hidden), strict=True):
        lay(image, card, top, left, card is not None and card == scene.wild)


def _draw_move(image: Image.Image, draw: ImageDraw.ImageDraw, scene: Scene, seat: int, side: int) -> None:
    """Draws a seat's plate with its name, and the cards of its last move."""
    shown = scene.seats[seat]
    last = shown.last or []
    text = f"player_{seat}   {_state_of(shown)}"
    if seat == scene.holder:
        text += f"   {scene.move}"
    elif shown.last == []:
        text += "   passed"
    plate, row = round(font(NAME).getlength(text)) + 2 * _GAP, (len(last) - 1) * STEP + WIDTH
    plate_top, top = _rows_of_move(side)
    plate_left, left = _left_of_move(side, plate), _left_of_move(side, row)
    moving = seat == scene.mover
    _draw_plate(draw, plate_top, plate_left, (_PLATE, plate), _GOLD if moving else _DARK)
    middle = plate_left + _GAP, plate_top + _PLATE // 2
    draw.text(middle, text, fill=_INK if moving else _LIGHT, font=font(NAME), anchor="lm")
    if seat == scene.holder:
        _draw_plate(draw, top - 4, left - 4, (HEIGHT + 8, row + 8), _GOLD)
    for i, card in enumerate(last):
        lay(image, card, top, left + i * STEP, card == scene.wild)


def _rows_of_move(side: int) -> tuple[int, int]:
    """Returns the top of the plate of a seat, and of the cards of its last move."""
    apart = 3 * _GAP // 2
    if side == 0:
        plate = SIZE[0] - _HEAD - HEIGHT - _GAP - _PLATE
        return plate, plate - apart - HEIGHT
    if side == 2:
        plate = _HEAD + HEIGHT + _GAP
        return plate, plate + _PLATE + apart
    cards = (SIZE[0] - HEIGHT) // 2
    return cards - _GAP - _PLATE, cards


def _left_of_move(side: int, width: int) -> int:
    """Returns the left of something of a width that lies before a seat: at the side, or centred."""
    return {1: SIZE[1] - _SIDE - width, 3: _SIDE}.get(side, (SIZE[1] - width) // 2)


def _draw_plate(draw: ImageDraw.ImageDraw, top: int, left: int, size: tuple[int, int], colour: Colour) -> None:
    """Draws a rectangle with round corners; `size` is its height and width."""
    draw.rounded_rectangle((left, top, left + size[1] - 1, top + size[0] - 1), 8, fill=colour)


def _draw_levels(image: Image.Image, draw: ImageDraw.ImageDraw, scene: Scene) -> None:
    """Draws the plate in the middle: the wild card, unless the game has ended, and the level of each team."""
    card_width = WIDTH + _GAP if scene.wild is not None else 0
    height, width = HEIGHT + 2 * _GAP, card_width + 148
    top, left = (SIZE[0] - height) // 2, (SIZE[1] - width) // 2
    _draw_plate(draw, top, left, (height, width), _DARK)
    if scene.wild is not None:
        lay(image, scene.wild, top + _GAP, left + _GAP, True)
    text_left = left + card_width + 2 * _GAP
    title = f"level {scene.level}" if scene.level is not None else "the end"
    draw.text((text_left, top + 23), title, fill=_LIGHT, font=font(26), anchor="lm")
    for team, down in ((0, 57), (1, 83)):
        own = scene.levels[team] == scene.level
        text = f"{team} and {team + 2}:  {scene.levels[team]}"
        draw.text((text_left, top + down), text, fill=_GOLD if own else _DIM, font=font(20), anchor="lm")


__all__ = ["HEADLINE", "NEWS", "SIZE", "ansi", "in_ranks", "marked", "places", "rgb_array"]
