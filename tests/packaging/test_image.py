"""The files of the image pin the dependencies of this checkout; its Ray asks for a token."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests.packaging.dependencies import DIRECT, EXTRAS, PROJECT, locked_files, pinned_versions, required_by

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"


def test_every_locked_version_is_that_of_the_constraints() -> None:
    pins = {name: str(version) for name, version in pinned_versions().items()}
    everything = {**locked_files("requirements.txt"), **locked_files("torch-cuda.txt"), **locked_files("extras.txt")}
    differing = {name: version for name, (version, _) in everything.items() if pins.get(name, version) != version}
    assert not differing, "run `make hashes` after `make constraints`"
    for build in ("torch-cpu.txt", "torch-cuda.txt"):
        assert locked_files(build)["torch"][0].partition("+")[0] == pins["torch"]


def test_all_that_the_image_needs_is_locked() -> None:
    """The packages that dancfr needs, from the metadata installed here; torch's own come with its build."""
    needed = needed_by([*PROJECT["dependencies"], *EXTRAS["train"], *EXTRAS["report"], *EXTRAS["serve"], "setuptools"])
    for build in ("torch-cpu.txt", "torch-cuda.txt"):
        together = set(locked_files("requirements.txt")) | set(locked_files(build))
        assert needed <= together, "run `make hashes`"
    assert set(locked_files("requirements.txt")) <= set(pinned_versions()), "the image has what developers have"


def needed_by(requirements: list[str]) -> set[str]:
    """Names of all that they need on this platform."""
    found = set(required_by(map(Requirement, requirements)))
    assert found <= set(required_by(DIRECT)) | {"setuptools"}
    return {name for name in found if not name.startswith(("nvidia-", "cuda-", "triton"))}


def test_pip_reads_the_files_as_a_complete_set_of_hashes(tmp_path: Path) -> None:
    """A dry run without any index: pip parses all lines under --require-hashes before it looks for the first file."""
    for name in ("requirements.txt", "torch-cpu.txt", "torch-cuda.txt", "extras.txt"):
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--isolated", "download", "--no-index", "--no-deps", "--require-hashes",
             "--dest", str(tmp_path), "-r", str(DOCKER / name)],
            env={"PATH": "", "PIP_CONFIG_FILE": "/dev/null"}, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 1
        assert "No matching distribution found" in done.stderr, done.stderr
        assert "hash" not in done.stderr.lower(), done.stderr


def test_kubernetes_runs_the_pinned_ray_with_no_more_workers_than_its_cpus() -> None:
    _, job = yaml.safe_load_all((DOCKER / "rayjob.yaml").read_text())
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["rayVersion"] == str(pinned_versions()["ray"])
    (workers,) = re.findall(r"--workers (\d+)", job["spec"]["entrypoint"])
    (group,) = [each for each in cluster["workerGroupSpecs"] if each["groupName"] == "cpu"]
    (container,) = group["template"]["spec"]["containers"]
    assert int(workers) <= group["minReplicas"] * int(container["resources"]["limits"]["cpu"])


@pytest.mark.parametrize("name", ["compose.yaml", "rayjob.yaml"])
def test_ray_of_the_image_asks_for_a_token(name: str) -> None:
    assert re.search(r"RAY_AUTH_MODE: token|mode: token", (DOCKER / name).read_text())
