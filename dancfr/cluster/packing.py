"""The working tree as one zip archive for a cluster.

Ray can pack a folder itself. It then reads the folder three times: twice for the name of the archive and once for its
content. A file that grows meanwhile leaves a job that waits for an archive which was never sent. Here git lists the
files, and each is read once.
"""

import os
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from dancfr.errors import UsageError, reason

LIMIT_BYTES = 100 * 2**20
"""Largest upload that the job server of Ray accepts."""

EXCLUDED = (".git", ".venv", "venv", "__pycache__")
"""Folders that are not sent, as with Ray, in addition to the entries of .gitignore and .rayignore."""

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same tree makes the same archive, which Ray then does not upload again

Listing = Mapping[Path, int]
"""Size in bytes of each file, by its path in the tree."""


def list_tree(root: Path, within: tuple[Path, ...] = ()) -> Listing:
    """The files to send: all but `EXCLUDED` and the entries of .gitignore (in any folder) and .rayignore (at the root).

    Args:
        root: The folder.
        within: Folders whose listing this one is part of, without links in their paths.

    Raises:
        UsageError: The folder does not exist or cannot be read, or git is not installed, or a link leads back to a
            folder that it is in.
    """
    if not root.is_dir():
        kind = "is a file, not a folder" if root.exists() else "does not exist"
        raise UsageError(f"{root} {kind}: use another --working-dir")
    found: dict[Path, int] = {}
    for path in map(Path, _names(root)):
        file = root / path
        if file.is_dir():  # a repository within the tree, or a link to a folder
            inside, target = (*within, file.parent.resolve()), file.resolve()
            if any(folder.is_relative_to(target) for folder in inside):
                raise UsageError(
                    f"{file} is a link to a folder that contains it, and would be sent without end: remove it, or name "
                    "it in .gitignore or .rayignore"
                )
            found |= {path / below: size for below, size in list_tree(file, inside).items()}
        elif file.is_file():
            found[path] = file.stat().st_size
    return found


def _names(root: Path) -> list[str]:
    """Relative paths of files in a folder that git does not ignore, whether or not the folder is in a repository."""
    rules = [f"--exclude={name}" for name in EXCLUDED]
    if (root / ".rayignore").is_file():
        rules.append(f"--exclude-from={root.absolute() / '.rayignore'}")
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    with tempfile.TemporaryDirectory(prefix="dancfr-git-") as empty:  # a repository in which no file is tracked
        git = ["git", f"--git-dir={empty}", f"--work-tree={root.absolute()}"]
        listing = [*git, "ls-files", "-z", "--others", "--exclude-standard", *rules]
        try:
            subprocess.run([*git, "init", "--quiet"], cwd=root, env=own, check=True, capture_output=True)
            done = subprocess.run(listing, cwd=root, env=own, capture_output=True)
        except FileNotFoundError:
            raise UsageError("git is not installed, and lists the files to send: install it") from None
        except (OSError, subprocess.CalledProcessError) as error:
            raise UsageError(f"git cannot list the files in {root}: {error}") from None
    if done.returncode or done.stderr:
        said = os.fsdecode(done.stderr).strip().splitlines() or ["no reason given"]
        raise UsageError(f"git cannot list the files in {root}: {said[0]}")
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def check_tree(root: Path, listing: Listing) -> None:
    """Checks that the tree can be sent.

    Raises:
        UsageError: The tree is larger than 100 MiB (names the largest files), or contains runs, which change while
            they are trained and would be sent with every job.
    """
    runs = sorted({path.parent for path in listing if path.name == "run.lock"})
    if runs:
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        raise UsageError(
            f"{root / runs[0]}{more} would be sent with the tree: move the run out of it, or name it in .gitignore"
        )
    total = sum(listing.values())
    if total > LIMIT_BYTES:
        largest = sorted(listing, key=lambda path: -listing[path])[:3]
        named = ", ".join(f"{path} ({_mib(listing[path])})" for path in largest)
        raise UsageError(
            f"{root} contains {_mib(total)} to send, and a cluster accepts {_mib(LIMIT_BYTES)}: "
            f"name unneeded files in .gitignore or .rayignore; the largest are {named}"
        )


def pack(root: Path, listing: Listing, archive: Path) -> None:
    """Writes the listed files to a zip archive that depends on their names, modes and bytes alone.

    Raises:
        UsageError: A file cannot be read, or is gone since it was listed.
    """
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for path in sorted(listing):
            try:
                entry = zipfile.ZipInfo(path.as_posix(), _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (root / path).stat().st_mode << 16
                packed.writestr(entry, (root / path).read_bytes())
            except OSError as error:
                raise UsageError(f"cannot read {root / path}: {reason(error)}") from None
            except UnicodeEncodeError:
                raise UsageError(
                    f"the name of {str(path)!a} in {root} is not UTF-8: rename it, or name its folder in .gitignore"
                ) from None


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
