"""The file with the token for Ray: made, mended or refused, so that no other user of the machine reads it."""

import os
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from actors.addresses import RayUnavailable
from actors.credentials import make_token, protect_token, token_file

OTHER = 65534
"""A user who owns nothing."""

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder that every user can enter, as most are."""
    folder = Path(tempfile.mkdtemp(prefix="dancfr-home-"))
    folder.chmod(0o755)
    monkeypatch.setenv("HOME", str(folder))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    before = os.umask(0)
    yield folder
    os.umask(before)
    shutil.rmtree(folder)


def read_as_other(file: Path) -> str:
    """The content of a file as another user of this machine reads it."""
    done = subprocess.run(["cat", str(file)], user=OTHER, group=OTHER, extra_groups=[], capture_output=True, text=True)
    return done.stdout


def modes(file: Path) -> list[int]:
    return [stat.S_IMODE(path.stat().st_mode) for path in (file.parent, file)]


def loose(home: Path) -> Path:
    """A token as Ray makes it with the usual umask."""
    file = home / ".ray" / "auth_token"
    file.parent.mkdir(mode=0o755)
    file.write_text("secret")
    file.chmod(0o644)
    return file


@root_only
def test_new_token_is_for_its_user_alone(home: Path) -> None:
    assert make_token() == {}
    file = token_file()
    assert file == home / ".ray" / "auth_token"
    assert len(file.read_text()) == 64
    assert read_as_other(file) == ""
    assert modes(file) == [0o700, 0o600]
    assert [path.name for path in file.parent.iterdir()] == ["auth_token"]


def test_programs_that_start_at_once_make_one_token(home: Path) -> None:
    threads = [threading.Thread(target=make_token) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    token = token_file().read_text()
    assert len(token) == 64
    assert make_token() == {}
    assert token_file().read_text() == token


@root_only
def test_loose_token_is_mended_with_a_line(home: Path) -> None:
    file = loose(home)
    assert read_as_other(file) == "secret"
    said: list[str] = []
    for _ in range(2):
        protect_token(said.append)
    (line,) = said
    assert f"other users could read your token for Ray in {file}" in line
    assert read_as_other(file) == ""
    assert modes(file) == [0o700, 0o600]
    assert file.read_text() == "secret"


@root_only
@pytest.mark.parametrize("owner", [0, OTHER - 1])
@pytest.mark.parametrize("named", [False, True])
def test_token_that_others_read_for_good_is_refused(
    home: Path, owner: int, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is named on purpose, such as a mounted secret, causes a warning."""
    file, said = loose(home), list[str]()
    os.chown(file, owner, owner)
    if named:
        monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(file))
    os.seteuid(OTHER)
    try:
        with nullcontext() if named else pytest.raises(RayUnavailable, match="its mode or owner cannot be changed"):
            protect_token(said.append)
    finally:
        os.seteuid(0)
    problem = f"warning: other users can read your token for Ray in {file}, and so run programs as you"
    assert said == ([problem] if named else [])


def test_token_of_a_user_without_a_writable_home_stays_in_memory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc/nowhere")
    protect_token(pytest.fail)
    assert len(make_token()["RAY_AUTH_TOKEN"]) == 64


def test_token_in_the_environment_needs_no_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    assert make_token() == {}
    assert not (home / ".ray").exists()
