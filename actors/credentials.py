"""The user's token for Ray: whoever can read it can run programs as this user on each Ray that requires it."""

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from actors.addresses import RayUnavailable


def token_file() -> Path:
    """The file in which Ray looks for the token, unless RAY_AUTH_TOKEN contains it.

    Raises:
        RuntimeError: The user has no home folder.
    """
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    return Path(named) if named else Path.home() / ".ray" / "auth_token"


def make_token() -> dict[str, str]:
    """Makes a token if there is none yet, in a file that this user alone can read. Ray itself would obey the umask.

    Returns:
        Environment variables for the start of Ray: the token itself, if the home folder cannot be written to.
    """
    if os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH"):
        return {}
    token = secrets.token_hex(32)
    try:
        file = token_file()
        if file.is_file():
            return {}
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = file.with_name(f"auth_token-{secrets.token_hex(4)}")
        descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, token.encode())
            with suppress(FileExistsError):  # another program has made one meanwhile
                os.link(written, file)  # others see it complete or not at all
        finally:
            os.close(descriptor)
            written.unlink()
    except (OSError, RuntimeError):
        return {"RAY_AUTH_TOKEN": token}
    return {}


def protect_token(say: Callable[[str], None]) -> None:
    """Makes sure that this user alone can read the file with the token, and says so if others could.

    Raises:
        RayUnavailable: Others can read the file in the home folder, and this user cannot change that. A file that
            RAY_AUTH_TOKEN_PATH names, such as a mounted secret, only causes a warning.
    """
    if os.environ.get("RAY_AUTH_TOKEN"):
        return
    named = bool(os.environ.get("RAY_AUTH_TOKEN_PATH"))
    try:
        file = token_file()
        wanted = {file: 0o600} if named else {file.parent: 0o700, file: 0o600}
        loose = {path: mode for path, mode in wanted.items() if stat.S_IMODE(path.stat().st_mode) & 0o077}
        owner = file.stat().st_uid
    except (OSError, RuntimeError):
        return  # there is no file
    try:
        for path, mode in loose.items():
            path.chmod(mode)
        if os.geteuid() != 0 and owner not in (0, os.geteuid()):
            raise PermissionError
    except OSError:
        problem = f"other users can read your token for Ray in {file}, and so run programs as you"
        if not named:
            raise RayUnavailable(
                f"{problem}; its mode or owner cannot be changed: remove it, or name another in RAY_AUTH_TOKEN_PATH"
            ) from None
        say(f"warning: {problem}")
        return
    if file in loose:
        say(
            f"other users could read your token for Ray in {file}, and cannot any more; if this machine has other "
            "users, end your Rays and remove the file, so that a new token is made"
        )
