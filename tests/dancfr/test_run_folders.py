"""Folders that are listed beside runs, or look like runs: complete runs of several seeds, and packed agents."""

import json
from pathlib import Path

import pytest

import dancfr
from dancfr.agents.by_name import list_agents, make_agent
from dancfr.agents.pack import PackRequest, pack
from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from dancfr.report.report import read_histories
from dancfr.runs.folder import find_runs
from tests.dancfr.outcomes import Command, refused
from tests.dancfr.records import KUHN_DREAM


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, one of several seeds, and a packed agent."""
    path = tmp_path_factory.mktemp("folders") / "runs"
    run = dancfr.train("leduc-dream-quick", KUHN_DREAM, run_dir=path / "run", inline=True, progress=False)
    dancfr.train_seeds("leduc-dream-quick", KUHN_DREAM, seeds=(1, 2), folder=path / "both", inline=True, progress=False)
    pack(PackRequest(str(run.path), path / "packed", games=2))
    return path


def test_a_complete_run_of_several_seeds_lacks_nothing(runs: Path, command: Command) -> None:
    told = json.loads(command("status", str(runs / "both" / "seed-1"), "--json").out)
    assert (told["state"], told["checkpoint"], told["checkpoints_removed"]) == ("finished", None, True)
    assert told["warnings"] == []
    assert "checkpoint  removed" in command("status", str(runs / "both" / "seed-1")).out


def test_a_complete_run_of_several_seeds_does_not_start_over(runs: Path) -> None:
    seed = runs / "both" / "seed-1"
    before = (seed / "metrics.jsonl").read_bytes()
    with pytest.raises(UsageError, match=r"trained for 4 iterations, but its checkpoints are gone; not starting over"):
        dancfr.train("leduc-dream-quick", {"iterations": 6}, run_dir=seed, resume=True, inline=True, progress=False)
    assert (seed / "metrics.jsonl").read_bytes() == before


def test_runs_of_several_seeds_are_listed(runs: Path, command: Command) -> None:
    names = [str(runs / name) for name in ("both/seed-1", "both/seed-2", "packed", "run")]
    listed = {each["name"]: each["kind"] for each in list_agents(make_game("kuhn"), runs)}
    assert {name: listed[name] for name in names} == dict(zip(names, ("run", "run", "packed", "run"), strict=True))
    shown = json.loads(command("status", str(runs), "--json").out)["runs"]
    assert [each["run_dir"] for each in shown] == [name for name in names if "packed" not in name]
    assert find_runs("leduc-dream-quick", runs) == [runs / "run"]


def test_a_folder_of_several_seeds_is_no_agent(runs: Path) -> None:
    with pytest.raises(UsageError, match=r"both holds no run itself, but those of .*seed-1, .*seed-2: name one of"):
        make_agent(str(runs / "both"), make_game("kuhn"))


def test_packed_agents_have_no_record(runs: Path, command: Command) -> None:
    assert [history.path for history in read_histories([runs])] == [runs / "run"]
    says = "packed is a packed agent, without the record of its training: name the folder of the run"
    with pytest.raises(UsageError, match=says):
        read_histories([runs / "packed"])
    assert says in refused(command("status", str(runs / "packed")))
