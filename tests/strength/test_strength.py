"""The strength of presets after a fixed training, held against bounds: `make test-strength`, before a release."""

from pathlib import Path
from typing import Any

import pytest

from dancfr.agents.match import play as play_match
from dancfr.evaluation.statistics import wilson
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from tests.strength.bounds import CASES, Case

COLUMNS = "{:<28} {:<28} {:>7} {:>15} {:>7}  {:<6} {}"


def measure(case: Case, agent: str) -> list[str]:
    """Plays all matches of a case and prints a line for each; returns the lines of those below their bounds."""
    print("\n" + COLUMNS.format("preset", "opponent", "won %", "95 %", "bound", "", "measured before"), flush=True)
    short = []
    for bound in case.bounds:
        found: dict[str, Any] = play_match(agent, bound.opponent, case.game, case.games, case.seed).as_dict()
        low, high = wilson(found["wins"], found["games"])
        percent = 100 * found["win_rate"]
        line = COLUMNS.format(
            case.preset,
            bound.opponent,
            f"{percent:.1f}",
            f"[{100 * low:.1f}, {100 * high:.1f}]",
            f"{bound.percent:.1f}",
            "below" if percent < bound.percent else "",
            f"{bound.source}{'; chosen by' if bound.chosen_by else ''}",
        )
        print(line, flush=True)
        if percent < bound.percent:
            short.append(line)
    return short


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.preset)
def test_a_preset_is_as_strong_as_it_was(tmp_path: Path, case: Case) -> None:
    overrides = (
        f"seed={case.training_seed}",
        f"iterations={case.iterations}",
        "minutes=none",  # the time that a machine needs must not decide the result
        f"evaluation.every={case.iterations}",
        "evaluation.games=20",
    )
    options = TrainOptions(inline=True, progress=False)
    result = train(TrainRequest(case.preset, overrides, tmp_path / "run", "off", options))
    assert result["iterations"] == case.iterations
    short = measure(case, str(tmp_path / "run"))
    assert not short, "below the bounds:\n" + "\n".join(short)


def test_a_weaker_agent_is_found_out() -> None:
    """Even by the lowest of the bounds, a player who is not trained."""
    case = CASES[0]
    short = measure(Case(case.preset, 0, case.game, 100, case.seed, case.bounds), "random")
    assert len(short) == len(case.bounds)
