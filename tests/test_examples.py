"""The examples run as their users run them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
QUICK = {"environment.py", "own_game.py", "play.py", "solve.py"}
SAYS = {
    "environment.py": "player_",
    "own_game.py": "0.333",
    "plain_dream.py": "iteration 10: NashConv",
    "pettingzoo_game.py": "in pettingzoo:classic/leduc_holdem-v4, max_return=7.0: ",
    "play.py": "endings:",
    "rllib.py": "after 64,000 decisions: NashConv ",
    "single_agent.py": "%",
    "single_file_ppo.py": "after 40,960 games: NashConv ",
    "solve.py": "after 1000 iterations",
    "stable_baselines.py": "an exact best response wins 1.371 chips a game",
    "train.py": "exploitability",
}
"""Part of the output of each example."""


def test_each_example_is_listed_and_tested() -> None:
    text = (ROOT / "examples" / "README.md").read_text()
    assert [name for name in EXAMPLES if f"]({name})" not in text] == []
    assert SAYS.keys() == set(EXAMPLES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in EXAMPLES]
)
@pytest.mark.timeout(900)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert SAYS[name] in done.stdout
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"
