"""The cluster files are what `ray up` of the pinned Ray takes, and start a Ray that asks for a token."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import ray.autoscaler
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((Path(ray.autoscaler.__file__).parent / "ray-schema.json").read_text())
FILES = {name: yaml.safe_load((ROOT / name).read_text()) for name in ("cluster.yaml", "cluster-local.yaml")}
CLOUD, LOCAL = FILES["cluster.yaml"], FILES["cluster-local.yaml"]


@pytest.fixture(params=sorted(FILES))
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    loaded: dict[str, Any] = FILES[request.param]
    return loaded


def start_of(config: dict[str, Any], kind: str) -> str:
    (start,) = [command for command in config[f"{kind}_start_ray_commands"] if "ray start" in command]
    return str(start)


def test_every_key_is_one_of_rays(config: dict[str, Any]) -> None:
    jsonschema.validate(config, SCHEMA)
    assert set(config) <= set(SCHEMA["properties"])


def test_ray_takes_the_file(config: dict[str, Any]) -> None:
    prepared = prepare_config(config)
    validate_config(prepared)
    assert prepared["cluster_name"] == config["cluster_name"]


def test_a_token_is_asked_for_on_every_node(config: dict[str, Any]) -> None:
    assert config["file_mounts"]["~/.ray/auth_token"] == "~/.ray/auth_token"
    assert "chmod 600 ~/.ray/auth_token" in config["setup_commands"]
    for kind in ("head", "worker"):
        start = start_of(config, kind)
        assert start.index("RAY_AUTH_MODE=token") < start.index("ray start")


def test_the_dashboard_is_reachable_only_from_the_head(config: dict[str, Any]) -> None:
    assert "--dashboard-host=127.0.0.1" in start_of(config, "head")


def test_nodes_start_alike(config: dict[str, Any]) -> None:
    """One thread a process, files enough for many actors, and the environment's `python` first for jobs."""
    for kind in ("head", "worker"):
        start = start_of(config, kind)
        assert "ulimit -n 65536" in start
        assert "OMP_NUM_THREADS=1" in start
        assert "PATH=$HOME/dancfr/.venv/bin:$PATH" in start
    assert "--address=$RAY_HEAD_IP:6379" in start_of(config, "worker")
    assert "--port=6379" in start_of(config, "head")


def test_nodes_get_the_checkout_without_what_is_built_in_it(config: dict[str, Any]) -> None:
    assert config["file_mounts"]["~/dancfr"] == "."
    assert {"/.venv", "/.git", "/runs"} <= set(config["rsync_exclude"])
    assert any("make -C ~/dancfr setup" in command for command in config["setup_commands"])


def test_all_own_machines_join() -> None:
    (node_type,) = prepare_config(LOCAL)["available_node_types"].values()
    assert node_type["min_workers"] == node_type["max_workers"] == len(LOCAL["provider"]["worker_ips"])


def test_what_may_be_taken_away_holds_no_coordinator() -> None:
    """Spot machines are those of the CPU workers; the head, where the driver runs, gives them no CPU."""
    types = CLOUD["available_node_types"]
    spot = {
        name for name, each in types.items() if each["node_config"].get("InstanceMarketOptions", {}).get("MarketType")
    }
    assert spot == {"worker"}
    assert CLOUD["head_node_type"] == "head"
    assert types["head"]["resources"]["CPU"] == 0


def test_workers_leave_the_cores_of_the_learner_alone() -> None:
    assert CLOUD["available_node_types"]["learner"]["resources"] == {"CPU": 0, "GPU": 1}


def test_the_autoscaler_has_limits() -> None:
    types = {name: each for name, each in CLOUD["available_node_types"].items() if name != CLOUD["head_node_type"]}
    for each in types.values():
        assert 0 <= each["min_workers"] <= each["max_workers"]
    assert CLOUD["max_workers"] == sum(each["max_workers"] for each in types.values())
    assert CLOUD["idle_timeout_minutes"] > 0
