"""Tests of policies over candidates: their records, how they start, runs of dancfr 0.2."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.agents.league.fingerprint import fingerprint
from dancfr.agents.pretrained import PREFIX
from dancfr.errors import UsageError
from dancfr.methods.candidate_policy.config import CandidatePolicyConfig
from dancfr.methods.dmc.config import DmcConfig
from dancfr.runs.run import Run
from envs.guandan import GuanDan
from learners.storage import load_state
from tests.dancfr.methods import listed_runs
from tests.dancfr.methods.listed_runs import CRITIC, DMC, POLICY
from tests.dancfr.methods.table_runs import rows, run_preset, stored

VALUES = (*CRITIC, "training.critic=all")
SMALL = (*CRITIC, "resources.learners=1", "network.tower=0", "training.proposals=8", "training.max_age=2")


def tiny(*overrides: str) -> CandidatePolicyConfig:
    config = listed_runs.tiny(POLICY, *SMALL, *overrides)
    assert isinstance(config, CandidatePolicyConfig)
    return config


def test_tributes_are_learnt_with_the_inputs_of_the_presets(tmp_path: Path) -> None:
    config = tiny("iterations=1", "tribute=learnt", "network.encoding=plans")
    assert run_preset(tmp_path / "learnt", POLICY, config)["iterations"] == 1


def test_rows_describe_the_policy(tmp_path: Path) -> None:
    config = tiny("iterations=3", "network.tower=1", "network.tower_width=16")
    result = run_preset(tmp_path / "whole", POLICY, config)
    assert result["samples"] > 3 * 6 * 20
    for row in rows(tmp_path / "whole", "train")[1:]:
        assert 0 < row["learner/entropy"] < np.log(8)
        assert row["learner/clipped"] < 1, "some rows have a gradient"
        assert row["selfplay/advantage_square"] > 0
        assert row["selfplay/age"] == 0, "the newest weights play"


def test_overlapping_fits_train_on_rows_that_are_two_fits_old(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"training\.max_age must be at least 2 with overlap=true: "):
        tiny("overlap=true", "training.max_age=1")
    for overlap, oldest in (("true", 2), ("false", 1)):
        folder = tmp_path / f"overlap={overlap}"
        run_preset(folder, POLICY, tiny("iterations=4", f"overlap={overlap}", f"training.max_age={oldest}"))
        dropped = [row["learner/dropped"] for row in rows(folder, "train")[1:]]
        assert len(dropped) == 3
        assert max(dropped) < 1, "the rows of the last games are trained on"


def test_training_begins_with_the_net_of_another_run(tmp_path: Path) -> None:
    run_preset(tmp_path / "values", DMC, listed_runs.tiny(DMC, "iterations=2", *VALUES))
    still = ("iterations=1", "training.learning_rate=1e-9", f"start={tmp_path / 'values'}")
    same = ("network.tower_width=256",)
    run_preset(tmp_path / "policy", POLICY, tiny(*still, *same, "start_temperature=0.5"))
    run_preset(tmp_path / "more", DMC, listed_runs.tiny(DMC, *VALUES, *still))
    last, _ = load_state(tmp_path / "values" / "strategies" / "p0-000002.safetensors")
    for name, scale in (("policy", 2.0), ("more", 1.0)):
        begun, _ = load_state(tmp_path / name / "strategies" / "p0-000001.safetensors")
        assert begun.keys() == last.keys()
        for key, array in last.items():
            assert np.allclose(begun[key], array * (scale if key.startswith("out.") else 1), atol=1e-6)
    again = f"start={tmp_path / 'policy'}"
    run_preset(tmp_path / "again", POLICY, tiny(*still[:-1], again, *same, "start_temperature=0.5"))
    logits, _ = load_state(tmp_path / "again" / "strategies" / "p0-000001.safetensors")
    assert np.allclose(logits["out.w"], last["out.w"] * 2, atol=1e-6), "a policy has logits already"
    run_preset(tmp_path / "critic", POLICY, tiny(*still, *same, "training.critic_width=8"))
    begun, _ = load_state(tmp_path / "critic" / "strategies" / "p0-000001.safetensors")
    assert np.allclose(begun["state.w"], last["state.w"], atol=1e-6)
    assert begun["critic.0.w"].shape[1] == 8, "a critic of another size is not taken over"
    with pytest.raises(UsageError, match=r"set network.width=16 network.depth=2"):
        run_preset(tmp_path / "misfit", POLICY, tiny(*still, "network.width=8", "network.depth=1"))
    with pytest.raises(UsageError, match="planner has no Q-net"):
        run_preset(tmp_path / "bot", POLICY, tiny("iterations=1", "start=planner"))


GONE: dict[str, Any] = {
    "policy": (
        {"epsilon": 0.05, "teacher": None, "taught": 0},
        {"objective": "policy", "critic": "all", "staleness": 0.65, "staleness_floor": 1.0},
    ),
    "values": (
        {"start_temperature": 0.2},
        {
            "objective": "values",
            "proposals": 16,
            "ratio_clip": 0.2,
            "value_weight": 0.25,
            "entropy": 0.02,
            "entropy_end": None,
            "learning_rate_end": None,
            "schedule": 1000,
        },
    ),
}
"""Settings, and those of ``training``, that runs of dancfr 0.2 had beside today's, by their objective."""


def make_older(path: Path, objective: str, preset: str) -> None:
    """Rewrites the configuration of a run as dancfr 0.2 wrote it."""
    info = json.loads((path / "config.json").read_bytes())
    settings, training = GONE[objective]
    info["config"] |= settings
    info["config"]["training"] |= training
    (path / "config.json").write_text(json.dumps(info | {"method": "dmc", "preset": preset, "version": "0.2.0"}))


@pytest.mark.parametrize(
    ("objective", "former", "preset", "kind"),
    [
        ("policy", "guandan-quick", "guandan-quick", CandidatePolicyConfig),
        ("policy", "guandan-dmc-quick", "guandan-quick", CandidatePolicyConfig),
        ("values", "guandan-dmc-quick", "guandan-dmc-quick", DmcConfig),
        ("values", "guandan-strong", "guandan-dmc-quick", DmcConfig),
    ],
)
def test_run_of_0_2_resumes_to_the_same_bytes_and_plays(
    objective: str, former: str, preset: str, kind: type, tmp_path: Path
) -> None:
    config = listed_runs.tiny(preset, *(SMALL if objective == "policy" else ()), "iterations=2")
    run_preset(tmp_path / "whole", preset, config)
    old = tmp_path / "old"
    run_preset(old, preset, config.model_copy(update={"iterations": 1}))
    make_older(old, objective, former)
    assert make_agent(str(old), GuanDan()).outputs == config.outputs
    read = Run.open(old)
    assert (read.preset, read.config_as(kind)) == (preset, config.model_copy(update={"iterations": 1}))
    run_preset(old, preset, config, resume=True)
    assert stored(old) == stored(tmp_path / "whole")
    assert Run.open(old).info["config"].keys() == config.model_dump().keys()


def test_packed_agent_of_0_2_is_a_policy_that_leagues_know() -> None:
    """Its configuration is as 0.2 wrote it, with the settings of `GONE`."""
    agent: Any = make_agent(f"{PREFIX}guandan", GuanDan())
    assert agent.outputs == "logits"
    assert agent.critic is not None
    folder = Path(__file__).parents[3] / "dancfr" / "agents" / "weights" / "guandan"
    written, run = json.loads((folder / "config.json").read_bytes()), Run.open(folder)
    assert (written["method"], run.method, run.preset) == ("dmc", "candidate-policy", "guandan-strong")
    settings, training = GONE["policy"]
    assert written["config"].keys() == {*run.info["config"], *settings}
    assert written["config"]["training"].keys() == {*run.info["config"]["training"], *training}
    assert fingerprint(f"{PREFIX}guandan", GuanDan()) == "9ad15ed1823c756a", "that of leagues of dancfr 0.2"
