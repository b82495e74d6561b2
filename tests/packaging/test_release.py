"""`make dist` builds the files of a release from a clean commit, and refuses all others; the workflow runs it."""

import json
import re
import subprocess
import sys
import zipfile
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.packaging import bill
from tests.packaging.bill import Unusable, bill_of_materials
from tests.packaging.dependencies import PROJECT, ROOT, pinned_versions, required_by, stated_by
from tests.packaging.release import UNRELEASED, Wrong, check_wheel, files, released, sections
from tests.packaging.test_repository import repository_files

VERSION = "9.8.7"


def git(tree: Path, *words: str) -> None:
    settings = ["-c", "user.name=Tester", "-c", "user.email=tester@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *settings, *words], cwd=tree, check=True, capture_output=True)


def release(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.packaging.release", *words]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=400)


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This repository as a commit of its own, in which all changes so far are those of version 9.8.7."""
    copy = tmp_path_factory.mktemp("release") / "dancfr"
    for path in repository_files():
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    version = re.compile(r'^version( = "|: )[\w.]+', re.MULTILINE)
    for name in ("pyproject.toml", "CITATION.cff"):
        (copy / name).write_text(version.sub(rf"version\g<1>{VERSION}", (copy / name).read_text()))
    change(copy / "CHANGELOG.md", "## Unreleased\n", f"## Unreleased\n\n## {VERSION} - 2026-12-01\n\n- Released.\n")
    git(copy, "init", "-q")
    git(copy, "add", "-A")
    git(copy, "commit", "-q", "-m", "Release it")
    return copy


@pytest.mark.timeout(600)
def test_files_of_a_release_are_complete_and_checked(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "dist"
    done = release(tree, "--tag", f"v{VERSION}", "--out", str(out))
    assert done.returncode == 0, done.stderr
    wheel, materials = f"dancfr-{VERSION}-py3-none-any.whl", f"dancfr-{VERSION}.cdx.json"
    assert {path.name for path in out.iterdir()} == {wheel, f"dancfr-{VERSION}.tar.gz", materials, "SHA256SUMS"}
    subprocess.run(["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=out, check=True, capture_output=True)
    assert len((out / "SHA256SUMS").read_text().splitlines()) == 3
    assert (tree / "build" / "notes.md").read_text().startswith("- Released.\n")

    described = json.loads((out / materials).read_text())
    assert (described["bomFormat"], described["metadata"]["component"]["version"]) == ("CycloneDX", VERSION)
    versions = {canonicalize_name(each["name"]): each["version"] for each in described["components"]}
    pins = {name: str(version) for name, version in pinned_versions().items()}
    assert versions == {name: pins[name] for name in required_by(stated_by("all")) if name in pins}
    assert {"numpy", "torch", "ray", "wandb"} <= versions.keys()
    assert not {"pytest", "ruff", "mypy", "cyclonedx-bom"} & versions.keys(), "those of developers alone"
    core = {canonicalize_name(each["name"]) for each in described["components"] if each["scope"] == "required"}
    assert core == set(required_by(stated_by()))
    (root,) = (each for each in described["dependencies"] if each["ref"] == "root-component")
    assert {"numpy", "torch"} <= set(root["dependsOn"])
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", described["serialNumber"])
    assert described["metadata"]["timestamp"]
    components = {canonicalize_name(each["name"]): each for each in described["components"]}
    for name, component in components.items():
        assert component["licenses"], name
        files = [each for each in component["externalReferences"] if each.get("hashes")]
        assert [each["url"] for each in files] == [f"https://pypi.org/simple/{name}/"]
    licence = {"acknowledgement": "declared", "name": metadata("ray")["License"]}
    assert components["ray"]["licenses"] == [{"license": licence}]

    with zipfile.ZipFile(out / wheel, "a") as archive:
        archive.writestr("dancfr/left_behind.py", "")
    with pytest.raises(Wrong, match=r"surplus \['dancfr/left_behind.py'\]"):
        check_wheel(out / wheel, tree, VERSION)


def test_checkout_is_told_apart_from_the_release_before_it() -> None:
    version, cited = Version(PROJECT["version"]), yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]
    changed = bool(sections()[UNRELEASED][1])
    assert version.is_devrelease == changed, "0.5.0.dev0 after the release of 0.4.0"
    assert released() == cited
    assert Version(cited) < version if changed else Version(cited) == version


def test_bill_of_materials_depends_on_its_time_alone() -> None:
    first, same, later = (bill_of_materials(seconds) for seconds in (10**9, 10**9, 10**9 + 1))
    assert json.dumps(first) == json.dumps(same)
    assert first["serialNumber"] != later["serialNumber"]


def test_bill_of_materials_names_a_package_without_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bill, "LOCKS", ("requirements.txt", "torch-cuda.txt"))
    with pytest.raises(Unusable, match=r"no hash of absl-py [\d.]+: run make hashes"):
        bill_of_materials(10**9)


def test_wheel_without_one_of_its_files_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "broken.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(files(ROOT, ("actors", "dancfr", "envs", "learners")) - {"envs/py.typed"}):
            archive.writestr(name, "")
        archive.writestr("dancfr-1.dist-info/METADATA", "")
    with pytest.raises(Wrong, match=r"missing \['envs/py.typed'\]"):
        check_wheel(path, ROOT, "1")


def test_commit_that_cannot_be_released_is_refused(tree: Path, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "dist"))

    def refused(why: str, *words: str) -> None:
        done = release(tree, *words, *out)
        assert (done.returncode, done.stdout) == (2, "")
        assert re.fullmatch(rf"error: .*{why}.*\n", done.stderr), done.stderr
        assert not (tmp_path / "dist").exists()

    refused("the tag must be v9.8.7", "--tag", "v9.8.6")
    git(tree, "tag", "v9.9.0")
    refused("this commit is tagged v9.9.0")
    git(tree, "tag", "-d", "v9.9.0")
    log = (tree / "CHANGELOG.md").read_text()
    try:
        change(tree / "CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- Something else.\n")
        refused("not committed")
        git(tree, "commit", "-a", "-q", "-m", "Change something else")
        refused("lists unreleased changes", "--tag", "v9.8.7")
        change(tree / "CHANGELOG.md", f"## {VERSION} - 2026-12-01", f"## {VERSION}")
        git(tree, "commit", "-a", "-q", "-m", "Forget the date")
        refused(f"needs a section `## {VERSION} - YYYY-MM-DD`")
        change(tree / "CITATION.cff", f"version: {VERSION}", "version: 0.0.1")
        git(tree, "commit", "-a", "-q", "-m", "Forget the citation")
        refused("CITATION.cff does not have version")
        change(tree / "pyproject.toml", f'version = "{VERSION}"', f'version = "{VERSION}.dev0"')
        git(tree, "commit", "-a", "-q", "-m", "Work on")
        refused("the version 9.8.7.dev0 of a checkout", "--tag", "v9.8.7")
    finally:
        change(tree / "CITATION.cff", "version: 0.0.1", f"version: {VERSION}")
        (tree / "pyproject.toml").write_text((tree / "pyproject.toml").read_text().replace(".dev0", ""))
        (tree / "CHANGELOG.md").write_text(log)
        git(tree, "commit", "-a", "-q", "-m", "Release it after all")


def test_workflow_of_a_tag_runs_targets_of_the_makefile() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    triggers = workflow[True]  # YAML reads the key `on` so
    assert triggers == {"push": {"tags": ["v*"]}}
    build, draft = workflow["jobs"]["build"], workflow["jobs"]["draft"]
    commands = [step["run"].split() for step in build["steps"] if "run" in step]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {name for name, _ in commands} == {"make"}
    assert [target for _, target in commands][-1] == "dist"
    assert {target for _, target in commands} <= targets
    assert build["env"]["TAG"] == draft["env"]["TAG"] == "${{ github.ref_name }}", "make reads TAG"
    assert workflow["permissions"] == {"contents": "read"}
    assert draft["permissions"] == {"contents": "write"}, "only the job that runs none of our code may write"
    assert not any("checkout" in step.get("uses", "") for step in draft["steps"])
    (command,) = (step["run"] for step in draft["steps"] if "run" in step)
    assert command.startswith("gh release create")
    assert "--draft" in command
