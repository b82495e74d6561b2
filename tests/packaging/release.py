"""Builds the files of a release from the newest commit, and checks them: `make dist`, or `make dist TAG=v1.2.3`.

Writes into `dist/`, which is emptied first:

    dancfr-VERSION.tar.gz, dancfr-VERSION-py3-none-any.whl    the wheel is built from the unpacked source distribution
    dancfr-VERSION.cdx.json    CycloneDX bill of materials: all that `dancfr[all]` needs, as constraints.txt pins it
    SHA256SUMS                 for `sha256sum -c`

and the section of the changelog into `build/notes.md`. Needs no network. Exit code 2 if the commit cannot be released,
1 if a file that was built is wrong.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from packaging.metadata import Metadata
from packaging.version import Version

from tests.packaging.bill import Unusable, bill_of_materials
from tests.packaging.dependencies import PROJECT, ROOT

PACKAGES = ("actors", "dancfr", "envs", "learners")
UNRELEASED = "Unreleased"


class NotReleasable(Exception):
    """The commit cannot be released as it is; its text has the cause and the remedy."""


class Wrong(Exception):
    """A built file has an error, which the text names."""


def main() -> int:
    """Builds, checks and describes; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag", help="the tag that is released: the version with a v before it")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder of the files, emptied first")
    given = parser.parse_args()
    shutil.rmtree(given.out, ignore_errors=True)  # files of an earlier call are not those of a commit that is refused
    try:
        version = check_commit(given.tag)
        notes = changes(version, tagged=given.tag is not None)
        given.out.mkdir(parents=True)
        with tempfile.TemporaryDirectory() as scratch:
            tree = Path(scratch) / f"dancfr-{version}"
            unpack_commit(tree)
            build(tree, given.out)
            wheel, source = check_names(given.out, version)
            check_wheel(wheel, tree, version)
            check_source(source, tree)
        bill = bill_of_materials(int(commit_time()))
        (given.out / f"dancfr-{version}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
        write_checksums(given.out)
    except (NotReleasable, Unusable) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Wrong as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "notes.md").write_text(notes)
    for path in sorted(given.out.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path.name}")
    if given.tag is None:
        print("a trial: these files may differ from those of the release, which TAG=v... builds")
    return 0


def git(*words: str) -> str:
    """Returns the output of a git command in the checkout."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise NotReleasable(f"git {words[0]}: {done.stderr.strip()}: a release is built from a git checkout")
    return done.stdout


def commit_time() -> str:
    """Returns when the newest commit was made, in seconds since 1970."""
    return git("log", "-1", "--format=%ct").strip()


def check_commit(tag: str | None) -> str:
    """Returns the version, if nothing is uncommitted and all that names a version agrees.

    Raises:
        NotReleasable: otherwise.
    """
    if git("status", "--porcelain"):
        raise NotReleasable("there are changes that are not committed (git status): commit or stash them first")
    version = str(PROJECT["version"])
    if tag is not None and Version(version).is_devrelease:
        raise NotReleasable(f"pyproject.toml has the version {version} of a checkout: set that of the release")
    if tag is not None and tag != f"v{version}":
        raise NotReleasable(f"the tag is {tag}, but pyproject.toml has version {version}: the tag must be v{version}")
    for existing in git("tag", "--points-at", "HEAD", "v*").split():
        if existing != f"v{version}":
            raise NotReleasable(f"this commit is tagged {existing}, but pyproject.toml has version {version}")
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    wanted = released() if Version(version).is_devrelease else version
    if cited is None or cited[1] != wanted:
        raise NotReleasable(f"CITATION.cff does not have version {wanted}")
    return version


def sections() -> dict[str, tuple[str, str]]:
    """Returns the date after the title and the text of each section of the changelog, by title, newest first."""
    found = re.findall(r"^## (\S+)([^\n]*)\n(.*?)(?=^## |\Z)", (ROOT / "CHANGELOG.md").read_text(), re.M | re.S)
    return {title: (date, text.strip()) for title, date, text in found}


def released() -> str:
    """Returns the newest version that the changelog says was released."""
    return next(title for title in sections() if title != UNRELEASED)


def changes(version: str, tagged: bool) -> str:
    """Returns the section of a version in the changelog; of the version of a checkout, the unreleased changes.

    Raises:
        NotReleasable: there is none with a date, or a version is released while changes are listed as unreleased.
    """
    found = sections()
    _, unreleased = found.get(UNRELEASED, ("", ""))
    if Version(version).is_devrelease:
        return unreleased + "\n"
    date, text = found.get(version, ("", ""))
    if not re.fullmatch(r" - \d{4}-\d{2}-\d{2}", date) or not text:
        raise NotReleasable(f"CHANGELOG.md needs a section `## {version} - YYYY-MM-DD` with the changes")
    if tagged and unreleased:
        raise NotReleasable(f"CHANGELOG.md lists unreleased changes: move them to the section of {version}")
    return text + "\n"


def unpack_commit(tree: Path) -> None:
    """Writes the files of the newest commit, so that nothing from the checkout beside them gets in."""
    archive = tree.with_suffix(".tar")
    git("archive", "--format=tar", f"--output={archive}", "HEAD")
    with tarfile.open(archive) as packed:
        packed.extractall(tree, filter="data")


def build(tree: Path, out: Path) -> None:
    """Builds both files with the setuptools of this environment; times in them are that of the commit."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": commit_time()}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Wrong(f"the build failed:\n{done.stdout[-2000:]}")


def check_names(out: Path, version: str) -> tuple[Path, Path]:
    """Returns the wheel and the source distribution, which must be the only files."""
    wheel, source = out / f"dancfr-{version}-py3-none-any.whl", out / f"dancfr-{version}.tar.gz"
    found = sorted(path.name for path in out.iterdir())
    if found != sorted([wheel.name, source.name]):
        raise Wrong(f"the build made {', '.join(found)}, not {wheel.name} and {source.name}")
    return wheel, source


def check_wheel(wheel: Path, tree: Path, version: str) -> None:
    """Checks that a wheel has every file of the packages and no other, and metadata that an index accepts."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"dancfr-{version}.dist-info/METADATA")
    packed = {name for name in names if not name.startswith(f"dancfr-{version}.dist-info/")}
    compare(wheel.name, packed, files(tree, PACKAGES))
    try:
        parsed = Metadata.from_email(metadata, validate=True)
    except ExceptionGroup as errors:
        raise Wrong(f"{wheel.name}: {'; '.join(str(error) for error in errors.exceptions)}") from None
    if str(parsed.version) != version or not parsed.description or parsed.description_content_type != "text/markdown":
        raise Wrong(f"{wheel.name}: the version or the description is missing from its metadata")


def check_source(source: Path, tree: Path) -> None:
    """Checks that a source distribution has the packages and the files of a build, and no tests."""
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = files(tree, PACKAGES) | {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO"}
    compare(source.name, {name for name in names if name in wanted or name.startswith("tests/")}, wanted)


def files(tree: Path, folders: tuple[str, ...]) -> set[str]:
    """Returns the paths of all files in some folders of a tree."""
    return {
        path.relative_to(tree).as_posix()
        for folder in folders
        for path in (tree / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def compare(name: str, found: set[str], wanted: set[str]) -> None:
    """Raises `Wrong` with the first files that are missing or too many."""
    missing, surplus = sorted(wanted - found), sorted(found - wanted)
    if missing or surplus:
        raise Wrong(f"{name}: missing {missing[:5]}, surplus {surplus[:5]}")


def write_checksums(out: Path) -> None:
    """Writes the SHA-256 of every file."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    sys.exit(main())
