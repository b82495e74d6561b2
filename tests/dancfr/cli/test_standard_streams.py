"""A result goes to standard output alone, whatever happens to the other streams; messages never end a command."""

import fcntl
import json
import os
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.dancfr.cli.test_cli import dancfr, training

FULL = "dancfr: cannot write to standard output: No space left on device\n"


def redirected(streams: str, *command: str) -> "subprocess.CompletedProcess[str]":
    """Runs a command with these redirections of the shell."""
    shell = ["bash", "-c", f'exec "$@" {streams}', "bash", *command]
    return subprocess.run(shell, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize(
    ("streams", "command", "expected"),
    [
        (">&-", ("version", "--json"), (0, "", "")),
        ("<&- >&- 2>&-", ("--help",), (0, "", "")),
        ("2>&-", ("status", "--json", "nothing"), (2, "", "")),
        ("2>/dev/full", ("status", "nothing"), (2, "", "")),
        (">/dev/full", ("version",), (1, "", FULL)),
        (">/dev/full", ("--help",), (1, "", FULL)),
        (">/dev/full 2>/dev/full", ("version", "--json"), (1, "", "")),
    ],
)
def test_command_survives_lost_streams(streams: str, command: tuple[str, ...], expected: tuple[int, str, str]) -> None:
    done = redirected(streams, *dancfr(*command))
    assert (done.returncode, done.stdout, done.stderr) == expected


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_training_survives_lost_messages(streams: str, tmp_path: Path) -> None:
    done = redirected(streams, *dancfr(*training(tmp_path / "run", "--json")))
    assert done.returncode == 0
    assert json.loads(done.stdout)["iterations"] == 2


SCRIPT = """
import ctypes, os, subprocess
from dancfr.cli.output import deliver
from dancfr.standard_streams import guard_streams

guard_streams()
guard_streams()

def compute():
    ctypes.CDLL(None).puts(b"of a C library, which writes it when the process ends")
    os.write(1, b"by number")
    subprocess.run(["echo", "by a child"], check=True)
    return {"run": "\\xfc"}

deliver(compute, %s, lambda result: result["run"])
"""


@pytest.mark.parametrize(("as_json", "expected"), [(True, '{"run": "\\u00fc"}\n'), (False, "\\xfc\n")])
def test_standard_output_holds_nothing_of_libraries_and_children(as_json: bool, expected: str) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", SCRIPT % as_json]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, expected)
    assert all(text in done.stderr for text in ("of a C library", "by number", "by a child"))


def test_result_waits_for_a_reader_that_made_the_pipe_non_blocking() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen(dancfr("presets"), stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    while int.from_bytes(fcntl.ioctl(reading, termios.FIONREAD, bytes(4)), sys.byteorder) < 4096:
        time.sleep(0.05)
    time.sleep(0.3)
    with open(reading) as file:
        text = file.read()
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 0
    assert len(text) > 4096
    assert text.endswith("\n")
