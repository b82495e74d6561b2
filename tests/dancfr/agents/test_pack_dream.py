"""`dancfr pack` of DREAM and its relatives: the packed agent has the very policy of the run, whichever of its averages
it plays, by all nets or some of them."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.agents.by_name import list_agents, make_agent
from dancfr.agents.cards import read_card
from dancfr.agents.match import play
from dancfr.agents.pack import PackRequest, pack
from dancfr.errors import UsageError
from dancfr.evaluation.exploitability import evaluate_exactly
from dancfr.games.registry import make_game
from dancfr.games.trees import make_tree
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from envs.game import numbered
from learners.storage import load_state, save_state

INLINE = TrainOptions(inline=True, progress=False)
LEDUC = numbered(make_game("leduc"))
PLAYS = ("average=exact", "average=sampled", "average=paper", "average=last", "average=net", "threshold=0.3")
SHORT = ("batch=32", "minibatches=3")
BASELINES = ("baseline_training.batch=32", "baseline_training.minibatches=2")
RELATIVES = {
    "dream": ("leduc-dream", "updates=alternating", *BASELINES),
    "sd-cfr": ("leduc-sdcfr",),
    "vr-deep-pdcfr+": ("leduc-dream", "bootstrap=pdcfr+", *BASELINES),
    "escher": ("leduc-dream", "sampling.estimator=history", "sampling.epsilon=1", "baseline_games=16", *BASELINES),
}
"""Preset and settings of DREAM and its relatives."""


def trained(relative: str, folder: Path) -> Path:
    """A short run on Leduc with policy nets."""
    preset, *more = RELATIVES[relative]
    settings = ["iterations=6", "minutes=none", "traversals=48", "chunk=24", "policy_net=true", "average_power=1"]
    settings += [f"{part}_training.{each}" for part in ("advantage", "policy") for each in SHORT]
    settings += ["network.width=16", "evaluation.every=3", "evaluation.games=4", "evaluation.exploitability=false"]
    train(TrainRequest(preset, [*settings, "checkpoint_every=6", *more], folder, "off", INLINE))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of DREAM with alternating updates, three nets a player."""
    return trained("dream", tmp_path_factory.mktemp("runs") / "dream")


def policy(name: str) -> Any:
    return make_agent(name, LEDUC).tree_policy(make_tree(LEDUC))  # type: ignore[attr-defined]


@pytest.mark.parametrize("option", PLAYS)
def test_packed_agents_have_the_policy_of_the_run(option: str, run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "packed"
    card = pack(PackRequest(f"{run}?{option}", folder, against=("random",), games=20, seed=5))["card"]
    np.testing.assert_array_equal(policy(str(folder)), policy(f"{run}?{option}"))
    assert card["precision"] is None, "it plays by the same numbers"
    ours, theirs = (play(name, "random", "leduc", 40, 9).as_dict() for name in (str(folder), f"{run}?{option}"))
    for result in (ours, theirs):
        del result["games_per_second"]
    assert {key: value for key, value in ours.items() if value != theirs[key]}.keys() <= {"agent", "seconds"}
    assert (folder / "strategies").is_dir()
    assert str(folder) in {each["name"] for each in list_agents(LEDUC, tmp_path)}
    pack(PackRequest(str(folder), tmp_path / "again"))
    np.testing.assert_array_equal(policy(str(tmp_path / "again")), policy(str(folder)))
    assert read_card(tmp_path / "again").training == read_card(folder).training


@pytest.mark.parametrize("relative", [name for name in RELATIVES if name != "dream"])
def test_relatives_are_packed_as_dream_is(relative: str, tmp_path: Path) -> None:
    run = trained(relative, tmp_path / "run")
    for option in ("", "?average=net"):
        folder = tmp_path / f"packed{len(option)}"
        pack(PackRequest(f"{run}{option}", folder))
        np.testing.assert_array_equal(policy(str(folder)), policy(f"{run}{option}"))
    assert read_card(tmp_path / "packed0").training.iterations == 6


def test_some_nets_keep_their_weights(run: Path, tmp_path: Path) -> None:
    """Of three nets a player, the first and the last: their average has the weights 1 and 3, not 1 and 2."""
    for count, kept in ((2, [1, 3]), (1, [3])):
        folder = tmp_path / f"packed{count}"
        pack(PackRequest(f"{run}?average=paper", folder, nets=count))
        assert [load_state(file)[1]["numbers"] for file in sorted((folder / "strategies").iterdir())] == [kept, kept]
        singles = [policy(f"{run}@{2 * number}?average=last") for number in kept]
        mixed = np.average(singles, axis=0, weights=kept)
        np.testing.assert_allclose(policy(str(folder)), mixed, atol=1e-6)
    assert read_card(tmp_path / "packed2").packed == "dancfr pack 'runs/dream?average=paper' packed/packed2 --nets 2"


def test_half_precision_halves_the_files_and_says_how_well_it_plays(run: Path, tmp_path: Path) -> None:
    single = pack(PackRequest(str(run), tmp_path / "single"))
    half = pack(PackRequest(str(run), tmp_path / "half", precision="half"))
    arrays = [load_state(file)[0] for file in (tmp_path / "half" / "strategies").iterdir()]
    assert {array.dtype for each in arrays for array in each.values()} == {np.dtype(np.float16)}
    assert half["bytes"] < 0.75 * single["bytes"]
    found = read_card(tmp_path / "half")
    assert found.precision is not None
    assert found.precision.same > 0.9 * found.precision.decisions > 0
    assert "--precision half" in found.packed
    assert 0 < np.abs(policy(str(tmp_path / "half")) - policy(str(run))).max() < 0.2


def test_the_record_is_used_for_the_policies_that_were_evaluated(tmp_path: Path) -> None:
    run = tmp_path / "run"
    settings = ["game=dark_hex", "game_options.rows=2", "game_options.columns=2", "average=exact", "iterations=6"]
    settings += ["evaluation.average=paper", "evaluation.every=6", "evaluation.games=4", "network.width=16"]
    settings += ["evaluation.exploitability=true", "traversals=48", "chunk=24"]
    settings += [f"{part}_training.{each}" for part in ("advantage", "baseline") for each in SHORT]
    train(TrainRequest("leduc-dream", settings, run, "off", INLINE))
    rules = make_game("dark_hex", rows=2, columns=2)

    def expect(option: str, origin: str) -> float:
        name, folder = f"{run}{option}", tmp_path / f"packed{len(list(tmp_path.iterdir()))}"
        result = pack(PackRequest(name, folder))
        value: float = result["card"]["exploitability"]["value"]
        assert (option, result["exploitability"]) == (option, origin)
        assert value == pytest.approx(evaluate_exactly(name, make_agent(name, rules), rules).exploitability, abs=1e-9)
        return value

    evaluated = expect("?average=paper", "record")
    assert expect("", "computed") != evaluated
    assert expect("?average=paper&threshold=1", "computed") != evaluated
    expect("?average=last", "record")
    expect("?average=last&threshold=1", "computed")
    resumed = TrainOptions(inline=True, progress=False, resume=True)
    train(TrainRequest("leduc-dream", ["checkpoint_every=7"], run, "off", resumed))
    assert expect("?average=paper", "record") == evaluated
    train(TrainRequest("leduc-dream", ["average_threshold=1"], run, "off", resumed))
    assert expect("?average=paper", "computed") != evaluated


def test_what_was_left_out_is_named(run: Path, tmp_path: Path) -> None:
    for option, other in (("last", "exact"), ("net", "sampled"), ("exact", "net")):
        folder = tmp_path / option
        pack(PackRequest(f"{run}?average={option}", folder))
        alone = f"has been packed with the nets of average={option} alone: leave out average={other}"
        with pytest.raises(UsageError, match=alone):
            make_agent(f"{folder}?average={other}", LEDUC)
    both = policy(f"{tmp_path / 'exact'}?average=paper&threshold=0.4")
    np.testing.assert_array_equal(both, policy(f"{run}?average=paper&threshold=0.4"))
    for option, message in (
        ("?average=net", "does not mix nets: leave out --nets"),
        ("?average=last", "does not mix nets: leave out --nets"),
        ("?average=exact", "--nets must be from 1 to 3, the nets of"),
        ("@1", "has no strategy of player 1 yet"),
        ("@99", "has iterations 1 to 6, not 99"),
        ("@1?average=net", "has no average-policy net yet for player 0"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            pack(PackRequest(f"{run}{option}", tmp_path / "no", nets=9 if "@" not in option else None))
    assert not (tmp_path / "no").exists()


def test_half_written_and_damaged_folders_are_refused_in_one_line(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (copy / "strategies" / "p0-000003.safetensors").unlink()
    with pytest.raises(UsageError, match=r"lacks p0-000003.safetensors, which the average needs: restore it"):
        pack(PackRequest(str(copy), tmp_path / "no"))
    shutil.rmtree(copy / "strategies")
    with pytest.raises(UsageError, match="has been trained, but its strategies are gone"):
        pack(PackRequest(str(copy), tmp_path / "no"))
    folder = tmp_path / "packed"
    pack(PackRequest(str(run), folder))
    file = min((folder / "strategies").iterdir())
    arrays, meta = load_state(file)
    for wrong, about, message in (
        (arrays, meta | {"numbers": "123"}, "must be whole numbers that ascend"),
        (arrays, meta | {"numbers": [1, 3, 2]}, "must be whole numbers that ascend"),
        (arrays, meta | {"numbers": [1, 2]}, "its arrays are not those of the nets 1, 2"),
        (arrays, meta | {"numbers": [1, 2, 4]}, "its arrays are not those of the nets 1, 2, 4"),
        (arrays | {"2.out.b": arrays["2.out.b"][:1]}, meta, "does not fit the run's configuration: out.b must be"),
    ):
        save_state(file, wrong, about)
        with pytest.raises(UsageError, match=message) as raised:
            make_agent(str(folder), LEDUC)
        assert "\n" not in str(raised.value)
    file.unlink()
    with pytest.raises(UsageError, match="has no strategy of player 0 yet"):
        make_agent(str(folder), LEDUC)
    info = json.loads((folder / "config.json").read_text())
    assert info["packed"] is True
