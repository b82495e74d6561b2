"""Cards of packed agents: how an agent was trained, how strong it is, and how exploitable."""

import json
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from dancfr.errors import UsageError, reason
from dancfr.evaluation.effort import describe_effort
from dancfr.runs.config import Config
from dancfr.runs.folder import CARD
from dancfr.values import show
from learners.cfr.exact_evaluation import beside

LICENCE = "Apache-2.0"


class Training(Config):
    """How an agent was trained.

    Attributes:
        commands: Command lines that train it again, in this order.
        commits: Commits of dancfr that it was trained with: of the start, then of each continuation.
        seed: Seed of the training; None for algorithms without random draws.
        iterations: Iterations of the training.
        minutes: Minutes of training on the clock; None if not recorded.
        samples: Decisions or values that were learnt from; None if not recorded, or where there are none.
        note: What is not in the commands, such as the machine.
    """

    commands: tuple[str, ...] = Field(min_length=1)
    commits: tuple[str, ...] = ()
    seed: int | None = Field(None, ge=0)
    iterations: int = Field(ge=0)
    minutes: float | None = Field(None, ge=0)
    samples: int | None = Field(None, ge=0)
    note: str = ""


class Match(Config):
    """A match of the packed agent, as `dancfr evaluate` plays it.

    Attributes:
        opponent: Name of the other agent.
        games: Number of games.
        seed: Seed of the match.
        win_rate: Fraction of games won.
        ci95: Its 95 % interval; where each deal is played from both sides, that by deals.
        mean_return: Mean return of a game in the game's unit.
        mean_return_ci95: Its 95 % interval.
    """

    opponent: str
    games: int = Field(ge=1)
    seed: int = Field(ge=0)
    win_rate: float = Field(ge=0, le=1)
    ci95: tuple[float, float]
    mean_return: float
    mean_return_ci95: tuple[float, float]


class Exploitability(Config):
    """The winnings of a best response to an agent, in the unit of the game's returns.

    Attributes:
        kind: Whether the value is exact, or the return of a trained response, which is a lower bound.
        value: Exploitability, or that return.
        ci95: 95 % interval of a trained response's return; None for exact values.
        largest: Largest return of the game.
        command: Command line that measures it again.
        games: Games that the response was trained on; None for exact values.
        minutes: CPU minutes of the response, its measurement included; None for exact values.
        decisions: Decisions of the response in these games, those of all starts together; None for exact values, or if
            not recorded.
        uniform: Exploitability of uniform play, for comparison; None if it is not known.
    """

    kind: Literal["exact", "lower bound"]
    value: float
    ci95: tuple[float, float] | None = None
    largest: float = Field(gt=0)
    command: str
    games: int | None = Field(None, ge=0)
    minutes: float | None = Field(None, gt=0)
    decisions: int | None = Field(None, ge=0)
    uniform: float | None = Field(None, ge=0)


class ReadAfter(Config):
    """The findings of a reader in the play of an agent after a number of plies.

    Attributes:
        ply: Decisions of both players.
        accuracy: Share of the secrets that the reader names right.
        ci95: Its 95 % interval, over games.
        chance: Expected share if every arrangement that agrees with what is public is equally likely.
    """

    ply: int = Field(ge=1)
    accuracy: float = Field(ge=0, le=1)
    ci95: tuple[float, float]
    chance: float = Field(ge=0, le=1)


class Readability(Config):
    """How much of the secrets of an agent can be read from its play against itself, see `dancfr.evaluation.reading`.

    Attributes:
        secret: What is read, in the singular.
        games: Games that the readers were fitted on; they were tested on as many others.
        seed: Seed of the games.
        plies: Readings by ply.
    """

    secret: str
    games: int = Field(ge=1)
    seed: int = Field(ge=0)
    plies: tuple[ReadAfter, ...]


class Precision(Config):
    """How often a packed agent acts as the same nets in single precision, in games of these with themselves.

    Attributes:
        decisions: Decisions of both players.
        same: Those in which both agents, with equal random draws, chose the same action.
        games: Number of games.
        seed: Seed of the games.
    """

    decisions: int = Field(ge=1)
    same: int = Field(ge=0)
    games: int = Field(ge=1)
    seed: int = Field(ge=0)


class Card(Config):
    """The description of a packed agent.

    Attributes:
        name: Name of the agent.
        game: Game that it plays.
        game_options: Options of the game that it was trained under.
        description: One line.
        licence: SPDX identifier.
        training: How it was trained.
        packed: Command line that packed it.
        strength: Its matches.
        exploitability: What a best response wins; None if that was not measured.
        readability: How much can be read from its play; None if that was not measured.
        precision: How well half precision keeps its play; None if it is stored as it was trained.
    """

    name: str
    game: str
    game_options: dict[str, Any] = Field(default_factory=dict)
    description: str
    licence: str = LICENCE
    training: Training
    packed: str
    strength: tuple[Match, ...] = ()
    exploitability: Exploitability | None = None
    readability: Readability | None = None
    precision: Precision | None = None


def read_card(folder: Path) -> Card:
    """Returns the card of a packed agent.

    Raises:
        UsageError: there is none, or it is not a card.
    """
    path = folder / CARD
    try:
        return Card.from_json(json.loads(path.read_bytes()), str(path))
    except FileNotFoundError:
        raise UsageError(f"{folder} has no {CARD}: make one by dancfr pack") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason(error)}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is damaged: it is not JSON") from None


def summary(card: Card) -> str:
    """One line with the description of an agent and its figures."""
    parts = [card.description]
    if card.strength:
        matches = ", ".join(f"{100 * match.win_rate:.1f} % against {match.opponent}" for match in card.strength)
        parts.append(f"wins {matches}")
    if (found := card.exploitability) is not None:
        exact = found.kind == "exact"
        response = f"a response of {describe_effort(found.minutes, found.decisions)} wins {found.value:+.3f}"
        parts.append(f"exploitability {found.value:.3g}{beside(found.uniform)}" if exact else response)
    return "; ".join(parts)


def section(name: str, card: Card) -> str:
    """The section of docs/reference/pretrained.md about an agent."""
    options = " ".join(f"--option {key}={show(value)}" for key, value in card.game_options.items())
    rules = f" ({options})" if options else ""
    lines = [
        f"## `{name}`",
        "",
        f"{_sentence(card.description)} Game: `{card.game}`{rules}. Licence: {card.licence}.",
        "",
    ]
    trained, packed = [f"    {line}" for line in card.training.commands], f"    {card.packed}"
    if re.match(r"dancfr pack '?(pretrained|hf):", card.packed):  # in quotes if its name has options
        lines += ["Trained by:", "", *trained, "", "Packed again, with new matches, by:", "", packed, ""]
    else:
        lines += ["Trained and packed by:", "", *trained, packed, ""]
    lines += [_facts(card), ""]
    if card.strength:
        evaluate = f"dancfr evaluate {name} --game {card.game} --against OPPONENT --games GAMES --seed SEED"
        lines += [
            f"Strength, with 95 % intervals, by deals where each is played from both sides (`{evaluate}`):",
            "",
            "| opponent | games | seed | games won, in % | mean return |",
            "|---|---|---|---|---|",
            *(_row(match) for match in card.strength),
            "",
        ]
    if (found := card.exploitability) is not None:
        lines += [f"{_bound(found)} (`{found.command}`).", ""]
    if (read := card.readability) is not None:
        evaluate = f"dancfr evaluate {name} --game {card.game} --against {name} --games {read.games} --seed {read.seed}"
        lines += [
            f"What can be read from its play against itself, {read.secret} (`{evaluate} --readable`):",
            "",
            "| after plies | read right, in % | by chance |",
            "|---|---|---|",
            *(_reading(each) for each in read.plies),
            "",
        ]
    return "\n".join(lines)


def _facts(card: Card) -> str:
    """Sentences about training and precision."""
    training = card.training
    facts = [f"{training.iterations:,} iterations"]
    facts += [] if training.samples is None else [f"{training.samples:,} samples"]
    facts += [] if training.minutes is None else [f"{_rounded(training.minutes)} minutes"]
    facts += [] if training.seed is None else [f"seed {training.seed}"]
    facts += [f"commit `{commit[:12]}`" for commit in training.commits]
    text = ", ".join(facts) + "."
    if training.note:
        text += f" {_sentence(training.note)}"
    if (found := card.precision) is not None:
        text += (
            f" In half precision it acts as in single precision in {found.same:,} of {found.decisions:,} decisions "
            f"({100 * found.same / found.decisions:.2f} %) of {found.games:,} games with itself (seed {found.seed})."
        )
    return text


def _rounded(minutes: float) -> str:
    return f"{minutes:,.0f}" if minutes >= 100 else f"{minutes:.3g}"


def _row(match: Match) -> str:
    low, high = match.ci95
    least, most = match.mean_return_ci95
    return (
        f"| `{match.opponent}` | {match.games:,} | {match.seed} | {100 * match.win_rate:.1f} "
        f"[{100 * low:.1f}, {100 * high:.1f}] | {match.mean_return:+.3f} [{least:+.3f}, {most:+.3f}] |"
    )


def _reading(found: ReadAfter) -> str:
    low, high = found.ci95
    return (
        f"| {found.ply} | {100 * found.accuracy:.1f} [{100 * low:.1f}, {100 * high:.1f}] | {100 * found.chance:.1f} |"
    )


def _bound(found: Exploitability) -> str:
    most = f"of at most {found.largest:g} a game"
    if found.ci95 is None:
        return f"Exploitability: {found.value:.3g}{beside(found.uniform)}, exactly, {most}"
    low, high = found.ci95
    trained = f", trained on {found.games:,} games," if found.games is not None else ""
    return (
        f"A response of {describe_effort(found.minutes, found.decisions)}{trained} wins {found.value:+.3f} "
        f"[{low:+.3f}, {high:+.3f}] {most}, which bounds its exploitability from below"
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
