"""Tests of the driver of policy gradients: opponents, exact NashConv, refusals."""

from pathlib import Path

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.errors import UsageError
from dancfr.evaluation.server import NoTree
from dancfr.games.registry import make_game
from dancfr.methods.policy_gradient.seats import tables_of
from dancfr.methods.policy_gradient.starting import starting_net
from envs.tree import compile_tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.storage import load_state
from tests.dancfr.methods.table_runs import configured, rows, run_preset

PRESET = "geister-policy-gradient-quick"
KUHN = (
    "game=kuhn",
    "minutes=none",
    "games=512",
    "chunk=256",
    "network.width=32",
    "network.depth=1",
    "network.norm=none",
    "training.batch=256",
    "training.discount=1",
    "training.trace=1",
    "evaluation.exploitability=true",
    "evaluation.every=2",
    "evaluation.games=4",
    "threshold=0",
    "average=weights",
)


STILL = ("training.learning_rate=1e-12", "training.learning_rate_end=1e-12", "iterations=2", "games=32", "chunk=32")
"""Settings of a training that leaves its nets as they began."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose net plays both seats."""
    path = tmp_path_factory.mktemp("runs") / "shared"
    run_preset(path, PRESET, configured(PRESET, *KUHN, "iterations=12"))
    return path


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four iterations, inline and without interruption."""
    path = tmp_path_factory.mktemp("runs") / "reference"
    changes = ('opponents={"random": 0.2}', "former=0.3", "kept_every=1", "nets=per_player", "iterations=4")
    changes += ("noise.openings=0.2", "noise.opening_plies=1", "noise.tremble=0.3", "training.critic=all")
    assert run_preset(path, PRESET, configured(PRESET, *KUHN, *changes))["iterations"] == 4
    return path


def test_self_play_without_samples_is_said_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    changes = ("iterations=2", "noise.openings=1", "noise.opening_plies=1000", "evaluation.every=0")
    run_preset(tmp_path / "r", PRESET, configured(PRESET, *KUHN, *changes))
    assert capfd.readouterr().err.count("no training samples: lower noise.openings") == 1


def test_a_row_tells_how_the_learner_fares_against_its_opponents(reference: Path) -> None:
    trained = [row for row in rows(reference) if row["kind"] == "train"]
    assert [row["selfplay/age"] for row in trained] == [0, 1, 1, 1]
    assert all(-2 <= row["against/random"] <= 2 for row in trained)
    assert "against/former" not in trained[0]
    assert "against/former" in trained[-1]
    assert 0 < trained[-1]["learner/entropy"] <= 0.6932
    assert trained[-1]["learner/age"] == 2


def test_adversaries_learn_beside_the_policy(tmp_path: Path) -> None:
    """On Kuhn poker one of them wins a chip, half of the largest return, where the policy loses one or two."""
    changes = ("adversaries.plain=0.3", "adversaries.one=0.3", 'adversary.wins.one={"over": 0.5}', "iterations=80")
    changes += ("adversary.learning_rate=0.01", "training.batch=64", "evaluation.every=80")
    run_preset(tmp_path / "run", PRESET, configured(PRESET, *KUHN, *changes))
    trained = [row for row in rows(tmp_path / "run") if row["kind"] == "train"]
    for row in trained:
        assert row["adversary/plain"] == pytest.approx(-row["against/plain"])
        assert row["adversary/one"] < -row["against/one"]
    first, last = (np.mean([row["adversary/plain"] for row in part]) for part in (trained[:10], trained[-20:]))
    assert last > max(first, 0), "it wins from a policy that keeps learning"


def test_another_game_has_no_adversaries() -> None:
    config = configured(PRESET, "adversaries.one=0.1", 'adversary.wins.one={"escape": -0.25}')
    other = configured(PRESET, "game=kuhn")
    assert config.adversary.wins
    assert other.adversaries == other.adversary.wins == {}


def test_on_kuhn_it_comes_close_to_an_equilibrium(tmp_path: Path) -> None:
    changes = (
        "iterations=250",
        "games=1024",
        "training.learning_rate=0.005",
        "training.learning_rate_end=0.0003",
        "training.entropy=0.1",
        "training.entropy_end=0.01",
        "training.schedule=220",
        "evaluation.every=250",
    )
    run_preset(tmp_path / "kuhn", PRESET, configured(PRESET, *KUHN, *changes))
    (last,) = (row for row in rows(tmp_path / "kuhn") if row["kind"] == "exploitability")
    assert last["nash_conv"] < 0.25, "that of uniform play is 0.92"


def test_a_schedule_without_a_length_is_that_of_the_run(tmp_path: Path) -> None:
    changes = ("training.entropy=0.5", "training.entropy_end=0.01", "training.learning_rate_end=1e-4")
    # Before the t-th of four iterations (t - 1) / 4 is done, as in a schedule of five.
    for name, more in {"five": "training.schedule=5", "none": "training.schedule=none"}.items():
        run_preset(tmp_path / name, PRESET, configured(PRESET, *KUHN, *changes, "iterations=4", more))
    found = [make_agent(str(tmp_path / name), make_game("kuhn")).weights[0] for name in ("five", "none")]
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])


def test_the_part_of_a_run_that_is_done_is_that_of_the_nearest_limit() -> None:
    config = configured(PRESET, *KUHN, "iterations=10", "samples=1000", "minutes=2")
    assert config.part_done(3, 200, 12.0) == 0.3
    assert config.part_done(3, 400, 12.0) == 0.4
    assert config.part_done(3, 400, 60.0) == 0.5
    assert config.part_done(3, 4000, 60.0) == 1.0
    assert configured(PRESET, *KUHN, "iterations=10").part_done(3, 400, 60.0) == 0.3


def test_stored_nets_play_with_their_options(reference: Path) -> None:
    game = make_game("kuhn")
    plain, last = make_agent(str(reference), game), make_agent(f"{reference}?average=last&threshold=1", game)
    assert (plain.threshold, last.threshold) == (0.0, 1.0)
    assert not np.array_equal(plain.weights[0]["out.w"], last.weights[0]["out.w"])
    assert len(plain.weights) == 2
    with pytest.raises(UsageError, match="average"):
        make_agent(f"{reference}?average=exact", game)


def test_a_mixture_is_of_nets_evenly_spread_over_the_run(tmp_path: Path) -> None:
    changes = ("average=mixture", "average_power=1", "kept=4", "kept_every=1", "iterations=14", "games=64")
    run_preset(tmp_path / "run", PRESET, configured(PRESET, *KUHN, *changes))
    game = make_game("kuhn")
    found = {}
    for iteration in (2, 6, 14):
        agent = make_agent(f"{tmp_path / 'run'}@{iteration}", game)
        found[iteration] = [int(each.name.split()[-1]) for each in agent.agents]
        np.testing.assert_allclose(agent.probability, np.array(found[iteration]) / sum(found[iteration]))
    assert found == {2: [1], 6: [2, 4], 14: [4, 8, 12]}
    weights = make_agent(f"{tmp_path / 'run'}?average=weights&threshold=0.5", game)
    assert weights.threshold == 0.5
    begun, taken = starting_net("run", agent)[1], weights.weights[0]  # of a response to the mixture
    assert all(np.array_equal(begun[name], taken[name]) for name in taken)

    tree = compile_tree(game)
    exact = evaluate_policy(sequence_form(tree), agent.tree_policy(tree)).as_dict()["nash_conv"]
    assert [row["nash_conv"] for row in rows(tmp_path / "run") if row["kind"] == "exploitability"][-1] == exact


def test_a_run_without_a_mixture_has_none(reference: Path) -> None:
    with pytest.raises(UsageError, match="average=weights"):
        make_agent(f"{reference}?average=mixture", make_game("kuhn"))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (('opponents={"random": 0.7}', "former=0.4"), "at most 1"),
        (('opponents={"random": 0}',), "above 0"),
        (('opponents={"stranger": 0.1}',), "stranger"),
        (("adversaries.one=0.5", "former=0.6"), "add up to at most 1, got 1.2"),
        (("adversaries.one=1.5",), r"adversaries\.one must be a share above 0 and at most 1, got 1\.5"),
        (("adversaries.random=0.1",), r"adversaries\.random: choose a word"),
        (('adversaries={"two words": 0.1}',), r"adversaries\.two words: choose a word"),
        (('adversary.wins.one={"escape": -1}',), r"there is no adversaries\.one, its share of the games"),
        (("adversaries.one=0.1", 'adversary.wins.one={"mate": -1}'), "does not end by 'mate', but by escape, blues"),
        (("adversaries.one=0.1", 'adversary.wins.one={"escape": 2}'), "'escape' must be worth from -1 to 1, got 2"),
        (("start=rush",), "start: rush has no policy net that plays all seats: name a policy-gradient run"),
        (("start=pretrained:geister", "network.width=64"), r"another network than this run: set network\.width=128$"),
        (("start=runs/none",), "runs/none holds no run"),
        (('adversary.start.one="rush"',), r"adversary\.start\.one: there is no adversaries\.one"),
        (("adversaries.one=0.1", 'adversary.start.one="rush"'), r"adversary\.start\.one: rush has no policy net"),
        (("game=guandan",), "numbered actions"),
        (("training.entropy=0.1", "training.entropy_end=0"), "must both be positive"),
        (("evaluation.exploitability=true",), "geister has no tree"),
        (("noise.openings=2",), "noise.openings"),
        (("noise.tremble_rate=1",), "noise.tremble_rate"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(changes: tuple[str, ...], told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        run_preset(tmp_path / "run", PRESET, configured(PRESET, "iterations=1", *changes))


def test_exact_values_of_games_without_a_tree_are_refused(tmp_path: Path) -> None:
    three = "game=mini-cheat", 'game_options={"players": 3}'
    with pytest.raises(NoTree, match="mini-cheat has more nodes than the 20,000,000 allowed"):
        run_preset(tmp_path / "run", PRESET, configured(PRESET, "evaluation.exploitability=true", *three))


def test_a_run_without_evaluations_says_how_to_get_a_net(tmp_path: Path) -> None:
    small = (*KUHN, "iterations=1", "games=4")
    run_preset(tmp_path / "run", PRESET, configured(PRESET, *small, "evaluation.every=0"))
    with pytest.raises(UsageError, match=r"evaluation\.every=N"):
        make_agent(str(tmp_path / "run"), make_game("kuhn"))
    run_preset(tmp_path / "run", PRESET, configured(PRESET, *small, "evaluation.every=1"), resume=True)
    assert make_agent(str(tmp_path / "run"), make_game("kuhn"))


@pytest.mark.parametrize("changes", [(), ("training.critic=all",), ("nets=per_player",)])
def test_a_training_begins_with_the_net_of_an_agent(shared: Path, tmp_path: Path, changes: tuple[str, ...]) -> None:
    run_preset(tmp_path / "run", PRESET, configured(PRESET, *KUHN, *STILL, *changes, f"start={shared}"))
    game = make_game("kuhn")
    begun = make_agent(str(shared), game).weights[0]
    found = make_agent(f"{tmp_path / 'run'}?average=last", game).weights
    assert len(found) == (2 if changes == ("nets=per_player",) else 1)
    for net in found:
        assert net.keys() == begun.keys()
        for name in begun:
            np.testing.assert_allclose(net[name], begun[name], atol=1e-6)


def test_an_adversary_begins_with_the_net_of_an_agent(shared: Path, tmp_path: Path) -> None:
    changes = ("adversaries.new=0.2", "adversaries.old=0.2", f'adversary.start={{"old": "{shared}"}}')
    settings = configured(PRESET, *KUHN, *STILL, *changes, "adversary.learning_rate=1e-12")
    run_preset(tmp_path / "run", PRESET, settings)
    nets, _ = load_state(max((tmp_path / "run" / "checkpoints").glob("*/playing.safetensors")))
    begun = make_agent(str(shared), make_game("kuhn")).weights[0]
    for name in begun:
        np.testing.assert_allclose(nets[f"adversary.1.{name}"], begun[name], atol=1e-6)
    assert np.abs(nets["adversary.0.out.w"] - begun["out.w"]).max() > 0.01


def test_opponents_sit_in_every_seat_equally_often() -> None:
    rng = np.random.default_rng(3)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(200):
        for table in tables_of(100, 40, [0.2, 0.05], 3, rng):
            for games, seats in table:
                counts[seats] = counts.get(seats, 0) + games
    assert sum(counts.values()) == 200 * 100
    for party, share in ((1, 0.2), (2, 0.05)):
        for seat in range(3):
            seats = tuple(party if player == seat else 0 for player in range(3))
            assert counts[seats] / 20_000 == pytest.approx(share / 3, abs=0.006)


def test_opponents_of_all_games_have_all_of_few_games() -> None:
    rng, counts = np.random.default_rng(4), np.zeros(3)
    for table in tables_of(20_000, 2, [0.5, 0.5], 2, rng):
        for games, seats in table:
            counts[max(seats)] += games
    assert counts[0] == 0, "none is left for self-play"
    assert counts[1] / 20_000 == pytest.approx(0.5, abs=0.02)  # 5 standard errors
