"""The working tree as one archive for a cluster: what Ray would pack, checked before and after it was read.

Ray walks a folder twice, once for the archive's name and once for its content, so a file that grows in
between leaves a job that waits for an archive nobody sent. Here the tree is listed, packed and listed again.
"""

import logging
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from dancfr.errors import UsageError, reason

LIMIT_BYTES = 100 * 2**20
"""What the job server of Ray accepts in one upload."""

EXCLUDED = (".git", ".venv", "venv", "__pycache__")
"""What Ray leaves out of every folder, besides what .gitignore and .rayignore say."""

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same tree makes the same archive, which is then not sent twice

Listing = Mapping[Path, tuple[int, int]]
"""Files by their path in the tree: size in bytes, and time of the last change in nanoseconds."""


def list_tree(root: Path) -> Listing:
    """The files that Ray would pack: all but `EXCLUDED` and what .gitignore and .rayignore name, at any depth.

    Raises:
        UsageError: no such folder, it cannot be read, or it changes while it is read.
    """
    if not root.is_dir():
        kind = "is a file, not a folder" if root.exists() else "does not exist"
        raise UsageError(f"{root} {kind}: name another --working-dir")
    found: dict[Path, tuple[int, int]] = {}

    def note(path: Path) -> None:
        if path.is_file():
            stat = path.stat()
            found[path.relative_to(root)] = (stat.st_size, stat.st_mtime_ns)

    root = root.absolute()
    try:
        _walk(root, note)
    except FileNotFoundError as error:
        raise _changed(Path(str(error.filename)), root) from None
    except OSError as error:
        raise UsageError(f"cannot read {error.filename or root}: {reason(error)}") from None
    except UnicodeDecodeError:
        raise UsageError(f"a .gitignore or .rayignore in {root} is not UTF-8: rewrite it") from None
    return found


def _walk(root: Path, visit: Callable[[Path], None]) -> None:
    """By Ray's own walk, so that what is counted here is what `ray job submit` would send."""
    from ray._private.runtime_env import packaging

    quiet = logging.getLogger(f"{__name__}.walk")  # Ray reports each ignore file and each error there
    quiet.setLevel(logging.CRITICAL)
    excludes = [packaging._get_excludes(root, list(EXCLUDED))]
    packaging._dir_travel(root, excludes, visit, include_gitignore=True, logger=quiet)


def check_tree(root: Path, listing: Listing) -> None:
    """Whether the tree can be sent.

    Raises:
        UsageError: it is over 100 MiB, which names the largest files; or it holds runs, which change while
            they are trained and would be sent with every job.
    """
    runs = sorted({path.parent for path in listing if path.name == "run.lock"})
    if runs:
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        raise UsageError(
            f"{root / runs[0]}{more} would be sent along: runs belong outside of the tree, or into its .gitignore"
        )
    total = sum(size for size, _ in listing.values())
    if total > LIMIT_BYTES:
        largest = sorted(listing, key=lambda path: -listing[path][0])[:3]
        named = ", ".join(f"{path} ({_mib(listing[path][0])})" for path in largest)
        raise UsageError(
            f"{root} holds {_mib(total)} to send, and a cluster takes {_mib(LIMIT_BYTES)}: "
            f"name what is not needed in .gitignore or .rayignore; the largest are {named}"
        )


def pack(root: Path, listing: Listing, archive: Path) -> None:
    """Writes the listed files to `archive`, a zip that depends on their names, modes and bytes alone.

    Raises:
        UsageError: the tree changed since it was listed, or while it was packed.
    """
    root = root.absolute()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for path in sorted(listing):
            try:
                entry = zipfile.ZipInfo(path.as_posix(), _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (root / path).stat().st_mode << 16
                packed.writestr(entry, (root / path).read_bytes())
            except FileNotFoundError:
                raise _changed(root / path, root) from None
            except OSError as error:
                raise UsageError(f"cannot read {root / path}: {reason(error)}") from None
            except UnicodeEncodeError:
                raise UsageError(
                    f"{str(path)!a} in {root} is not named in UTF-8: rename it, or name its folder in .gitignore"
                ) from None
    after = list_tree(root)
    for path in sorted(listing.keys() | after.keys()):
        if listing.get(path) != after.get(path):
            raise _changed(root / path, root)


def _changed(path: Path, root: Path) -> UsageError:
    shown = os.path.relpath(path, root)
    return UsageError(
        f"{shown} changed while {root} was packed, so the job would not run what you see: stop what writes there, "
        "or name it in .gitignore"
    )


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
