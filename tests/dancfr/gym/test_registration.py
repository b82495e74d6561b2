"""The ids of environments: complete, registered in whichever order the packages are imported, and light to import."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pettingzoo
import pytest

import dancfr
from dancfr import gym
from dancfr.errors import UsageError
from dancfr.games import registry
from envs.game import Game
from tests.ragged_game import HeapGame

ROOT = Path(__file__).parents[3]
HEAVY = {"torch", "ray", "numba", "dancfr.games.registry"}


def test_ids_are_those_of_all_games_with_numbered_actions() -> None:
    assert tuple(name for name in registry.GAMES if isinstance(dancfr.make_game(name), Game)) == gym.GAMES
    ids = [gym.ANY_GAME, *map(gym.id_of, gym.GAMES)]
    assert len(set(ids)) == len(gym.GAMES) + 1
    assert {each for each in gymnasium.registry if each.startswith("dancfr/")} == set(ids)
    assert gym.id_of("geister") == "dancfr/Geister-v0"
    assert gym.id_of("mini-geister") == "dancfr/MiniGeister-v0"
    assert gym.id_of("liars_dice_2d5f") == "dancfr/LiarsDice2d5f-v0"
    for name in gym.GAMES:
        assert gymnasium.spec(gym.id_of(name)).kwargs == {"game": name}


@pytest.mark.parametrize("registry", [gymnasium.registry, pettingzoo.aec_registry])
@pytest.mark.filterwarnings("error")
def test_ids_that_are_registered_are_left_as_they_are(registry: dict[str, Any]) -> None:
    before = dict(registry)
    dancfr.gym.register()
    assert all(registry[name] is spec for name, spec in before.items())
    assert len(registry) == len(before)


def test_every_game_has_an_id_of_pettingzoo() -> None:
    names = {*gym.GAMES, *gym.LISTED_GAMES}
    assert names == set(registry.GAMES)
    found = {each for each in pettingzoo.aec_registry if each.startswith("dancfr/")}
    assert found == set(map(gym.aec_id_of, names))
    for name in names:
        made = pettingzoo.make("aec", gym.aec_id_of(name))
        assert str(made) == str(dancfr.make_game(name).env())
        assert made.unwrapped.game == dancfr.make_game(name)


def test_environment_of_pettingzoo_takes_options_of_the_game_and_of_its_view() -> None:
    made = pettingzoo.make("aec", "dancfr/geister_v0", ply_limit=7, render_mode="ansi", view=1)
    assert (made.unwrapped.game.ply_limit, made.unwrapped.view, made.render_mode) == (7, 1, "ansi")
    with pytest.raises(UsageError, match=r"no option of geister named 'ply_limt'; did you mean ply_limit\?"):
        pettingzoo.make("aec", "dancfr/geister-v0", ply_limt=7)


def test_a_game_without_an_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "make_game", lambda name: HeapGame())
    with pytest.raises(UsageError, match="heap has no environment of PettingZoo: derive its class"):
        gym.make_aec_env("heap")


@pytest.mark.parametrize(
    ("imports", "prefix"),
    [
        ("import dancfr, gymnasium", ""),
        ("import gymnasium, dancfr", ""),
        ("import dancfr, gymnasium.spaces as _, gymnasium", ""),
        ("import gymnasium", "dancfr:"),
        ("import gymnasium", "dancfr.gym:"),
        ("import dancfr.gym, gymnasium; dancfr.gym.register()", ""),
    ],
)
def test_environments_are_made_in_any_order_of_imports(imports: str, prefix: str, tmp_path: Path) -> None:
    program = f"""
{imports}
import sys
found = [name for name in {sorted(HEAVY)} if name in sys.modules]
made = gymnasium.make("{prefix}dancfr/Kuhn-v0")
print(found, made.reset(seed=1)[1]["action_mask"], "torch" in sys.modules)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[] [1 1] False\n", done.stderr[-2000:]
    assert done.stderr == ""


@pytest.mark.parametrize("imports", ["import dancfr, pettingzoo", "import pettingzoo, dancfr"])
def test_environments_of_pettingzoo_are_made_in_any_order_of_imports(imports: str, tmp_path: Path) -> None:
    program = f"""
{imports}
import sys
found = [name for name in {sorted(HEAVY)} if name in sys.modules]
made = pettingzoo.make("aec", "dancfr/kuhn-v0")
made.reset(seed=1)
print(found, made.last()[4]["action_mask"], "torch" in sys.modules)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[] [1 1] False\n", done.stderr[-2000:]
