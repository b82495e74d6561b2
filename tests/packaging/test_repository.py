"""Properties of the repository as a whole: layers, pinned versions, documents that name existing files."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.utils import canonicalize_name

from tests.packaging.dependencies import DIRECT, PROJECT, ROOT, pinned_versions, required_by

GUIDES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "envs").glob("*/README.md"))
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "SECURITY.md", *GUIDES, *PAGES]


def repository_files() -> list[Path]:
    """Files of the repository that git tracks or would add; without git all but hidden and built files."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(git, cwd=ROOT, capture_output=True) if (ROOT / ".git").exists() else None
    if listing is not None and listing.returncode == 0:
        paths = [ROOT / os.fsdecode(name) for name in listing.stdout.split(b"\0") if name]
    else:
        built = re.compile(r"(^|/)(\.[^/]+|build|dist|runs|wandb|__pycache__|[^/]+\.egg-info)/")
        paths = [path for path in ROOT.rglob("*") if not built.search(path.relative_to(ROOT).as_posix())]
    return [path for path in paths if path.is_file()]


def test_imports_only_go_down() -> None:
    script = Path(sys.executable).parent / "lint-imports"
    result = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


def test_constraints_pin_every_direct_dependency_within_its_bounds() -> None:
    pins = pinned_versions()
    for requirement in DIRECT:
        version = pins.get(canonicalize_name(requirement.name))
        assert version is not None, f"no pin for {requirement.name}: run `make constraints`"
        assert version in requirement.specifier, f"{requirement.name} is pinned outside pyproject's bounds"


def test_constraints_pin_all_that_the_dependencies_need() -> None:
    unpinned = set(required_by(DIRECT)) - set(pinned_versions()) - {"dancfr"}
    # A CUDA build of torch brings its own exactly pinned companions, which a CPU build does not have.
    assert not {name for name in unpinned if not name.startswith(("nvidia-", "cuda-", "triton"))}


def test_torch_is_pinned_without_a_build() -> None:
    """`2.13.0+cpu` could be installed only from an index of CPU builds; `2.13.0` takes any build."""
    version = pinned_versions()["torch"]
    assert version.local is None
    (requirement,) = [requirement for requirement in DIRECT if requirement.name == "torch"]
    assert str(requirement.specifier) == ">=2.6"


def test_no_file_names_a_place_of_one_machine() -> None:
    machine_path = re.compile(rb"(?<![\w.$})-])/(?:work|root|tmp/w)/")
    found = [
        f"{path.relative_to(ROOT)}: {match.group().decode()}"
        for path in repository_files()
        for match in machine_path.finditer(path.read_bytes())
    ]
    assert not found


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_name_only_targets_that_exist(document: str) -> None:
    text = (ROOT / document).read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"(?:^|`|\$ |&& |\w=\S+ )make ([a-z][a-z-]*)", text, flags=re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_link_only_to_files_that_exist(document: str) -> None:
    text = (ROOT / document).read_text()
    links = re.findall(r"\]\((?!https?://|mailto:|#)([^)#\s]+)", text)
    missing = [link for link in links if not (ROOT / document).parent.joinpath(link).exists()]
    assert not missing


def test_ci_runs_the_test_command_of_the_readme() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert "make test" in (ROOT / "README.md").read_text()
    assert re.search(r"^within_limit \d+ make .*\btest\b", script.read_text(), flags=re.MULTILINE)


def test_make_runs_from_elsewhere_and_lists_its_targets(tmp_path: Path) -> None:
    result = subprocess.run(["make", "-C", str(ROOT)], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert result.returncode == 0
    for target in ("setup", "demo", "test", "lint", "bench", "clean"):
        assert f"make {target} " in result.stdout


def test_the_package_is_found_from_the_folder_above_the_checkout(tmp_path: Path) -> None:
    """Where a checkout named dancfr has no `__init__.py`, but comes first on the path."""
    (tmp_path / "dancfr").symlink_to(ROOT)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = "import dancfr.agents.by_name as found; print(found.__file__)"
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip().endswith("dancfr/agents/by_name.py")


def test_the_workflow_runs_targets_of_the_makefile_on_every_python_that_is_stated() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    commands = [step["run"].split() for job in jobs.values() for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {name for name, _ in commands} == {"make"}
    assert {"setup", "lint", "test", "test-rest"} <= {target for _, target in commands} <= targets
    stated = [line.split()[-1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert jobs["check"]["strategy"]["matrix"]["python"] == stated
    assert PROJECT["requires-python"] == f">={stated[0]},<3.{int(stated[-1].removeprefix('3.')) + 1}"


@pytest.mark.parametrize("version", ["3.10.13", "3.14.0"])
def test_setup_refuses_versions_of_python_that_are_not_stated(version: str, tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    fake = tmp_path / "python"
    fake.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec echo "Python {version}"\n'
        f'exec "{sys.executable}" -c "import sys; sys.version_info = ({version.replace(".", ", ")}); $2"\n'
    )
    fake.chmod(0o755)
    command = ["make", "--no-print-directory", "setup", "PYTHON=./python"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    told = f"error: dancfr needs Python 3.11, 3.12 or 3.13, but './python' is Python {version}: name another, e.g. "
    assert done.stderr.splitlines()[0].startswith(told)
    assert not (tmp_path / ".venv").exists()


def test_the_citation_is_of_the_newest_release() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert (citation["version"], citation["license"]) == (newest[1], PROJECT["license"])
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()


def test_the_forms_for_issues_ask_for_what_a_report_needs() -> None:
    for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        assert {"name", "description", "body"} <= form.keys(), path.name
        assert any(part.get("validations", {}).get("required") for part in form["body"]), path.name
