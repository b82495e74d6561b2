"""`dancfr export`: the exported nets are those by which the agent plays, and wrong use is refused."""

import json
import re
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from dancfr.agents.by_name import make_agent
from dancfr.agents.export import ABOUT, CLOSE, export
from dancfr.agents.export_numbered import random_infostates
from dancfr.errors import RunError, UsageError
from dancfr.games.registry import make_game
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.mixture import PolicyMixture
from learners.policy_gradient.network import policy_net
from learners.storage import save_state
from tests.dancfr.outcomes import Command


def test_nets_of_a_mixture_play_as_the_agent_does(tmp_path: Path) -> None:
    result = export("pretrained:geister", tmp_path / "onnx")
    agent = make_agent("pretrained:geister", make_game("geister", history=True))
    assert isinstance(agent, PolicyMixture)
    about = json.loads((tmp_path / "onnx" / ABOUT).read_text())
    assert {key: result[key] for key in about} == about
    assert [net["probability"] for net in about["nets"]] == pytest.approx(list(agent.probability))
    assert (about["threshold"], about["mixing"], result["infostates"] > 500) == (agent.threshold, "sampled", True)
    trained_on = make_game(about["game"], **about["game_options"])  # as a reader of the file makes it
    packed, legal, players = random_infostates(trained_on, 3)
    given = {
        "x": trained_on.encode(packed, about["encoding"]),
        "slots": trained_on.output_slots(packed, about["outputs"]).astype(np.int64),
        "legal": legal,
    }
    assert given["x"].shape[1:] == tuple(about["shape"])
    for net, policy in zip(about["nets"], agent.agents, strict=True):
        session = onnxruntime.InferenceSession(str(tmp_path / "onnx" / net["file"]))
        expected = policy.evaluate(packed, legal, players)
        for found, wanted in zip(session.run(None, given), expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=CLOSE)
        assert net["player"] is None


def test_each_player_has_nets_of_its_own(tmp_path: Path) -> None:
    settings = [
        "game=kuhn",
        "nets=per_player",
        "iterations=2",
        "samples=none",
        "games=64",
        "chunk=64",
        "network.width=8",
    ]
    settings += ["evaluation.every=2", "evaluation.games=20", "checkpoint_every=2"]
    train(TrainRequest("leduc-policy-gradient", settings, tmp_path / "run", "off", TrainOptions(inline=True)))
    result = export(str(tmp_path / "run"), tmp_path / "onnx")
    assert [(net["player"], net["probability"]) for net in result["nets"]] == [(0, 1.0), (1, 1.0)]
    assert 0 < result["difference"] <= CLOSE
    first, second = (
        onnxruntime.InferenceSession(str(tmp_path / "onnx" / net["file"])).run(
            None,
            {
                "x": np.ones((1, *result["shape"]), np.float32),
                "slots": np.arange(result["actions"]).reshape(1, -1, 1),
                "legal": np.ones((1, result["actions"]), bool),
            },
        )
        for net in result["nets"]
    )
    assert not np.array_equal(first[0], second[0])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rush", "rush plays by no net from infostates to actions"),
        ("pretrained:leduc", "dancfr pack takes runs of any method"),
        ("pretrained:geister?search=8", "a search is not part of an agent's nets: leave out its options"),
        ("pretrained:geister?averag=last", "no option named 'averag'"),
        ("pretrained:geistr", "did you mean pretrained:geister"),
        ("nowhere/run", "nowhere/run holds no run: it does not exist"),
    ],
)
def test_agents_without_nets_to_export_are_refused(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as raised:
        export(name, tmp_path / "onnx")
    assert "\n" not in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_the_command_prints_one_object_or_one_line(command: Command, tmp_path: Path) -> None:
    done = command("export", "pretrained:phantom-ttt", "onnx", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["nets"] == json.loads((tmp_path / "onnx" / ABOUT).read_text())["nets"]
    (tmp_path / "file").write_text("")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.json").write_text('{"name": "half"')
    for arguments, code in (
        (("random", "x"), 2),
        (("half", "x"), 2),
        (("half?average=last", "x"), 2),
        (("file", "x"), 2),
        (("file.safetensors", "x"), 2),
        (("", "x"), 2),
        (("pretrained:phantom-ttt", "file"), 2),
        (("pretrained:phantom-ttt", "file/below"), 1),
        (("pretrained:phantom-ttt@7", "x"), 2),
    ):
        told = command("export", *arguments)
        assert (told.code, told.out, len(told.err.splitlines())) == (code, "", 1), arguments
    assert {path.name for path in tmp_path.iterdir()} == {"onnx", "file", "half"}


def test_seats_have_nets_of_their_own_size(tmp_path: Path) -> None:
    """A response begins with the nets of two agents, and each seat keeps the better one."""
    arrays = {}
    networks = [NetworkSettings(width=width, depth=width // 8, outputs="action") for width in (8, 16)]
    torch.manual_seed(0)
    for seat, network in enumerate(networks):
        net = policy_net(network, make_game("kuhn").spec).inference_weights()
        arrays |= {f"{seat}.{name}": array for name, array in net.items()}
    about = {"kind": "best response", "game": "kuhn", "game_options": {}, "thresholds": [0.5, 0.25]}
    about["networks"] = [network.model_dump(mode="json") for network in networks]
    save_state(tmp_path / "best-response.safetensors", arrays, about)
    result = export(str(tmp_path / "best-response.safetensors"), tmp_path / "onnx")
    assert [(net["player"], net["threshold"]) for net in result["nets"]] == [(0, 0.5), (1, 0.25)]
    assert "threshold" not in result.keys() - {"nets"}
    assert result["encoding"] == "flat"
    assert result["difference"] <= CLOSE


def test_the_game_is_that_of_the_training(tmp_path: Path) -> None:
    """Matches play with the history of ghosts, for agents that look at it; these nets do not."""
    result = export("pretrained:geister-own-view", tmp_path / "onnx")
    game = make_game(result["game"], **result["game_options"])
    assert list(game.spec.shapes[result["encoding"]]) == result["shape"]


def test_the_working_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="is the folder that you are in"):
        export("pretrained:phantom-ttt", Path())
    assert not list(tmp_path.iterdir())


def test_the_root_of_the_file_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is the root of the file system: name a folder in it"):
        export("pretrained:phantom-ttt", Path(tmp_path.anchor))


def test_a_full_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        export("pretrained:phantom-ttt", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_graph_that_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.agents.export.CLOSE", -1.0)
    with pytest.raises(RunError, match="differs from the agent"):
        export("pretrained:phantom-ttt", tmp_path / "onnx")
    assert not list(tmp_path.iterdir())


def test_values_that_are_no_numbers_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those of a graph that overflows."""
    from dancfr.agents import export_numbered

    monkeypatch.setattr(export_numbered, "compare", lambda *given: float("nan"))
    with pytest.raises(RunError, match="differs from the agent by nan"):
        export("pretrained:phantom-ttt", tmp_path / "onnx")
    assert not list(tmp_path.iterdir())
