"""The image, compose and Kubernetes files: what can be known of them without an engine that builds or runs them."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.test_repository import PROJECT, pinned_versions, required_closure

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
CLAIM, JOB = yaml.safe_load_all((DOCKER / "rayjob.yaml").read_text())


def load(name: str) -> ModuleType:
    """One of the scripts of docker/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCKER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def locked(name: str) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes by name; every line of the file must be understood."""
    text = (DOCKER / name).read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"([\w.-]+)==([\w.+!-]+)((?:\s+--hash=sha256:[0-9a-f]{64})+)\s*", line)
        assert match, line
        found[canonicalize_name(match[1])] = (match[2], re.findall(r"sha256:([0-9a-f]{64})", match[3]))
    return found


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments) of the Dockerfile, continued lines joined, comments left out."""
    lines = [line for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in joined.splitlines()]


# Hashes


def test_every_locked_version_is_that_of_the_constraints() -> None:
    pins = {name: str(version) for name, version in pinned_versions().items()}
    everything = {**locked("requirements.txt"), **locked("torch-cuda.txt")}
    differing = {name: version for name, (version, _) in everything.items() if pins.get(name, version) != version}
    assert not differing, "run `make hashes` after `make constraints`"
    for build in ("torch-cpu.txt", "torch-cuda.txt"):
        assert locked(build)["torch"][0].partition("+")[0] == pins["torch"]


def test_all_that_the_image_needs_is_locked() -> None:
    """The packages that dancfr needs, from the metadata of what is installed here; torch's own come with its build."""
    needed = needed_by([*PROJECT["dependencies"], "setuptools"])
    for build in ("torch-cpu.txt", "torch-cuda.txt"):
        together = set(locked("requirements.txt")) | set(locked(build))
        assert needed <= together, "run `make hashes`"
    assert set(locked("requirements.txt")) <= set(pinned_versions()), "the image has what developers have"


def needed_by(requirements: list[str]) -> set[str]:
    """Names of all that they need on this platform."""
    from importlib import metadata

    waiting, seen = [Requirement(text) for text in requirements], set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), tuple(sorted(requirement.extras)))
        if key in seen:
            continue
        seen.add(key)
        for text in metadata.requires(requirement.name) or []:
            inner = Requirement(text)
            environments = [{**default_environment(), "extra": extra} for extra in ("", *requirement.extras)]
            if inner.marker is None or any(inner.marker.evaluate(each) for each in environments):
                waiting.append(inner)
    found = {name for name, _ in seen}
    assert found <= required_closure() | {"setuptools"}
    return {name for name in found if not name.startswith(("nvidia-", "cuda-", "triton"))}


def test_the_cuda_build_brings_its_companions() -> None:
    cuda = set(locked("torch-cuda.txt"))
    assert {"torch", "triton"} <= cuda
    assert any(name.startswith("nvidia-cublas") for name in cuda)
    assert not cuda & set(locked("requirements.txt"))


def test_pip_reads_the_files_as_a_complete_set_of_hashes(tmp_path: Path) -> None:
    """A dry run without any index: pip parses all lines under --require-hashes before it looks for the first file."""
    for name in ("requirements.txt", "torch-cpu.txt", "torch-cuda.txt"):
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--isolated", "download", "--no-index", "--no-deps", "--require-hashes",
             "--dest", str(tmp_path), "-r", str(DOCKER / name)],
            env={"PATH": "", "PIP_CONFIG_FILE": "/dev/null"}, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 1
        assert "No matching distribution found" in done.stderr, done.stderr
        assert "hash" not in done.stderr.lower(), done.stderr


def test_the_lock_is_written_as_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = load("lock")
    monkeypatch.setattr(lock, "DOCKER", tmp_path)
    lock.write("a.txt", "Two", {"Zeta_x": ("1.0", "a" * 64, "https://h/z"), "b": ("2+cpu", "b" * 64, "file:///b")})
    text = (tmp_path / "a.txt").read_text()
    assert text.index("b==2+cpu \\\n    --hash=sha256:bbb") < text.index("Zeta_x==1.0 \\\n    --hash=sha256:aaa")
    assert text.count("not compared with the index") == 1
    assert lock.read_pins(ROOT / "constraints.txt") == {n: str(v) for n, v in pinned_versions().items()}


# The Dockerfile


def test_the_dockerfile_copies_only_what_the_context_has() -> None:
    """.dockerignore keeps everything out but what it names."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*"
    let_in = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert all((ROOT / path).exists() for path in let_in)
    copied = set()
    for name, arguments in instructions():
        if name == "COPY":
            *sources, _ = [word for word in arguments.split() if not word.startswith("--")]
            copied |= {source.replace("${TORCH}", build) for source in sources for build in ("cpu", "cuda")}
    assert copied == let_in


def test_pip_installs_nothing_without_its_hash_but_the_program() -> None:
    commands = "\n".join(arguments for name, arguments in instructions() if name == "RUN")
    installs = re.findall(r"pip install[^&|;\n]*", commands)
    assert len(installs) == 3
    for install in installs:
        assert "--no-deps" in install
        assert "--require-hashes" in install or install.split()[-1] == "./build"
    assert "--no-build-isolation" in installs[-1], "the build backend is one of the packages with a hash"


def test_the_image_runs_as_a_user_and_tells_of_its_health() -> None:
    names = [name for name, _ in instructions()]
    arguments = dict(instructions())
    assert arguments["USER"] == "dancfr"
    assert names.index("USER") < names.index("COPY")
    assert names.count("FROM") == names.count("HEALTHCHECK") == names.count("ENTRYPOINT") == 1
    assert "health.py" in arguments["HEALTHCHECK"]
    assert any(name == "ENV" and "RAY_AUTH_MODE=token" in value for name, value in instructions())
    assert names[:2] == ["ARG", "FROM"]


def test_layers_follow_how_often_their_input_changes() -> None:
    text = [f"{name} {arguments}" for name, arguments in instructions()]
    order = [
        next(place for place, line in enumerate(text) if part in line)
        for part in ("apt-get install", "torch-${TORCH}.txt", "-r build/torch.txt", "docker/requirements.txt",
                     "-r build/requirements.txt", "COPY --chown=dancfr pyproject.toml", "install --no-deps --no-build")
    ]  # fmt: skip
    assert order == sorted(order)
    (apt,) = [line for line in text if "apt-get install" in line]
    assert "--no-install-recommends" in apt
    assert "rm -rf /var/lib/apt/lists" in apt


# Health


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["/venv/bin/python", "/venv/bin/ray", "start", "--head", "--block"], ["--head", "--block"]),
        (["ray", "start", "--address=head:6379"], ["--address=head:6379"]),
        (["python", "-m", "dancfr", "train", "x"], None),
        ([], None),
    ],
)
def test_a_node_is_known_by_its_command(command: list[str], options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    health = load("health")

    class Process:
        info = {"cmdline": command}  # noqa: RUF012

    monkeypatch.setattr(health.psutil, "process_iter", lambda attributes: [Process])
    assert health.find_node() == options
    monkeypatch.setattr(health, "answers", lambda url: url == health.NODE)
    assert health.main() == (1 if options and "--head" in options else 0)


# Compose and Kubernetes


def test_compose_publishes_the_dashboard_to_this_host_alone() -> None:
    published = {name: service.get("ports", []) for name, service in COMPOSE["services"].items()}
    assert published == {"head": ["127.0.0.1:8265:8265"], "worker": []}


def test_compose_asks_for_a_token_and_keeps_runs() -> None:
    for service in COMPOSE["services"].values():
        assert service["environment"]["RAY_AUTH_MODE"] == "token"
        assert service["environment"]["RAY_AUTH_TOKEN"].startswith("${RAY_AUTH_TOKEN:?"), "no token, no start"
        assert "shm_size" in service
        assert service["entrypoint"][:2] == ["ray", "start"]
        assert "container_name" not in service, "--scale would fail"
    assert COMPOSE["services"]["head"]["volumes"] == ["runs:/home/dancfr/dancfr-runs"]
    assert "runs" in COMPOSE["volumes"]
    assert "dancfr-runs" in dict(item for item in instructions() if "mkdir" in item[1])["RUN"], "owned by the user"


def test_the_rayjob_is_of_the_pinned_ray_with_a_token_and_limits() -> None:
    cluster = JOB["spec"]["rayClusterSpec"]
    assert (JOB["kind"], cluster["rayVersion"]) == ("RayJob", str(pinned_versions()["ray"]))
    assert cluster["authOptions"] == {"mode": "token", "secretName": "dancfr-ray"}
    for group in cluster["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    by_name = {group["groupName"]: group for group in cluster["workerGroupSpecs"]}
    assert set(by_name) == {"cpu", "gpu"}
    assert by_name["gpu"]["replicas"] == 0
    (gpu,) = by_name["gpu"]["template"]["spec"]["containers"]
    assert gpu["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_the_rayjob_keeps_its_run_on_a_claim() -> None:
    head = JOB["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    (container,) = head["containers"]
    (mount,) = [each["mountPath"] for each in container["volumeMounts"] if each["name"] == "runs"]
    assert f"--run-dir {mount}/" in JOB["spec"]["entrypoint"]
    (volume,) = [each for each in head["volumes"] if each["name"] == "runs"]
    assert volume["persistentVolumeClaim"]["claimName"] == CLAIM["metadata"]["name"]
    assert head["securityContext"]["runAsNonRoot"] is True


def test_the_rayjob_asks_for_no_more_workers_than_its_cpus() -> None:
    (workers,) = re.findall(r"--workers (\d+)", JOB["spec"]["entrypoint"])
    (group,) = [each for each in JOB["spec"]["rayClusterSpec"]["workerGroupSpecs"] if each["groupName"] == "cpu"]
    (container,) = group["template"]["spec"]["containers"]
    assert int(workers) <= group["minReplicas"] * int(container["resources"]["limits"]["cpu"])
