"""Writes the requirement files of the image: every package with the SHA-256 of the file that is installed.

    python docker/lock.py        or: make hashes

Versions are those of constraints.txt. The files are for CPython 3.11 on Linux x86_64, as the image is:

    requirements.txt    all that dancfr and its build need, without torch; from PyPI
    torch-cuda.txt      torch from PyPI, which is the CUDA build, with the NVIDIA packages it needs
    torch-cpu.txt       the CPU build, from PyTorch's own index or from wherever pip is configured to find it

Needs Python 3.11 and PyPI. Nothing is installed and only metadata is fetched (a recent pip, in a folder of
its own, does that), except for the CPU build, whose index may not offer metadata apart. If no index that is
reached has the CPU build, torch-cpu.txt stays as it is, and the command says so.
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
    """Writes the files; the exit code."""
    if sys.version_info[:2] != PYTHON or not sys.platform.startswith("linux"):
        print(f"error: the image has Python {PYTHON[0]}.{PYTHON[1]} on Linux: run this with it", file=sys.stderr)
        return 2
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    pins = read_pins(ROOT / "constraints.txt")
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        python = Path(scratch) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"], check=True)
        everything = resolve(python, ["--index-url", PYPI, *wanted], only_pypi=True)
        cpu_torch = f"torch=={pins['torch']}+cpu"
        try:
            cpu = resolve(python, ["--extra-index-url", CPU_INDEX, "--no-deps", cpu_torch], only_pypi=False)
        except subprocess.CalledProcessError:
            cpu = {}
    companions = {name for name in everything if name == "torch" or normal(name) not in pins}
    rest = {name: entry for name, entry in everything.items() if name not in companions}
    write("requirements.txt", "All that the image needs but torch", rest)
    write("torch-cuda.txt", "torch for CUDA and what it needs", {name: everything[name] for name in companions})
    if cpu:
        write("torch-cpu.txt", "torch for CPUs", cpu)
    else:
        print(f"warning: no index that pip reaches has {cpu_torch}: docker/torch-cpu.txt stays as it is")
    return 0


def resolve(python: Path, arguments: Iterable[str], only_pypi: bool) -> Locked:
    """What pip would install for `arguments`, with the versions of constraints.txt.

    Args:
        python: The interpreter whose pip is asked.
        arguments: Requirements and options.
        only_pypi: Leave out what the machine's configuration adds in indexes and folders of wheels, so that
            the hashes are of the files that everybody gets.

    Raises:
        subprocess.CalledProcessError: pip found no solution; it has printed why.
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
    """One file of requirements, sorted by name."""
    lines = [f"# {what}: CPython 3.11, Linux x86_64. Written by `make hashes`; see docker/lock.py."]
    for package in sorted(locked, key=normal):
        version, digest, url = locked[package]
        if url.startswith("file:"):
            lines.append("# Of a file of this name that lay in a folder of wheels; not compared with the index.")
        lines += [f"{package}=={version} \\", f"    --hash=sha256:{digest}"]
    (DOCKER / name).write_text("\n".join(lines) + "\n")
    print(f"docker/{name}: {len(locked)} packages")


def read_pins(path: Path) -> dict[str, str]:
    """Version by normal name of a file of lines ``name==version``."""
    lines = [line.split("==") for line in path.read_text().splitlines() if "==" in line and not line.startswith("#")]
    return {normal(name): version.strip() for name, version in lines}


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
