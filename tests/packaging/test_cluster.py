"""`cluster.yaml` is a file that `ray up` of the pinned Ray takes."""

from pathlib import Path

import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((ROOT / "cluster.yaml").read_text())


def test_cluster_file_is_valid() -> None:
    prepared = prepare_config(CONFIG)
    validate_config(prepared)
    (node_type,) = prepared["available_node_types"].values()
    assert node_type["max_workers"] == len(CONFIG["provider"]["worker_ips"])


def test_dashboard_is_reachable_only_from_the_head() -> None:
    (start,) = [command for command in CONFIG["head_start_ray_commands"] if "--head" in command]
    assert "--dashboard-host=127.0.0.1" in start


def test_nodes_get_the_checkout_without_what_is_built_in_it() -> None:
    assert list(CONFIG["file_mounts"].values()) == ["."]
    assert {"/.venv", "/.git", "/runs"} <= set(CONFIG["rsync_exclude"])
    assert any("make" in command and "setup" in command for command in CONFIG["setup_commands"])
