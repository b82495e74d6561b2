"""`dancfr pack`: the agent of a run or a file as a small folder, with a card that describes it.

The folder is a model repository of the Hugging Face hub, too: it has a README.md, see `dancfr.agents.hub.readme`.
"""

import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from dancfr.agents import card_figures
from dancfr.agents.by_name import make_agent, parse_agent
from dancfr.agents.cards import Card, Precision, Training, read_card
from dancfr.agents.continuing import check_minutes
from dancfr.agents.folders import new_folder
from dancfr.agents.hub.files import README, agent_in
from dancfr.agents.hub.readme import readme
from dancfr.agents.match_rules import match_rules
from dancfr.agents.pretrained import PREFIX, STRATEGY
from dancfr.agents.searching import split_search
from dancfr.agents.team_response import has_teams
from dancfr.errors import UsageError
from dancfr.evaluation.agreement import agreement
from dancfr.evaluation.reading import FEWEST, require_readable
from dancfr.methods import all_methods, method_named
from dancfr.methods.agent_name import HUB, AgentName
from dancfr.methods.best_response.config import FRESH, MOST_STARTS, two_player_game
from dancfr.methods.method import Method
from dancfr.methods.packed import Packed, PackedFile
from dancfr.methods.policy_gradient.starting import starting_net
from dancfr.runs.config import differences
from dancfr.runs.folder import CARD, write_json
from dancfr.runs.keys import assignments
from dancfr.runs.run import Run
from dancfr.runs.strategies import file_kind, read_strategy
from learners.storage import halved, save_state

COMPARED = 200
"""Games in which a packed agent is compared with the one that it was packed from."""
RUNS = "runs"
"""Folder of the runs in the command lines of a card."""
Stored = Literal["half", "single"]
"""Precision in which nets are stored."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True)
class PackRequest:
    """Arguments of `dancfr pack`.

    Attributes:
        agent: Name of the agent, with the iteration and the options to pack.
        folder: Folder to write, which does not exist yet or is empty.
        name: Name of the packed agent; None: that of the folder.
        nets: Number of nets of a mixture to keep; None: all.
        against: Opponents of the matches on the card.
        games: Games of each match.
        seed: Seed of the matches, of the comparison with the unpacked agent, and of the response.
        response_minutes: CPU minutes for a response that bounds the exploitability; None: no response is trained.
        response_starts: What the response begins with, see `ExploitRequest`; empty: the agent's own net, if one net
            plays both seats, and a fresh one.
        readable: Whether to read the agent in `games` games against itself.
        description: One line; None: preset and iterations, or algorithm and iterations.
        note: What the card says about the training beside its figures.
        precision: Precision in which nets are stored; None: half, or single where small differences become large, see
            `Packed.exact`.

    Raises:
        UsageError: a number is out of range, or the name is not valid.
    """

    agent: str
    folder: Path
    name: str | None = None
    nets: int | None = None
    against: tuple[str, ...] = ()
    games: int = 2000
    seed: int = 11
    response_minutes: float | None = None
    response_starts: tuple[str, ...] = ()
    readable: bool = False
    description: str | None = None
    note: str = ""
    precision: Stored | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.wanted_name):
            raise UsageError(
                "the name of a packed agent has small letters, digits and hyphens, "
                f"got {self.wanted_name!r}: add --as NAME"
            )
        for option, value, least in (("--games", self.games, 1), ("--seed", self.seed, 0)):
            if value < least:
                raise UsageError(f"{option} must be at least {least}, got {value}")
        if self.precision not in (None, *get_args(Stored)):
            raise UsageError(f"--precision must be {' or '.join(get_args(Stored))}, got {self.precision!r}")
        if self.nets is not None and self.nets < 1:
            raise UsageError(f"--nets must be at least 1, got {self.nets}")
        check_minutes("--response-minutes", self.response_minutes)
        if self.response_minutes is not None and self.seed >= 1 << 32:
            raise UsageError(f"--response-minutes requires a --seed of at most {(1 << 32) - 1:,}, got {self.seed}")
        if len(self.response_starts) > MOST_STARTS:
            raise UsageError(
                f"--response-start may be given at most {MOST_STARTS} times, got {len(self.response_starts)}"
            )
        if self.response_starts and self.response_minutes is None:
            raise UsageError("--response-start requires --response-minutes, the budget of the response")

    @property
    def wanted_name(self) -> str:
        named = self.folder.resolve().name.lower().replace("_", "-")
        return named if self.name is None else self.name


@dataclass(frozen=True)
class Source:
    """The agent to pack: the game, the description of its training, and the files to write.

    Attributes:
        info: Content of the packed ``config.json``; None for a tabular strategy.
        files: The files by their paths in the packed folder; arrays of nets are float32.
        exact: See `Packed`.
        recorded: The exact evaluation of this agent in the record of the run, if it has one.
    """

    game: str
    game_options: Mapping[str, Any]
    training: Training
    description: str
    info: Mapping[str, Any] | None
    files: Mapping[str, PackedFile]
    exact: bool
    recorded: Mapping[str, Any] | None = None


def pack(request: PackRequest) -> dict[str, Any]:
    """Packs an agent and measures the results on its card; returns the result of `dancfr pack --json`.

    Nothing is left in the folder unless everything has been measured.

    Raises:
        UsageError: the agent does not exist or cannot be packed, the folder is not empty, or an opponent is unknown.
        RunError: the folder could not be written, or a measurement failed.
    """
    source, earlier = _source(request)
    _check(request, source)
    with new_folder(request.folder) as aside:
        precision, packed = _write(aside, request, source), str(agent_in(aside))
        known = source.recorded if precision is None else None  # half precision has another exploitability
        card = Card(
            name=request.wanted_name,
            game=source.game,
            game_options=dict(source.game_options),
            description=request.description or source.description,
            training=source.training,
            packed=packing_command(request),
            strength=tuple(card_figures.match(packed, source.game, name, request) for name in request.against),
            exploitability=card_figures.exploitability(packed, source, request, known),
            readability=card_figures.readability(packed, source.game, request) if request.readable else None,
            precision=earlier.precision if earlier is not None and earlier.precision is not None else precision,
        )
        write_json(aside / CARD, card.model_dump(mode="json"))
        (aside / README).write_text(readme(aside, card), encoding="utf-8")
    size = sum(file.stat().st_size for file in request.folder.rglob("*") if file.is_file())
    origin = None if card.exploitability is None else "computed" if known is None else "record"
    about = {"agent": request.agent, "folder": str(request.folder), "bytes": size, "exploitability": origin}
    return about | {"card": card.model_dump(mode="json")}


def _source(request: PackRequest) -> tuple[Source, Card | None]:
    """Reads the agent to pack, and the card of an agent that has been packed before.

    Raises:
        UsageError: it does not exist, or cannot be packed.
    """
    wanted, search = split_search(parse_agent(request.agent))
    if search is not None:
        raise UsageError(f"{request.agent}: a search is not part of an agent: leave out its options")
    base = Path(wanted.base)
    earlier = _earlier(base, wanted, request)
    if (base / "config.json").is_file():
        return _from_run(wanted, request, earlier), earlier
    if not wanted.base.endswith(".safetensors"):
        raise UsageError(
            f"{request.agent} is neither a run nor a strategy of dancfr solve --out: there is nothing to pack"
        )
    if kind := file_kind(base):
        raise UsageError(f"{request.agent} is the file of a {kind}: name the folder of its run")
    if not wanted.plain or request.nets is not None or request.precision is not None:
        raise UsageError(f"{request.agent} is one strategy: leave out --nets, --precision, iterations and options")
    return _from_table(base, request, earlier), earlier


def _earlier(base: Path, wanted: AgentName, request: PackRequest) -> Card | None:
    """The previous card of an agent, without the fields that packing it again invalidates."""
    folder = base if base.is_dir() else base.parent
    if not (folder / CARD).is_file() or base != agent_in(folder):  # a file may lie beside the card of another agent
        return None
    card = read_card(folder)
    same = wanted.plain and request.nets is None
    training = card.training.model_copy(update={"note": request.note}) if request.note else card.training
    return card.model_copy(update={"training": training, "precision": card.precision if same else None})


def _from_run(wanted: AgentName, request: PackRequest, earlier: Card | None) -> Source:
    run = Run.open(wanted.base)
    method = method_named(run.method)
    if method.pack is None:
        able = ", ".join(sorted(name for name, each in all_methods().items() if each.pack is not None))
        raise UsageError(f"{wanted.base} is a run of {run.method}: dancfr pack takes runs of {able}")
    packed: Packed = method.pack(run, wanted, request.nets)
    kept = ("preset", "method", "created", "version", "git_revision", "python", "packages", "game_version")
    info = {"name": request.wanted_name, "packed": True, **{key: run.info[key] for key in kept if key in run.info}}
    return Source(
        game=packed.config["game"],
        game_options=packed.config["game_options"],
        training=earlier.training if earlier is not None else _training(run, method, packed, request.note),
        description=f"{run.preset}, {packed.iteration:,} iterations" if earlier is None else earlier.description,
        info=info | {"config": packed.config},
        files=packed.files,
        exact=packed.exact,
        recorded=card_figures.recorded(run, run.config_as(method.config), packed) if request.nets is None else None,
    )


def _training(run: Run, method: Method, packed: Packed, note: str) -> Training:
    """The description of a training by its configuration and record."""
    config = run.config_as(method.config)
    preset = next((each for each in method.presets if each.name == run.preset), None)
    changed = dict(differences(preset.config, config)) if preset is not None else {}
    settings = [text for key, (_, value) in changed.items() for text in assignments(key, value)]
    folder = shlex.quote(f"{RUNS}/{run.path.name}")
    rows = [row for row in run.read_metrics("train") if row.get("iteration", 0) <= packed.iteration]
    last = rows[-1] if rows else {}
    seconds, samples = last.get("elapsed_s"), last.get(method.samples)
    stages = [run.info, *run.info.get("resumed", [])]
    return Training(
        commands=(" ".join(["dancfr train", run.preset, *settings, "--run-dir", folder]),),
        commits=tuple(dict.fromkeys(each["git_revision"] for each in stages if each.get("git_revision"))),
        seed=config.seed,
        iterations=packed.iteration,
        minutes=None if seconds is None else round(seconds / 60, 1),
        samples=None if samples is None else int(samples),
        note=note,
    )


def _from_table(path: Path, request: PackRequest, earlier: Card | None) -> Source:
    arrays, about = read_strategy(path)
    iterations, algorithm = int(about.get("iterations", 0)), str(about.get("algorithm", "unknown"))
    options = [f"--option {text}" for key, value in about["game_options"].items() for text in assignments(key, value)]
    settings = [text for key, value in (about.get("settings") or {}).items() for text in assignments(key, value)]
    seed, warm, before = about.get("seed"), about.get("warm_start"), math.ceil(about.get("warm_weight", 0))
    solve = ["dancfr solve", about["game"], *settings, "--algorithm", algorithm]
    if iterations:  # a linear program has none; those that a warm start stands for are among them
        solve += ["--iterations", str(iterations - before)]
    solve += [f"--seed {seed}"] if seed else []
    solve += [f"--warm-start {shlex.quote(warm)} --warm-weight {about['warm_weight']:g}"] if warm else []
    commit = about.get("git_revision")  # files of versions before 0.4 do not say
    return Source(
        game=about["game"],
        game_options=about["game_options"],
        training=earlier.training
        if earlier is not None
        else Training(
            commands=(" ".join([*solve, *options, "--out", shlex.quote(path.name)]),),
            commits=(commit,) if commit else (),
            seed=seed,
            iterations=iterations,
            note=request.note,
        ),
        description=f"{algorithm}, {iterations:,} iterations" if earlier is None else earlier.description,
        info=None,
        files={STRATEGY: PackedFile(arrays, about)},
        exact=True,
    )


def _check(request: PackRequest, source: Source) -> None:
    """Raises UsageError if an opponent does not exist, or a response to the agent cannot be trained."""
    rules, _ = match_rules(source.game, (request.agent, *request.against))
    for name in (request.agent, *request.against):
        make_agent(name, rules)
    if request.readable:
        require_readable(rules)
        if request.games < FEWEST:
            raise UsageError(f"--readable needs at least {FEWEST} games, got --games {request.games}")
    if request.response_minutes is not None:
        if card_figures.is_exact(rules, source):
            what = "a strategy" if source.info is None else f"an agent of {source.game}"
            raise UsageError(f"the exploitability of {what} is computed exactly: leave out --response-minutes")
        if has_teams(rules):
            return
        two_player_game(rules)
        for name in set(request.response_starts) - {FRESH}:
            starting_net(name, make_agent(name, rules))


def _write(folder: Path, request: PackRequest, source: Source) -> Precision | None:
    """Writes the agent without its card, and returns how well half precision keeps its play, None for other files.

    Raises:
        UsageError: half precision cannot hold the nets.
    """
    for path, file in source.files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        save_state(folder / path, file.arrays, file.meta)
    if source.info is None:
        return None
    write_json(folder / "config.json", source.info)
    rules, _ = match_rules(source.game, (str(folder),))
    whole = make_agent(str(folder), rules)
    if (request.precision or ("single" if source.exact else "half")) == "single":
        return None
    try:
        for path, file in source.files.items():
            save_state(folder / path, halved(file.arrays), file.meta)
    except ValueError as error:
        raise UsageError(f"{request.agent} cannot be packed: {error}; --precision single can hold it") from None
    decisions, same = agreement(
        rules, whole, make_agent(str(folder), rules), COMPARED, np.random.default_rng(request.seed)
    )
    return Precision(decisions=decisions, same=same, games=COMPARED, seed=request.seed)


def packing_command(request: PackRequest) -> str:
    """The command line that packs the agent again, with the last parts of its path and of the folder's."""
    base, mark, rest = request.agent.partition("?")
    folder = "" if base.endswith(".safetensors") else f"{RUNS}/"
    agent = request.agent if base.startswith((PREFIX, HUB)) else f"{folder}{Path(base).name}{mark}{rest}"
    parts = ["dancfr", "pack", agent, f"packed/{request.wanted_name}"]
    parts += [] if request.description is None else ["--description", request.description]
    parts += ["--note", request.note] if request.note else []
    parts += [] if request.nets is None else ["--nets", str(request.nets)]
    parts += [] if request.precision is None else ["--precision", request.precision]
    parts += [text for name in request.against for text in ("--against", name)]
    parts += ["--readable"] if request.readable else []
    played = bool(request.against or request.readable)
    parts += ["--games", str(request.games)] if played else []
    drawn = played or request.response_minutes is not None or request.seed != PackRequest.seed
    parts += ["--seed", str(request.seed)] if drawn else []
    if request.response_minutes is not None:
        parts += ["--response-minutes", f"{request.response_minutes:g}"]
        parts += [text for name in request.response_starts for text in ("--response-start", name)]
    return shlex.join(parts)
