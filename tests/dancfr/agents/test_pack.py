"""`dancfr pack`: packed agents play as the unpacked ones, describe themselves, and wrong use is refused."""

import dataclasses
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.agents.cards import Card, read_card, section
from dancfr.agents.pack import PackRequest, pack, packing_command
from dancfr.agents.solving import solve
from dancfr.errors import RunError, UsageError
from dancfr.evaluation.agreement import agreement
from dancfr.evaluation.exploitability import evaluate_exactly
from dancfr.games.registry import make_game
from dancfr.methods import method_named
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from dancfr.runs.run import Run
from learners.policy_gradient.agent import PolicyAgent
from learners.policy_gradient.mixture import PolicyMixture
from learners.storage import halved, load_state, save_state, widened

INLINE = TrainOptions(inline=True, progress=False)
LEDUC = make_game("leduc")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of policy gradients on Leduc whose agent is a mixture of four nets."""
    folder = tmp_path_factory.mktemp("runs") / "mixed"
    settings = ["iterations=5", "minutes=none", "games=64", "chunk=64", "network.width=16", "average=mixture"]
    settings += ["kept=8", "kept_every=1", "evaluation.every=5", "evaluation.games=20"]
    settings += ["evaluation.exploitability=false", "checkpoint_every=5"]
    train(TrainRequest("leduc-policy-gradient", settings, folder, "off", INLINE))
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A strategy of Kuhn poker."""
    path = tmp_path_factory.mktemp("tables") / "kuhn.safetensors"
    solve("kuhn", "cfr+", 200, out=path)
    return path


def test_a_packed_mixture_plays_as_the_run_and_is_smaller(run: Path, tmp_path: Path) -> None:
    result = pack(PackRequest(str(run), tmp_path / "small", against=("random",), games=40, seed=3))
    card = read_card(tmp_path / "small")
    assert card == Card.model_validate(result["card"])
    assert card.name == "small"
    assert card.game == "leduc"
    assert card.training.iterations == 5
    assert card.training.samples is not None
    assert card.training.samples > 0
    (command,) = card.training.commands
    assert command.startswith("dancfr train leduc-policy-gradient ")
    assert "network.width=16" in command
    (match,) = card.strength
    assert (match.opponent, match.games, match.seed) == ("random", 40, 3)
    assert match.ci95[0] <= match.win_rate <= match.ci95[1]
    assert card.precision is not None
    assert card.precision.same >= 0.98 * card.precision.decisions

    long = card.model_copy(update={"training": card.training.model_copy(update={"minutes": 2712.4})})
    assert ", 2,712 minutes, " in section("small", long)

    (file,) = (tmp_path / "small" / "strategies").iterdir()
    arrays, _ = load_state(file)
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float16)}
    assert not [name for name in arrays if name.startswith("last.")]
    unpacked = sum(each.stat().st_size for each in (run / "strategies").iterdir())
    assert result["bytes"] < unpacked + 10_000
    found = make_agent(str(tmp_path / "small"), LEDUC)
    assert isinstance(found, PolicyMixture)
    whole = make_agent(str(run), LEDUC)
    decisions, same = agreement(LEDUC, whole, found, 100, np.random.default_rng(1))
    assert decisions > 200
    assert same >= 0.98 * decisions
    with pytest.raises(UsageError, match="packed without the newest nets"):
        make_agent(f"{tmp_path / 'small'}?average=last", LEDUC)


def test_a_packed_agent_cannot_be_resumed(run: Path, tmp_path: Path) -> None:
    pack(PackRequest(str(run), tmp_path / "small"))
    with pytest.raises(UsageError, match=r"small is a packed agent, without the record .*: name the folder of the run"):
        Run.open(tmp_path / "small", writing=True)


def test_options_of_the_name_are_packed(run: Path, tmp_path: Path) -> None:
    pack(PackRequest(f"{run}?average=weights&threshold=0.25", tmp_path / "weights"))
    pack(PackRequest(f"{run}?average=last", tmp_path / "last"))
    pack(PackRequest(str(run), tmp_path / "two", nets=2))
    for name, threshold in (("weights", 0.25), ("last", 0.0)):
        found = make_agent(str(tmp_path / name), LEDUC)
        assert isinstance(found, PolicyAgent)
        assert found.threshold == threshold
        unpacked = make_agent(f"{run}?average={name}&threshold={threshold}", LEDUC)
        decisions, same = agreement(LEDUC, unpacked, found, 100, np.random.default_rng(1))
        assert same >= 0.98 * decisions
    two, whole = make_agent(str(tmp_path / "two"), LEDUC), make_agent(str(run), LEDUC)
    assert isinstance(two, PolicyMixture)
    assert isinstance(whole, PolicyMixture)
    assert len(two.agents) == 2 < len(whole.agents)
    assert read_card(tmp_path / "two").packed == "dancfr pack runs/mixed packed/two --nets 2"


def test_an_agent_can_be_packed_again(run: Path, tmp_path: Path) -> None:
    pack(PackRequest(str(run), tmp_path / "first", description="for a test"))
    pack(PackRequest(str(tmp_path / "first"), tmp_path / "second", against=("random",), games=20))
    first, second = read_card(tmp_path / "first"), read_card(tmp_path / "second")
    assert (first.training, first.precision) == (second.training, second.precision)
    assert second.description == "for a test"
    assert len(second.strength) == 1
    one, other = (make_agent(str(tmp_path / name), LEDUC) for name in ("first", "second"))
    decisions, same = agreement(LEDUC, one, other, 50, np.random.default_rng(1))
    assert same == decisions


def test_a_response_bounds_the_exploitability(run: Path, tmp_path: Path) -> None:
    pack(PackRequest(str(run), tmp_path / "bounded", response_minutes=0.02))
    found = read_card(tmp_path / "bounded").exploitability
    assert found is not None
    assert found.kind == "lower bound"
    assert found.ci95 is not None
    assert found.ci95[0] <= found.value <= found.ci95[1]
    assert found.command.endswith("--start pretrained:bounded --start fresh")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"seed": 3, "response_minutes": 5.0}, " --seed 3 --response-minutes 5"),
        ({"seed": 3}, " --seed 3"),  # of the comparison with single precision
        ({}, ""),
        ({"against": ("rush",)}, " --against rush --games 2000 --seed 11"),
        ({"note": "stopped after an hour"}, " --note 'stopped after an hour'"),
    ],
)
def test_the_command_of_a_card_packs_the_same_again(changes: dict[str, Any], told: str) -> None:
    assert packing_command(PackRequest("runs/x", Path("packed/y"), **changes)) == f"dancfr pack runs/x packed/y{told}"


def test_a_strategy_is_packed_with_its_exact_exploitability(table: Path, tmp_path: Path) -> None:
    pack(PackRequest(str(table), tmp_path / "kuhn", against=("random",), games=100))
    card = read_card(tmp_path / "kuhn")
    assert card.exploitability is not None
    assert card.exploitability.kind == "exact"
    assert 0 <= card.exploitability.value < 0.01
    assert card.training.commands == ("dancfr solve kuhn --algorithm cfr+ --iterations 200 --out kuhn.safetensors",)
    arrays, _ = load_state(table)
    packed, _ = load_state(tmp_path / "kuhn" / "strategy.safetensors")
    assert all((packed[name] == array).all() for name, array in arrays.items())
    for number, name in enumerate((tmp_path / "kuhn" / "strategy.safetensors", tmp_path / "kuhn")):
        pack(PackRequest(str(name), tmp_path / f"again{number}"))
        assert read_card(tmp_path / f"again{number}").training == card.training


def test_the_command_of_a_strategy_solves_the_same(tmp_path: Path) -> None:
    first = solve("kuhn", "external-sampling", 50, seed=5, out=tmp_path / "first.safetensors", progress=False)
    warm = {"warm_start": tmp_path / "first.safetensors", "warm_weight": 2.5}
    solve("kuhn", "cfr+", 20, **warm, out=tmp_path / "warm.safetensors", progress=False)
    solve("kuhn", "lp", out=tmp_path / "program.safetensors", progress=False)
    assert first.exploitability != solve("kuhn", "external-sampling", 50, progress=False).exploitability
    for name, told in (
        ("first", "--algorithm external-sampling --iterations 50 --seed 5"),
        ("warm", "--algorithm cfr+ --iterations 20 --warm-start first.safetensors --warm-weight 2.5"),
        ("program", "--algorithm lp"),
    ):
        pack(PackRequest(str(tmp_path / f"{name}.safetensors"), tmp_path / name))
        (command,) = read_card(tmp_path / name).training.commands
        assert command == f"dancfr solve kuhn {told} --out {name}.safetensors"


def test_the_commit_of_a_strategy_is_that_of_its_solution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.agents.solving.git_revision", lambda: "5" * 40)
    path = tmp_path / "kuhn.safetensors"
    solve("kuhn", "cfr+", 5, out=path, progress=False)
    pack(PackRequest(str(path), tmp_path / "kuhn"))
    assert read_card(tmp_path / "kuhn").training.commits == ("5" * 40,)
    arrays, about = load_state(path)
    save_state(path, arrays, {key: value for key, value in about.items() if key != "git_revision"})  # as before 0.4
    pack(PackRequest(str(path), tmp_path / "older"))
    assert read_card(tmp_path / "older").training.commits == ()


def test_a_strategy_beside_the_card_of_another_agent_has_its_own_training(
    run: Path, table: Path, tmp_path: Path
) -> None:
    pack(PackRequest(str(run), tmp_path / "other"))
    mine = Path(shutil.copy(table, tmp_path / "other" / "my table.safetensors"))
    pack(PackRequest(str(mine), tmp_path / "mine"))
    card = read_card(tmp_path / "mine")
    solve = "dancfr solve kuhn --algorithm cfr+ --iterations 200 --out 'my table.safetensors'"
    assert (card.training.commands, card.description, card.precision) == ((solve,), "cfr+, 200 iterations", None)


def test_the_training_of_a_card_is_quoted_for_a_shell(run: Path, tmp_path: Path) -> None:
    pack(PackRequest(str(shutil.copytree(run, tmp_path / "my run?")), tmp_path / "packed"))
    (command,) = read_card(tmp_path / "packed").training.commands
    assert shlex.split(command)[-2:] == ["--run-dir", "runs/my run?"]


def test_nets_have_their_exact_exploitability_where_no_tree_is_needed(tmp_path: Path) -> None:
    settings = ["game=dark_hex", "game_options.rows=2", "game_options.columns=2", "iterations=1", "samples=none"]
    settings += ["games=64", "chunk=64", "network.width=16", "evaluation.games=20", "evaluation.exploitability=true"]
    train(TrainRequest("dark-hex3-policy-gradient", settings, tmp_path / "run", "off", INLINE))
    assert pack(PackRequest(str(tmp_path / "run"), tmp_path / "packed"))["exploitability"] == "computed"
    found = read_card(tmp_path / "packed").exploitability
    assert found is not None
    assert found.kind == "exact"
    assert found.command == "dancfr evaluate pretrained:packed --game dark_hex --exploitability"
    rules = make_game("dark_hex", rows=2, columns=2)
    expected = evaluate_exactly("packed", make_agent(str(tmp_path / "packed"), rules), rules)
    assert found.value == expected.exploitability > 0
    single = pack(PackRequest(str(tmp_path / "run"), tmp_path / "single", precision="single"))
    (row,) = Run.open(tmp_path / "run").read_metrics("exploitability")
    assert (single["exploitability"], row["policy"]) == ("record", "average")
    assert single["card"]["exploitability"]["value"] == row["exploitability"]
    whole = evaluate_exactly("single", make_agent(str(tmp_path / "single"), rules), rules)
    assert whole.exploitability == pytest.approx(row["exploitability"], abs=1e-12)
    record = tmp_path / "run" / "metrics.jsonl"
    written = record.read_text()
    for number, wrong in enumerate(({"exploitability": 0.0}, {"exploitability": None}, {"policy": None})):
        record.write_text(written + json.dumps(row | wrong) + "\n")
        again = pack(PackRequest(str(tmp_path / "run"), tmp_path / f"wrong{number}", precision="single"))
        assert again["card"]["exploitability"]["value"] == pytest.approx(row["exploitability"], abs=1e-12)
    record.write_text(written)
    last = pack(PackRequest(f"{tmp_path / 'run'}?average=last", tmp_path / "last", precision="single"))
    assert last["exploitability"] == "computed", "the record has an evaluation of the average alone"
    resumed = TrainOptions(inline=True, progress=False, resume=True)
    preset, changes = "dark-hex3-policy-gradient", ["threshold=0.9"]
    train(TrainRequest(preset, changes, tmp_path / "run", "off", resumed, allow_changes=True))
    purer = pack(PackRequest(str(tmp_path / "run"), tmp_path / "purer", precision="single"))
    assert purer["exploitability"] == "computed", "the evaluation in the record is of another threshold"
    with pytest.raises(UsageError, match="exploitability of an agent of dark_hex is computed exactly"):
        pack(PackRequest(str(tmp_path / "run"), tmp_path / "bounded", response_minutes=1))


def test_wrong_use_is_refused_and_leaves_nothing(run: Path, table: Path, tmp_path: Path) -> None:
    target = tmp_path / "packed"
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    wrong = [
        (PackRequest(str(run), tmp_path / "full"), "is not an empty folder"),
        (PackRequest("random", target), "neither a run nor a strategy"),
        (PackRequest(str(tmp_path / "none"), target), "neither a run nor a strategy"),
        (PackRequest("pretrained:leduk", target), "did you mean pretrained:leduc"),
        (PackRequest(f"{run}?search=8", target), "leave out its options"),
        (PackRequest(f"{run}?foo=1", target), "no option named 'foo'"),
        (PackRequest(str(run), target, nets=99), "--nets must be from 1 to"),
        (PackRequest(f"{run}?average=weights", target, nets=2), "leave out --nets"),
        (PackRequest(str(run), target, against=("randum",)), "did you mean random"),
        (PackRequest(str(table), target, nets=2), "is one strategy"),
        (PackRequest(str(table), target, precision="half"), "is one strategy: leave out --nets, --precision"),
        (PackRequest(str(table), target, response_minutes=1), "leave out --response-minutes"),
    ]
    for request, message in wrong:
        with pytest.raises(UsageError, match=re.escape(message)):
            pack(request)
    for arguments, message in (
        ({"games": 0}, "--games must be at least 1"),
        ({"seed": -1}, "--seed must be at least 0"),
        ({"nets": 0}, "--nets must be at least 1"),
        ({"response_minutes": 0.0}, "--response-minutes must be more than 0"),
        ({"response_minutes": float("nan")}, "--response-minutes must be more than 0 and at most a month .*, got nan"),
        ({"response_minutes": 1e6}, "--response-minutes must be more than 0 and at most a month"),
        ({"response_minutes": 1.0, "seed": 2**32}, "--response-minutes requires a --seed of at most 4,294,967,295"),
        ({"response_minutes": 1.0, "response_starts": ("fresh",) * 65}, "--response-start may be given at most 64"),
        ({"name": "Not A Name"}, "small letters"),
        ({"precision": "double"}, "--precision must be half or single, got 'double'"),
    ):
        with pytest.raises(UsageError, match=message):
            PackRequest(str(run), target, **arguments)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


def test_a_method_that_packs_nothing_is_refused(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of installed packages may be."""
    without = dataclasses.replace(method_named("policy-gradient"), pack=None)
    monkeypatch.setattr("dancfr.agents.pack.method_named", lambda name: without)
    with pytest.raises(UsageError, match="of policy-gradient: dancfr pack takes runs of belief-search, belief-"):
        pack(PackRequest(str(run), tmp_path / "packed"))


def test_a_failed_measurement_leaves_nothing(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise RunError("an agent returned an illegal action")

    monkeypatch.setattr("dancfr.agents.card_figures.play", fail)
    with pytest.raises(RunError, match="illegal"):
        pack(PackRequest(str(run), tmp_path / "packed", against=("random",)))
    assert not list(tmp_path.iterdir())


def test_a_damaged_card_is_refused_in_one_line(run: Path, tmp_path: Path) -> None:
    pack(PackRequest(str(run), tmp_path / "packed"))
    path = tmp_path / "packed" / "card.json"
    card = json.loads(path.read_text())
    for text, message in (
        ("{", "is not JSON"),
        (json.dumps(card | {"licence": 1}), "does not fit"),
        (json.dumps(card | {"elo": 2000}), "elo"),
    ):
        path.write_text(text)
        with pytest.raises(UsageError, match=message) as raised:
            read_card(tmp_path / "packed")
        assert "\n" not in str(raised.value)
    path.unlink()
    with pytest.raises(UsageError, match="make one by dancfr pack"):
        read_card(tmp_path / "packed")
    assert Run.open(tmp_path / "packed").info["name"] == "packed"


def test_half_precision_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(ValueError, match="big"):
        halved({"big": np.array([1e6], np.float32)})
    back = widened(halved({"w": np.array([0.5, -3.0], np.float32), "n": np.array([1, 2])}))
    assert back["w"].dtype == np.float32
    np.testing.assert_array_equal(back["w"], np.array([0.5, -3.0], np.float32))
    assert back["n"].dtype == np.array([1]).dtype
