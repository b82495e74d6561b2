"""The cluster files are valid for `ray up` of the pinned Ray, and start a Ray that asks for a token."""

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
    assert "chmod 700 ~/.ray && chmod 600 ~/.ray/auth_token" in config["setup_commands"]
    for kind in ("head", "worker"):
        start = start_of(config, kind)
        assert start.index("RAY_AUTH_MODE=token") < start.index("ray start")


def test_the_dashboard_is_reachable_only_from_the_head(config: dict[str, Any]) -> None:
    assert "--dashboard-host=127.0.0.1" in start_of(config, "head")
