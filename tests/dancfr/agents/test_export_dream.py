"""`dancfr export` of DREAM and its relatives: who reads agent.json and runs the graphs has the agent's own policy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.agents.export import ABOUT, CLOSE, export
from dancfr.agents.pack import PackRequest, pack
from dancfr.errors import RunError
from dancfr.games.registry import make_game
from dancfr.games.trees import make_tree
from envs.game import numbered
from learners.dream.agent import own_log_reach
from tests.dancfr.agents.test_pack_dream import PLAYS, RELATIVES, trained

LEDUC = numbered(make_game("leduc"))
TREE = make_tree(LEDUC)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of DREAM with three nets a player."""
    return trained("dream", tmp_path_factory.mktemp("runs") / "dream")


def cut(policies: Any, threshold: float) -> Any:
    """Policies without actions below the threshold."""
    kept = np.where(policies >= threshold * policies.max(axis=-1, keepdims=True), policies, 0)
    with np.errstate(invalid="ignore"):
        return kept / kept.sum(axis=-1, keepdims=True)


def described_policy(folder: Path) -> Any:
    """The policy at every infoset of Leduc by ONNX Runtime and agent.json alone, by slot; not finite where no net of
    the player gets to."""
    about = json.loads((folder / ABOUT).read_text())
    game, legal = numbered(make_game(about["game"], **about["game_options"])), TREE.legal()
    table = np.zeros(legal.shape)
    for player in (0, 1):
        own = np.flatnonzero(TREE.player == player)
        nets = [net for net in about["nets"] if net["player"] in (None, player)]
        policies, weights = [], np.array([net["probability"] for net in nets])
        assert weights.sum() == pytest.approx(1)
        for net in nets:
            given = {
                "x": game.encode(TREE.observed[own], net["encoding"]),
                "slots": game.output_slots(TREE.observed[own], net["outputs"]).astype(np.int64),
                "legal": legal[own],
            }
            session = onnxruntime.InferenceSession(str(folder / net["file"]))
            policies.append(session.run(["policy"], given)[0])
        each, threshold = np.stack(policies), nets[0]["threshold"]
        each = cut(each, threshold) if about["mixing"] == "sampled" else each
        reach = np.ones((len(own), len(nets)))
        if about["mixing"] != "paper":
            reach = np.exp(own_log_reach(TREE, own, each))
        with np.errstate(invalid="ignore"):
            mixed = np.einsum("bt,tba->ba", weights * reach, each) / (reach @ weights)[:, None]
        table[own] = mixed if about["mixing"] == "sampled" else cut(mixed, threshold)
    return TREE.to_slots(table)


def compare(name: str, folder: Path) -> None:
    """Checks the description against the agent wherever one of its nets gets to."""
    agent: Any = make_agent(name, LEDUC)
    found, expected = described_policy(folder), agent.tree_policy(TREE)
    reached = np.isfinite(found)
    assert reached.mean() > 0.5
    np.testing.assert_allclose(found[reached], expected[reached], atol=CLOSE)


@pytest.mark.parametrize("option", [*PLAYS, "average=sampled&threshold=0.4", "average=paper&threshold=0.4"])
def test_agents_are_what_is_described(option: str, run: Path, tmp_path: Path) -> None:
    result = export(f"{run}?{option}", tmp_path / "onnx")
    single = option in ("average=last", "average=net")
    assert len(result["nets"]) == (2 if single else 6)
    assert result["difference"] <= CLOSE
    assert result["mixing"] == (
        "sampled" if single else dict([option.split("&")[0].split("=")]).get("average", "exact")
    )
    if not option.startswith("average=sampled&"):  # its policy on a tree is that of the average with the threshold
        compare(f"{run}?{option}", tmp_path / "onnx")


@pytest.mark.parametrize("relative", [name for name in RELATIVES if name != "dream"])
def test_relatives_are_exported_as_dream_is(relative: str, tmp_path: Path) -> None:
    run = trained(relative, tmp_path / "run")
    export(str(run), tmp_path / "onnx")
    compare(str(run), tmp_path / "onnx")


def test_packed_agents_are_exported_with_their_weights(run: Path, tmp_path: Path) -> None:
    pack(PackRequest(str(run), tmp_path / "packed", nets=2))
    result = export(str(tmp_path / "packed"), tmp_path / "onnx")
    assert [net["probability"] for net in result["nets"]] == pytest.approx([0.25, 0.75] * 2), "nets 1 and 3 of 3"
    compare(str(tmp_path / "packed"), tmp_path / "onnx")


def test_a_description_that_differs_is_not_written(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With graphs that are right, and another kind of average than the agent plays."""
    from dancfr.agents import export_numbered

    nets_of = export_numbered.nets_of
    monkeypatch.setattr(export_numbered, "nets_of", lambda *given: (nets_of(*given)[0], "paper"))
    with pytest.raises(RunError, match="differs from the agent"):
        export(str(run), tmp_path / "onnx")
    assert not list(tmp_path.iterdir())
