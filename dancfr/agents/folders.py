"""Folders that are complete or not there."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dancfr.errors import RunError, UsageError, reason


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder beside `folder`, which takes its place when the block ends without an error.

    Raises:
        UsageError: `folder` is a file or is not empty, or is the working folder or the root of the file system.
        RunError: it could not be written.
    """
    place = folder.resolve()
    if not place.name:
        raise UsageError(f"{folder} is the root of the file system: name a folder in it, which is made")
    aside = place.with_name(f".{place.name}.partial")
    try:
        if place == Path.cwd():
            raise UsageError(f"{folder} is the folder that you are in: name another, which is made")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is not an empty folder: choose another, or remove it")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        yield aside
        if folder.exists():
            folder.rmdir()
        aside.rename(place)
    except OSError as error:
        raise RunError(f"{folder} could not be written: {reason(error)}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
