"""Every method of the registry trains, shows a speed, draws its curves, resumes byte for byte, becomes an agent."""

import json
from pathlib import Path

import numpy as np
import pytest

from dancfr.agents.by_name import list_agents, make_agent
from dancfr.errors import UsageError
from dancfr.evaluation.arena import play
from dancfr.evaluation.bots import make_bot
from dancfr.evaluation.lengths import evaluated_as
from dancfr.games.registry import make_game
from dancfr.methods import OWN, _renamed, all_methods, all_presets, find_preset, method_named, method_of
from dancfr.methods.method import Method
from dancfr.report.figures import all_figures
from dancfr.report.history import History
from dancfr.runs import renamed
from dancfr.runs.run import Run
from dancfr.watch.progress import describe_speed
from tests.dancfr.methods.small_runs import SMALL, small
from tests.dancfr.methods.table_runs import rows, run_preset, stored


@pytest.mark.parametrize("method", OWN, ids=lambda method: method.name)
def test_a_method_goes_all_the_way(method: Method, tmp_path: Path) -> None:
    """The first half ends where neither an evaluation nor a checkpoint is due."""
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    run_preset(whole, *small(method, "iterations=2"))
    run_preset(halves, *small(method, "iterations=1"))
    result = run_preset(halves, *small(method, "iterations=2"), resume=True)
    assert result["iterations"] == 2
    assert stored(halves) == stored(whole), "the same strategies byte for byte"
    assert sorted(map(str, rows(halves))) == sorted(map(str, rows(whole)))

    train = Run.open(whole).read_metrics("train")
    assert [row["iteration"] for row in train] == [1, 2]
    assert describe_speed(train[-1], method.speed).endswith(f" {method.speed.unit}/s {method.speed.during}")
    assert method.speed.during
    assert not method.speed.total or method.speed.overall(train[-1], 1.0)
    for key in filter(None, (method.samples, method.plies)):
        assert train[-1][key] > 0
    if method.age is not None:
        assert train[-1][method.age] >= 0
    if method.stored_with is not None:
        assert Run.open(whole).read_metrics(method.stored_with)

    figures, _ = all_figures({"small": [History.read(whole)]})
    drawn = {figure.name for figure in figures}
    shown = {metric.name for metric in method.curves.metrics if metric.applies_to(History.read(whole).config)}
    assert drawn >= shown - {"response", "losses"}, "what a run of two iterations has"
    assert {"phase-times", "training-time"} <= drawn

    config = History.read(whole).config
    game = evaluated_as(make_game(config["game"], **config["game_options"]))
    agent = make_agent(str(whole), game)
    match = play(game, (agent, make_bot("random", game)), 4, np.random.default_rng(1))
    assert match.games == 4
    assert str(whole) in {entry["name"] for entry in list_agents(game, tmp_path)}


@pytest.mark.parametrize("method", OWN, ids=lambda method: method.name)
def test_ray_gives_the_bytes_of_one_process(method: Method, tmp_path: Path) -> None:
    """With two workers, in a run that was begun in one process."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run_preset(whole, *small(method, "iterations=3"))
    run_preset(parts, *small(method, "iterations=1"))
    run_preset(parts, *small(method, "iterations=3"), inline=False, resume=True)
    assert stored(parts) == stored(whole)
    assert sorted(map(str, rows(parts))) == sorted(map(str, rows(whole)))


@pytest.mark.parametrize("former", renamed.PRESETS)
def test_former_name_of_a_preset_trains_and_says_the_new_one(former: str, capsys: pytest.CaptureFixture[str]) -> None:
    _renamed.cache_clear()
    assert find_preset(former) is find_preset(renamed.PRESETS[former])
    assert capsys.readouterr().err == f"the preset {former} is now called {renamed.PRESETS[former]}\n"


@pytest.mark.parametrize("former", renamed.METHODS)
def test_run_under_the_former_names_of_its_method_resumes_to_the_same_bytes(former: str, tmp_path: Path) -> None:
    method = method_named(former)
    assert method.name == renamed.METHODS[former]
    whole, old = tmp_path / "whole", tmp_path / "old"
    run_preset(whole, *small(method, "iterations=2"))
    preset, config = small(method, "iterations=1")
    run_preset(old, preset, config)
    info = json.loads((old / "config.json").read_bytes())
    names = [name for name, current in renamed.PRESETS.items() if current == preset] or [preset]
    (old / "config.json").write_text(json.dumps(info | {"method": former, "preset": names[0]}))
    run_preset(old, *small(method, "iterations=2"), resume=True)
    assert stored(old) == stored(whole)
    assert (Run.open(old).preset, Run.open(old).method) == (preset, method.name)
    assert make_agent(str(old), make_game(config.game, **config.game_options)).name


@pytest.mark.usefixtures("any_algorithms")
@pytest.mark.parametrize("playing", ["cpu", "learners"])
@pytest.mark.parametrize("method", OWN, ids=lambda method: method.name)
def test_one_process_plays_and_trains_on_a_gpu(method: Method, playing: str, gpu: str, tmp_path: Path) -> None:
    """In several threads: the same nets in every run, and after resuming, whichever thread is faster. The games of the
    first iteration are those of a CPU."""
    where = (f"resources.playing={playing}", "resources.deterministic=true")
    preset, config = small(method, "iterations=2", *where)
    paths = [tmp_path / name for name in ("cpu", "gpu", "halves")]
    for path, device in zip(paths, ("cpu", gpu, gpu), strict=True):
        first = path.name == "halves"
        run_preset(path, preset, small(method, "iterations=1", *where)[1] if first else config, device=device)
    run_preset(paths[2], preset, config, resume=True, device=gpu)
    cpu, whole, halves = (Run.open(path).read_metrics("train") for path in paths)
    assert [row["iteration"] for row in whole] == [1, 2]
    assert [row.get(method.samples) for row in whole][:1] == [row.get(method.samples) for row in cpu][:1]
    assert stored(paths[1]).keys() == stored(paths[0]).keys()
    assert stored(paths[1]) == stored(paths[2]), "the same strategies byte for byte"
    assert len(halves) == 2


def test_names_of_methods_and_presets_lead_to_each_other() -> None:
    assert {method.name for method in OWN} <= set(all_methods())
    for name, preset in all_presets().items():
        method = method_of(preset)
        assert method_named(method.name) is method
        assert (preset.name, type(preset.config)) == (name, method.config)
    assert set(SMALL) == {method.name for method in OWN}


@pytest.mark.parametrize("method", OWN, ids=lambda method: method.name)
def test_half_a_curriculum_is_refused(method: Method) -> None:
    with pytest.raises(UsageError, match=r"^curriculum\.values"):
        small(method, "curriculum.values=1,2")


@pytest.mark.parametrize("limit", ["samples=1", "minutes=0.0001"])
def test_the_end_of_a_complete_run_is_not_evaluated_again(limit: str, tmp_path: Path) -> None:
    method = method_named("policy-gradient")
    path, settings = tmp_path / "run", ("iterations=9", "evaluation.every=7", "training.schedule=none")
    run_preset(path, *small(method, *settings, limit))
    record = (path / "metrics.jsonl").read_bytes()
    ends = [row["iteration"] for row in rows(path) if row["kind"] == "evaluation"]
    assert ends
    assert max(ends) < 7, "an evaluation that exists because the run ended"
    run_preset(path, *small(method, *settings, limit), resume=True)
    assert (path / "metrics.jsonl").read_bytes() == record
    run_preset(path, *small(method, *settings), resume=True)
    assert {row["iteration"] for row in rows(path) if row["kind"] == "evaluation"} == {7, 9}


@pytest.mark.parametrize("method", OWN, ids=lambda method: method.name)
def test_a_number_of_samples_ends_a_training(method: Method, tmp_path: Path) -> None:
    """One sample ends it after the first iteration; with a higher limit it is resumed."""
    result = run_preset(tmp_path / "run", *small(method, "iterations=3", "samples=1"))
    assert result["iterations"] == 1
    assert result["samples"] >= 1
    more = run_preset(tmp_path / "run", *small(method, "iterations=2", f"samples={10**9}"), resume=True)
    assert more["iterations"] == 2
