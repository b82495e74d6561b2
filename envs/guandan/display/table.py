"""The display of GuanDan: the table, the legal plays, and the events of moves.

A play is written as a word: a letter for its kind, the rank of its action record, and a letter for each card, its
index in `envs.guandan.rules.cards.CARDS` looked up in `LETTERS`. ``c5MN``, for example, is the pair H5 S5. A hand that
leads may have thousands of plays, and a word is a fourth as long as the play's description.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.display import Plain
from envs.game import States
from envs.guandan import GuanDan
from envs.guandan.display.scene import seen
from envs.guandan.game import describe
from envs.guandan.rules.cards import BACK, CARDS, PASS, RANKS, TRIBUTE, counts_of
from envs.guandan.rules.state import GIVE_BACK, NOBODY, OVER, PAY, PLAY

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01"
"""The letter of each card by its index."""

_KINDS = "abcdefghijklm"
_RANKS = f"{RANKS}BR"
_PHASES = {PLAY: "play", PAY: "pay", GIVE_BACK: "back", OVER: "over"}


class GuanDanDisplay:
    """Shows GuanDan as cards.

    Plays are public. A card paid as tribute is seen by its payer alone until all have paid, as in
    `envs.guandan.display.scene`; a card that is given back is public. Hands are hidden until the game ends.

    Args:
        game: The rules.
    """

    def __init__(self, game: GuanDan) -> None:
        self._game = game

    def scene(self, state: np.void, viewer: int | None) -> Plain:
        """See `Display.scene`.

        ``seats``
            ``hand``, names of cards from the lowest to the highest or null; ``left``, their number; ``place``, 0 .. 3
            once the seat is out, else null.
        ``round``, ``level``, ``wild``
            Number of the round from 1, its level, and the card that is wild; the last two are null at the end.
        ``levels``, ``owner``, ``attempts``
            Level of each team, the team whose level is played or null, and failed attempts at the team's own level A.
        ``phase``, ``match``
            ``pay``, ``back``, ``play`` or ``over``, and whether a match is played.
        ``beat``
            ``seat`` and ``play`` (a word) of the move to beat; null for a leader and at the end.
        ``former``, ``refused``, ``tributes``
            Seats in the order of the last round or null; whether the tribute was refused; for each tribute the seats
            ``payer`` and ``receiver`` and the cards ``paid`` and ``back``, null where they are not known yet.
        """
        found = seen(state, viewer)
        running, former = bool(state["to_move"] != NOBODY), [int(seat) for seat in state["former"]]
        return {
            "seats": [{"hand": seat.hand, "left": seat.left, "place": seat.place} for seat in found.seats],
            "round": found.number,
            "level": found.level,
            "wild": found.wild,
            "levels": list(found.levels),
            "owner": None if state["owner"] == NOBODY else int(state["owner"]),
            "attempts": [int(each) for each in state["attempts"]],
            "phase": _PHASES[int(state["phase"])] if running else "over",
            "match": self._game.length == "match",
            "beat": None if found.holder is None or not running else {"seat": found.holder, "play": _beat_word(state)},
            "former": None if former[0] == NOBODY or not running else former,
            "refused": bool(state["refused"]) and running,
            "tributes": _tributes(state, viewer) if running else [],
        }

    def choices(self, states: States) -> list[Plain]:
        """See `Display.choices`; ``play`` is the play as a word."""
        rows = self._game.legal(states).rows
        return [{"label": describe(row), "play": word} for row, word in zip(rows, words(rows), strict=True)]

    def offer(self, states: States) -> list[str]:
        """See `Terse`: the words alone."""
        return words(self._game.legal(states).rows)

    def event(self, before: np.void, action: Any, after: np.void, viewer: int | None) -> Plain:
        """See `Display.event`.

        Besides ``play``, a word, an event has, where it applies: ``lead``, the play begins a trick; ``place`` of a
        player who goes out; ``won`` and ``next``, seats that have won the trick and lead now; ``tributes``, those that
        have just been paid; and ``round``, the result of a round, see `_result`.
        """
        player, kind = int(before["to_move"]), int(action["kind"])
        if kind == TRIBUTE and viewer not in (None, player) and after["phase"] == PAY:
            return {"label": "tribute", "play": _KINDS[TRIBUTE]}
        found: Plain = {"label": describe(action), "play": words(np.array([action]))[0]}
        if kind == TRIBUTE and after["phase"] == GIVE_BACK:
            found["tributes"] = _tributes(after, None)
        if kind in (TRIBUTE, BACK):
            return found
        if before["beat_kind"] == PASS:
            found["lead"] = True
        if kind != PASS and before["left"][player] == action["size"]:
            found["place"] = int(before["out"])
        if after["to_move"] == NOBODY or after["number"] != before["number"]:
            found["round"] = _result(before, after)
        elif kind == PASS and after["beat_kind"] == PASS:
            found["won"], found["next"] = int(before["holder"]), int(after["to_move"])
        return found


def words(rows: NDArray[np.void]) -> list[str]:
    """Writes action records `[n]` as words."""
    counts = counts_of(rows["low"], rows["high"])
    at, cards = np.nonzero(counts)
    text = "".join(LETTERS[card] for card in np.repeat(cards, counts[at, cards]))
    ends = counts.sum(axis=1).cumsum().tolist()
    heads = [_KINDS[kind] + _RANKS[rank] for kind, rank in zip(rows["kind"], rows["rank"], strict=True)]
    return [head + text[start:end] for head, start, end in zip(heads, [0, *ends], ends, strict=False)]


def _beat_word(state: np.void) -> str:
    row = np.zeros(1, [("low", "u8"), ("high", "u8"), ("kind", "u2"), ("rank", "u2")])
    for name in row.dtype.names or ():
        row[name] = state[f"beat_{name}"]
    return words(row)[0]


def _tributes(state: np.void, viewer: int | None) -> list[Plain]:
    """The tributes of the round as the viewer knows them. Who gets which of two is settled once both are paid."""
    paying, done = state["phase"] == PAY, int(state["settled"])
    found = []
    for i in range(int(state["tributes"])):
        payer = int(state["payer"][i])
        shown = i < done and viewer in (None, payer) if paying else True
        returned = not paying and (state["phase"] != GIVE_BACK or i < done)
        found.append(
            {
                "payer": payer,
                "receiver": int(state["receiver"][i]) if not paying or state["tributes"] == 1 else None,
                "paid": CARDS[state["paid"][i]] if shown else None,
                "back": CARDS[state["back"][i]] if returned else None,
            }
        )
    return found


def _result(before: np.void, after: np.void) -> Plain:
    """The result of a round, given the states before and after its last play.

    ``number`` and ``level`` of the round; ``order`` of going out; ``rise``, the levels that the winners are worth, 0 if
    they could not close their level A; ``levels`` of both teams now and ``from`` before; ``winner``, the team that has
    won the game or null.
    """
    order = [int(seat) for seat in after["former"]]
    return {
        "number": int(before["number"]) + 1,
        "level": RANKS[before["level"]],
        "order": order,
        "rise": abs(int(after["points"])),
        "levels": [RANKS[level] for level in after["levels"]],
        "from": [RANKS[level] for level in before["levels"]],
        "winner": None if after["winner"] == NOBODY else int(after["winner"]),
    }


__all__ = ["LETTERS", "GuanDanDisplay", "words"]
