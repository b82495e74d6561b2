"""Fingerprints of runs that differ in the settings by which they play."""

from pathlib import Path

import pytest

from dancfr.agents.league.fingerprint import fingerprint
from dancfr.agents.pack import PackRequest, pack
from dancfr.games.registry import make_game
from dancfr.methods import all_methods, find_preset, method_of
from dancfr.runs.config import apply_overrides, is_among
from dancfr.runs.run import Run

KUHN = make_game("kuhn")


@pytest.mark.parametrize(
    ("preset", "setting"),
    [
        ("leduc-dream", "average=paper"),
        ("leduc-dream", "average_power=0.25"),
        ("leduc-dream", "average_threshold=1"),
        ("geister-belief-search", "average_threshold=1"),
        ("goofspiel5-values", "evaluation.iterations=7"),
    ],
)
def test_a_run_that_is_resumed_to_play_otherwise_has_another_fingerprint(
    preset: str, setting: str, tmp_path: Path
) -> None:
    config, method = find_preset(preset).config, method_of(find_preset(preset)).name
    with Run.create(tmp_path / "run", preset, method, config) as run:
        first = fingerprint(str(run.path), KUHN)
        for change, same in (("checkpoint_every=9", True), (setting, False)):
            config = apply_overrides(config, [change])
            run.resume_as(preset, method, config)
            run.confirm_resume()
            assert (fingerprint(str(run.path), KUHN) == first) == same


def test_settings_that_decide_the_play_may_change() -> None:
    """All others are part of a fingerprint anyway."""
    for method in all_methods().values():
        assert all(is_among(key, method.config.resumable) for key in method.config.plays), method.name


def test_packed_agents_that_play_otherwise_are_other_agents(mini_run: Path, tmp_path: Path) -> None:
    game = make_game("mini-geister")
    for name, option in (("exact", "?average=exact"), ("again", "?average=exact"), ("half", "?threshold=0.25")):
        pack(PackRequest(f"{mini_run}{option}", tmp_path / name, name="packed"))
    exact, again, half = (fingerprint(str(tmp_path / name), game) for name in ("exact", "again", "half"))
    assert exact == again != half
