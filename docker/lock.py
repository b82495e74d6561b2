"""Writes the requirement files of the image and of `dancfr[all]`, with the SHA-256 of each package's file.

    python docker/lock.py        or: make hashes

Versions are those of constraints.txt. The files are for CPython 3.11 on Linux x86_64, the platform of the image:

    requirements.txt    the dependencies of dancfr and of its build except torch, from PyPI
    torch-cuda.txt      the CUDA build of torch from PyPI, with the NVIDIA packages that it needs
    torch-cpu.txt       the CPU build, from PyTorch's index or from the source that pip is configured to use
    extras.txt          what `dancfr[all]` needs beyond the image, from PyPI: for the bill of materials of a release

Needs Python 3.11 and PyPI. Installs nothing, and downloads metadata only, with a recent pip in a temporary environment.
The CPU build is an exception, since its index may not provide separate metadata. If no index offers the CPU build,
torch-cpu.txt is left unchanged, with a warning.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DOCKER = Path(__file__).resolve().parent
ROOT = DOCKER.parent
PYPI = "https://pypi.org/simple"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PYTHON = (3, 11)

Locked = dict[str, tuple[str, str, str]]
"""Version, SHA-256 and URL of the file by name of the package."""


def main() -> int:
    """Writes the files and returns the exit code."""
    if sys.version_info[:2] != PYTHON or not sys.platform.startswith("linux"):
        print(f"error: this must run with Python {PYTHON[0]}.{PYTHON[1]} on Linux, like the image", file=sys.stderr)
        return 2
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    packages = [*project["project"]["dependencies"], *extras["train"], *extras["report"], *extras["serve"]]
    wanted = [*project["build-system"]["requires"], *packages]
    pins = read_pins(ROOT / "constraints.txt")
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        python = Path(scratch) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"], check=True)
        everything = resolve(python, ["--index-url", PYPI, *wanted], only_pypi=True)
        optional = [text for name in own_extras(extras["all"]) for text in extras[name]]
        with_extras = resolve(python, ["--index-url", PYPI, *wanted, *optional], only_pypi=True)
        cpu_torch = f"torch=={pins['torch']}+cpu"
        try:
            cpu = resolve(python, ["--extra-index-url", CPU_INDEX, "--no-deps", cpu_torch], only_pypi=False)
        except subprocess.CalledProcessError:
            cpu = {}
    companions = {name for name in everything if name == "torch" or normal(name) not in pins}
    rest = {name: entry for name, entry in everything.items() if name not in companions}
    write("requirements.txt", "All that the image needs but torch", rest)
    beyond = {name: entry for name, entry in with_extras.items() if name not in everything}
    write("torch-cuda.txt", "torch for CUDA and what it needs", {name: everything[name] for name in companions})
    write("extras.txt", "What dancfr[all] needs beyond the image", beyond)
    if cpu:
        write("torch-cpu.txt", "torch for CPUs", cpu)
    else:
        print(f"warning: no configured index has {cpu_torch}: docker/torch-cpu.txt is unchanged")
    return 0


def own_extras(requirements: Iterable[str]) -> list[str]:
    """Names of the extras in requirements of the form ``dancfr[a,b]``."""
    return [name for text in requirements for name in text.partition("[")[2].rstrip("]").split(",")]


def resolve(python: Path, arguments: Iterable[str], only_pypi: bool) -> Locked:
    """Resolves requirements with pip, with the versions of constraints.txt.

    Args:
        python: The interpreter whose pip is used.
        arguments: Requirements and options of pip.
        only_pypi: Ignore the indexes and wheel folders of this machine's configuration, so that the hashes are those of
            the public files.

    Raises:
        subprocess.CalledProcessError: pip found no solution and has printed why.
    """
    environment = dict(os.environ)
    if only_pypi:
        for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
            environment.pop(name, None)
        environment["PIP_CONFIG_FILE"] = os.devnull
    command = [python, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--report", "-"]
    constraints = [] if "--no-deps" in (arguments := list(arguments)) else ["-c", ROOT / "constraints.txt"]
    done = subprocess.run([*command, *constraints, *arguments], env=environment, stdout=subprocess.PIPE, check=True)
    report: Mapping[str, Any] = json.loads(done.stdout)
    locked = {}
    for item in report["install"]:
        digest, url = item["download_info"]["archive_info"]["hashes"]["sha256"], item["download_info"]["url"]
        locked[item["metadata"]["name"]] = (item["metadata"]["version"], digest, url)
    return locked


def write(name: str, what: str, locked: Locked) -> None:
    """Writes one requirements file, sorted by name."""
    lines = [f"# {what}: CPython 3.11, Linux x86_64. Written by `make hashes`; see docker/lock.py."]
    for package in sorted(locked, key=normal):
        version, digest, url = locked[package]
        if url.startswith("file:"):
            lines.append("# Of a file of this name that lay in a folder of wheels; not compared with the index.")
        lines += [f"{package}=={version} \\", f"    --hash=sha256:{digest}"]
    (DOCKER / name).write_text("\n".join(lines) + "\n")
    print(f"docker/{name}: {len(locked)} packages")


def read_pins(path: Path) -> dict[str, str]:
    """Versions by normalised name, from a file of ``name==version`` lines."""
    lines = [line.split("==") for line in path.read_text().splitlines() if "==" in line and not line.startswith("#")]
    return {normal(name): version.strip() for name, version in lines}


def normal(name: str) -> str:
    """The normalised name of a package, by which indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
