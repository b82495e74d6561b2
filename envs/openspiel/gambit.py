"""Reads games in Gambit's extensive-form format, and writes them as OpenSpiel's parser needs them.

OpenSpiel misreads some of them without a word: nodes of one information set are apart if its name is given only once,
the first of several actions with the same label is played for all, and outcomes of inner nodes are left out. Others it
refuses: lists of actions, and payoffs, that are given only once; numbers that do not count from 1; and tabs.
"""

import math
import operator
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

EFG = "EFG "
"""The beginning of a game in this format."""

_TOKEN = re.compile(r'[\s,]*(?:"((?:[^"\\]|\\.)*)"|([{}]|[^\s{}",]+)|("))', re.DOTALL)
_PLAIN = str.maketrans('"\n\r\\', "'  /")  # OpenSpiel reads no escapes
_NEAR = 1e-5  # as OpenSpiel compares the sum of probabilities with 1

Payoffs = tuple[float, ...]


class BadGambit(ValueError):
    """A text is not a game in Gambit's format, or contradicts itself."""


@dataclass
class _Infoset:
    """The common part of the nodes of one player (0 for chance) and number; `chances` are those of its outcomes."""

    player: int
    number: int
    name: str = ""
    labels: list[str] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        return f"information set {self.number} of {f'player {self.player}' if self.player else 'chance'}"


@dataclass(frozen=True)
class _Node:
    """A node in the order of the file, with the payoffs up to it."""

    name: str
    infoset: _Infoset | None  # None at the end of the game
    payoffs: Payoffs


class _Reader:
    """The tokens of a text one after the other: whether they are in quotes, their text and where they end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0

    def fail(self, what: str) -> BadGambit:
        """Returns the error for the next token, which was not expected."""
        if self._at == len(self._tokens):
            return BadGambit(f"it ends where {what} was expected")
        text = self._next()
        return self.wrong(f"{what} was expected, got {text!r}")

    def wrong(self, what: str) -> BadGambit:
        """Returns the error for the token that has just been read."""
        return BadGambit(f"line {_line(self._text, self._tokens[self._at - 1][2])}: {what}")

    def sees(self, quoted: bool, *texts: str) -> bool:
        """Whether the next token is one of these, or any one without `texts`."""
        if self._at == len(self._tokens):
            return False
        here, text, _ = self._tokens[self._at]
        return here == quoted and (not texts or text in texts)

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]

    def label(self, what: str) -> str:
        if not self.sees(True):
            raise self.fail(f"{what} in quotes")
        return self._next()

    def word(self, *words: str) -> str:
        if not self.sees(False, *words):
            raise self.fail(" or ".join(map(repr, words)))
        return self._next()

    def number(self, what: str) -> float:
        if not self.sees(False):
            raise self.fail(what)
        above, _, below = self._tokens[self._at][1].partition("/")
        try:
            value = int(above) / int(below) if below else float(above)
        except (ArithmeticError, ValueError):
            raise self.fail(what) from None
        if not math.isfinite(value):
            raise self.fail(what)
        self._next()
        return value

    def count(self, what: str, least: int = 1, most: float = math.inf) -> int:
        value = self.number(what)
        if value != int(value) or not least <= value <= most:
            raise self.wrong(f"{what} was expected, got {value:g}")
        return int(value)

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise self.fail("the end of the game")


def _tokens(text: str) -> Iterator[tuple[bool, str, int]]:
    for match in _TOKEN.finditer(text):
        quoted, word, stray = match.groups()
        if stray:
            raise BadGambit(f"line {_line(text, match.end())}: a quote is not closed")
        if quoted is None:
            yield False, word, match.end()
        else:
            yield True, re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) if "\\" in quoted else quoted, match.end()


def _line(text: str, end: int) -> int:
    return text.count("\n", 0, end) + 1


def for_openspiel(text: str) -> str:
    """Rewrites a game in Gambit's format so that OpenSpiel reads it as Gambit does.

    Names, labels and numbers stay, except for those that OpenSpiel cannot tell apart. Payoffs of inner nodes are added
    to those of the ends below.

    Raises:
        BadGambit: the text is not in this format, or contradicts itself; the message names the line.
    """
    reader = _Reader(text)
    reader.word("EFG")
    reader.count("version 2 of the format", 2, 2)
    reader.word("R", "D")
    title, players = reader.label("the title"), []
    reader.word("{")
    while not reader.sees(False, "}"):
        players.append(reader.label("the name of a player"))
    reader.word("}")
    if reader.sees(True):
        reader.label("a comment")
    nodes = list(_nodes(reader, len(players)))
    reader.end()
    numbers = _numbered(nodes)
    lines = [f"EFG 2 R {quoted(title)} {{ {' '.join(map(quoted, players))} }}"]
    for count, node in enumerate(nodes, 1):
        infoset, name = node.infoset, quoted(node.name)
        if infoset is None:
            lines.append(f't {name} {count} "" {{ {" ".join(map(repr, node.payoffs))} }}')
        elif infoset.player:
            label, choices = quoted(infoset.name), " ".join(_distinct(infoset.labels))
            number = numbers[infoset.player, infoset.number]
            lines.append(f"p {name} {infoset.player} {number} {label} {{ {choices} }} 0")
        else:
            pairs = zip(_distinct(infoset.labels), infoset.chances, strict=True)
            lines.append(f'c {name} {count} "" {{ {" ".join(f"{label} {p!r}" for label, p in pairs)} }} 0')
    return "\n".join(lines) + "\n"


def _nodes(reader: _Reader, players: int) -> Iterator[_Node]:
    """Reads a tree depth-first, in the order of the file."""
    outcomes: dict[int, Payoffs] = {}
    infosets: dict[tuple[int, int], _Infoset] = {}
    open_nodes: list[Payoffs] = [(0.0,) * players]  # for each subtree to come, the payoffs above it
    while open_nodes:
        so_far = open_nodes.pop()
        kind, name, infoset = reader.word("c", "p", "t"), reader.label("the name of the node"), None
        if kind != "t":
            player = reader.count(f"a player from 1 to {players}", 1, players) if kind == "p" else 0
            number = reader.count("the number of the information set")
            infoset = _read_infoset(reader, infosets.get((player, number), _Infoset(player, number)))
            infosets[player, number] = infoset
        payoffs = tuple(map(operator.add, so_far, _outcome(reader, players, outcomes)))
        open_nodes += [payoffs] * (len(infoset.labels) if infoset else 0)
        yield _Node(name, infoset, payoffs)


def _read_infoset(reader: _Reader, known: _Infoset) -> _Infoset:
    """Reads a node's description of its information set, which may be left out after the first time."""
    if reader.sees(True):
        name = reader.label("a name")
        if known.player and name and known.name not in ("", name):
            raise reader.wrong(f"{known} is named {name!r}, and above {known.name!r}")
        known.name = name or known.name
    if known.labels and not reader.sees(False, "{"):
        return known
    reader.word("{")
    labels: list[str] = []
    chances: list[float] = []
    while not labels or not reader.sees(False, "}"):
        labels.append(reader.label("the label of an action"))
        chances += [] if known.player else [reader.number("a probability")]
    reader.word("}")
    if chances and (min(chances) < 0 or abs(sum(chances) - 1) > _NEAR):
        raise reader.wrong(f"the probabilities of {known} sum to {sum(chances):g}, expected 1")
    if not known.player:  # numbers mean nothing there: files use one for all
        return _Infoset(0, known.number, known.name, labels, chances)
    if known.labels and labels != known.labels:
        raise reader.wrong(f"{known} has the actions {labels}, and above {known.labels}")
    known.labels = labels
    return known


def _outcome(reader: _Reader, players: int, outcomes: dict[int, Payoffs]) -> Payoffs:
    """Reads the outcome of a node: its number, and its name and payoffs unless they are known. Number 0 is none."""
    number = reader.count("the number of an outcome", 0)
    if reader.sees(True):
        reader.label("a name")
    if not reader.sees(False, "{"):
        if number and number not in outcomes:
            raise reader.fail(f"the payoffs of outcome {number}")
        return outcomes.get(number, (0.0,) * players)
    reader.word("{")
    payoffs = tuple(reader.number("a payoff") for _ in range(players))
    reader.word("}")
    if number and outcomes.setdefault(number, payoffs) != payoffs:
        raise reader.wrong(f"outcome {number} has other payoffs than above")
    return payoffs


def _numbered(nodes: Sequence[_Node]) -> dict[tuple[int, int], int]:
    """Numbers the information sets of each player from 1, in the order of their numbers in the file."""
    found: dict[tuple[int, int], int] = {}
    last: Counter[int] = Counter()
    for player, number in sorted({(each.player, each.number) for node in nodes if (each := node.infoset)}):
        last[player] += 1
        found[player, number] = last[player]
    return found


def _distinct(labels: Sequence[str]) -> list[str]:
    """Returns labels in quotes; equal ones get their place behind them."""
    found: dict[str, None] = {}  # in order, and quick to search: there may be many outcomes of chance
    for place, label in enumerate(labels, 1):
        told = quoted(label)
        while told in found:
            told = f"{told[:-1]} ({place}){told[-1]}"
        found[told] = None
    return list(found)


def quoted(label: str) -> str:
    """Returns a label in quotes, without the characters that readers of this format refuse."""
    return f'"{label.translate(_PLAIN)}"'


__all__ = ["EFG", "BadGambit", "for_openspiel", "quoted"]
