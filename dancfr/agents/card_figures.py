"""The figures of a packed agent that `dancfr pack` measures for its card."""

import math
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dancfr.agents.by_name import make_agent
from dancfr.agents.cards import Exploitability, Match, Readability, ReadAfter
from dancfr.agents.exploit import ExploitRequest, exploit
from dancfr.agents.match import play
from dancfr.agents.match_rules import match_rules
from dancfr.agents.pretrained import PREFIX
from dancfr.agents.team_response import has_teams
from dancfr.errors import UsageError
from dancfr.evaluation.exploitability import evaluate_exactly, uniform_nash_conv
from dancfr.methods.best_response.config import FRESH
from dancfr.methods.packed import Packed
from dancfr.methods.policy_gradient.starting import starting_net
from dancfr.methods.settings import RunConfig
from dancfr.runs.checkpoints import changed
from dancfr.runs.config import is_among
from dancfr.runs.run import Run
from dancfr.values import is_number
from envs.capabilities import ExactGame
from envs.game import GameBase

if TYPE_CHECKING:
    from dancfr.agents.pack import PackRequest, Source


def match(agent: str, game: str, opponent: str, request: "PackRequest") -> Match:
    found = play(agent, opponent, game, request.games, request.seed).as_dict()
    return Match(
        opponent=opponent,
        games=request.games,
        seed=request.seed,
        win_rate=found["win_rate"],
        ci95=found.get("ci95_pairs", found["ci95"]),
        mean_return=found["mean_return"],
        mean_return_ci95=found["mean_return_ci95"],
    )


def readability(agent: str, game: str, request: "PackRequest") -> Readability:
    found = play(agent, agent, game, request.games, request.seed, readable=True).reading
    assert found is not None
    plies = tuple(ReadAfter(ply=at.ply, accuracy=at.accuracy, ci95=at.ci95, chance=at.chance) for at in found.plies)
    return Readability(secret=found.secret, games=request.games, seed=request.seed, plies=plies)


def is_exact(rules: GameBase, source: "Source") -> bool:
    """Returns whether the card has the exact exploitability: for strategies, and in games that need no tree for it."""
    return source.info is None or isinstance(rules, ExactGame)


def recorded(run: Run, config: RunConfig, packed: Packed) -> dict[str, Any] | None:
    """The exact evaluation of a packed agent in the record of its run; None if there is none, or if settings have
    changed since the start of the run by which the same nets may play otherwise, or may have been evaluated otherwise.

    Args:
        run: The run.
        config: Its configuration.
        packed: The agent, with all its nets.
    """
    if packed.recorded is None:
        return None
    about = {"iteration": packed.iteration, "policy": packed.recorded}
    found = [row for row in run.read_metrics("exploitability") if about.items() <= row.items()]
    harmless = config.resumable - config.plays - {"evaluation"}
    if not found or not _is_sound(found[-1]) or not all(is_among(key, harmless) for key in changed(run, config)):
        return None
    return found[-1]


def _is_sound(row: Mapping[str, Any]) -> bool:
    """Whether an exact evaluation of two players agrees with itself, as a record that was not written by hand does."""
    numbers: list[Any] = [row.get(key) for key in ("exploitability", "nash_conv", "max_utility")]
    if not all(map(is_number, numbers)):
        return False
    value, nash_conv, largest = map(float, numbers)
    return 0 <= value <= 2 * largest and math.isclose(nash_conv, 2 * value, rel_tol=1e-9, abs_tol=1e-12)


def exploitability(
    packed: str, source: "Source", request: "PackRequest", known: Mapping[str, Any] | None
) -> Exploitability | None:
    """The exact exploitability, see `is_exact`, or the return of a trained response if one is wanted.

    Args:
        packed: Folder of the packed agent.
        source: The agent.
        request: The request.
        known: An exact evaluation of the same policy, see `recorded`; None: it is computed.
    """
    shown = f"{PREFIX}{request.wanted_name}"
    rules, _ = match_rules(source.game, (packed,))
    if is_exact(rules, source):
        found = evaluate_exactly(packed, make_agent(packed, rules), rules).as_dict() if known is None else known
        command = shlex.join(["dancfr", "evaluate", shown, "--game", source.game, "--exploitability"])
        value, largest = found["exploitability"], found["max_utility"]
        uniform = found.get("uniform_exploitability")
        if known is not None and (nash_conv := uniform_nash_conv(rules)) is not None:  # records have no yardstick
            uniform = nash_conv / rules.spec.num_players
        return Exploitability(kind="exact", value=value, largest=largest, command=command, uniform=uniform)
    if request.response_minutes is None:
        return None
    starts = request.response_starts
    if not starts and has_teams(rules):
        starts = (FRESH,)
    elif not starts:
        try:
            starting_net(shown, make_agent(packed, rules))
            starts = (packed, FRESH)
        except UsageError:
            starts = (FRESH, FRESH)
    minutes = request.response_minutes
    result = exploit(
        ExploitRequest(packed, source.game, minutes=minutes, seed=request.seed, eval_games=4000, starts=starts)
    )
    named = [argument for name in starts for argument in ("--start", shown if name == packed else name)]
    numbers = ["--minutes", f"{minutes:g}", "--seed", str(request.seed), "--eval-games", "4000"]
    return Exploitability(
        kind="lower bound",
        value=result["value"],
        ci95=result["value_ci95"],
        largest=result["max_return"],
        command=shlex.join(["dancfr", "exploit", shown, "--game", source.game, *numbers, *named]),
        games=result["games"],
        minutes=result["cpu_seconds"] / 60,
        decisions=result["decisions"],
    )
