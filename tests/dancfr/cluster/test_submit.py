"""`dancfr submit` refuses wrong requests in one line before anything is sent. With a real cluster: tests/cluster."""

import re
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from dancfr.cli import main
from dancfr.cluster import job_client
from dancfr.cluster.job_client import find_token, reach
from dancfr.cluster.submit import SubmitRequest, continuation, run_folder
from dancfr.cluster.submit import command as command_line
from dancfr.errors import UsageError
from tests.dancfr.outcomes import Command, refused
from tests.proxies import proxied


@pytest.fixture(autouse=True)
def own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


class _Answers(BaseHTTPRequestHandler):
    status, body, token = 200, b"{}", ""

    def do_GET(self) -> None:
        right = self.headers.get("Authorization") == f"Bearer {self.token}"
        status = self.status if not self.token or right else (403 if "Authorization" in self.headers else 401)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(status: int, body: bytes, token: str = "") -> Iterator[str]:
    """URL of a server that gives this answer to requests with the token."""
    handler = type("Answers", (_Answers,), {"status": status, "body": body, "token": token})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


RAY = b'{"version": "4", "ray_version": "2.60.0", "ray_commit": "x"}'


def test_settings_are_checked_before_anything_is_sent(command: Command) -> None:
    nowhere = ("--address", "http://127.0.0.1:9")  # not connected to
    assert "did you mean geister-quick?" in refused(command("submit", "geister-quik", *nowhere))
    assert "iterations" in refused(command("submit", "geister-quick", "iteration=3", *nowhere))
    assert "reservoir" in refused(command("submit", "geister-quick", "reservoir=many", *nowhere))
    assert "--workers must be at least 1" in refused(command("submit", "geister-quick", "--workers", "0", *nowhere))
    assert "--device must be" in refused(command("submit", "geister-quick", "--device", "tpu", *nowhere))
    assert "--resume requires --run-dir" in refused(command("submit", "geister-quick", "--resume", *nowhere))
    assert "add --resume" in refused(command("submit", "geister-quick", "--allow-changes", *nowhere))
    line = refused(command("submit", "geister-quick", "--run-dir", "runs/mine", *nowhere))
    assert "would lie in the job's own folder" in line
    assert "~/dancfr-runs" in line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("tune",),
            "submit takes the name of a preset, which it trains, and tune is a command: send the command itself",
        ),
        (
            ("tune", "geister-quick", "--space", "x.toml"),
            "-- python -m dancfr tune ...`, with folders that start with /",
        ),
        (("train", "geister-quick"), "train is a command: write dancfr submit PRESET"),
        (
            ("geister-quick", "--inline"),
            "a job runs on the Ray of its cluster, which has a dashboard: leave out --inline",
        ),
        (
            ("geister-quick", "tensorboard=true"),
            "tensorboard is a command-line option, not a setting: use --tensorboard",
        ),
        (("geister-quick", "--minutes", "3"), "No such option: --minutes; settings have no dashes: minutes=VALUE"),
    ],
)
def test_submit_names_the_way_for_what_it_does_not_take(
    arguments: tuple[str, ...], told: str, command: Command
) -> None:
    assert told in refused(command("submit", *arguments))


def test_jobs_says_how_it_is_used(command: Command) -> None:
    assert "dancfr jobs stop JOB" in refused(command("jobs", "stop"))
    assert "list, stop or logs" in refused(command("jobs", "end", "x"))


@pytest.mark.parametrize(
    ("named", "folder"),
    [
        ("tiny", "~/dancfr-runs/tiny"),
        ("/data/runs/tiny/", "/data/runs/tiny"),
        ("~/mine", "~/mine"),
    ],
)
def test_a_run_lies_outside_of_the_job(named: str, folder: str) -> None:
    assert run_folder(SubmitRequest("geister-quick", run_dir=named)) == folder


@pytest.mark.parametrize(
    ("overrides", "name"), [(("seed=2",), "geister-quick"), (("game=mini_geister",), "geister-quick-mini_geister")]
)
def test_a_run_without_a_name_gets_one(overrides: tuple[str, ...], name: str) -> None:
    folder = run_folder(SubmitRequest("geister-quick", overrides))
    assert re.fullmatch(rf"~/dancfr-runs/{name}-\d{{8}}-\d{{6}}", folder)


@pytest.mark.parametrize("named", ["a/b", "./a", "..", ".", "a b", "a;b", "$HOME/x"])
def test_other_run_folders_are_refused(named: str) -> None:
    with pytest.raises(UsageError, match="use a name"):
        run_folder(SubmitRequest("geister-quick", run_dir=named))


def test_the_command_reaches_the_program_as_it_was_written(tmp_path: Path) -> None:
    """Through a shell, which expands ~ and nothing else."""
    request = SubmitRequest("geister-quick", ["a=$(touch x)", "b=1 2", "c='q'"], workers=3, wandb="off", resume=True,
                            tensorboard=True)  # fmt: skip
    text = command_line(request, "~/dancfr-runs/it's; here")
    shown = text.replace("exec python -m", "exec printf '%s\\n'", 1)
    done = subprocess.run(["sh", "-c", shown], env={"HOME": "/home/of"}, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "dancfr", "train", "geister-quick", "a=$(touch x)", "b=1 2", "c='q'", "--workers", "3",
        "--wandb", "off", "--tensorboard", "--resume", "--run-dir", "/home/of/dancfr-runs/it's; here",
    ]  # fmt: skip
    assert not list(tmp_path.iterdir())
    assert shlex.split(command_line(request, "/data/a b"))[-1] == "/data/a b"


def test_an_address_where_nothing_answers(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    begin = time.monotonic()
    line = refused(command("jobs", "--address", f"http://127.0.0.1:{port}"))
    assert "(no connection: Connection refused)" in line
    assert "ray dashboard" in line
    assert time.monotonic() - begin < 20


def test_address_of_the_variable_is_reported_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "http://127.0.0.1:9")
    with pytest.raises(UsageError, match=r"nothing answers at .*RAY_API_SERVER_ADDRESS names this address"):
        reach(None)


@pytest.mark.parametrize("address", ["127.0.0.1:8265", "auto", "ray://127.0.0.1:10001", "http://", "http://x:y"])
def test_an_address_of_another_kind(address: str) -> None:
    with pytest.raises(UsageError, match="http://HOST:PORT"):
        reach(address)


@pytest.mark.parametrize(("status", "body"), [(404, b"no"), (200, b"<html>"), (200, b"[]"), (302, b""), (500, b"")])
def test_another_program_at_the_address(status: int, body: bytes) -> None:
    with serving(status, body) as url, pytest.raises(UsageError, match="not a job server of Ray"):
        reach(url)


def test_proxy_is_asked_for_hosts_elsewhere_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with proxied(monkeypatch) as asked:
        with serving(200, RAY) as url:
            assert reach(url).address == url
        assert asked == []
        with pytest.raises(UsageError, match="not a job server of Ray"):
            reach("http://head.invalid:8265")
        assert asked == ["GET http://head.invalid:8265/api/version"]


def test_the_token_is_looked_for_as_ray_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with serving(200, RAY, token="right") as url:
        with pytest.raises(UsageError, match="requires a token, and none was found"):
            reach(url)
        default = tmp_path / "home" / ".ray" / "auth_token"
        default.parent.mkdir(parents=True)
        default.write_text("wrong\n")
        with pytest.raises(UsageError, match=f"rejects the token in {default}"):
            reach(url)
        default.write_text("right\n")
        assert reach(url).headers == {"Authorization": "Bearer right"}
        other = tmp_path / "token"
        monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(other))
        with pytest.raises(UsageError, match=r"RAY_AUTH_TOKEN_PATH names .*token, which holds no token"):
            reach(url)
        other.write_text("right")
        monkeypatch.setenv("RAY_API_SERVER_ADDRESS", url)
        assert reach(None).address == url
        monkeypatch.setenv("RAY_AUTH_TOKEN", "another")
        assert find_token() == ("another", "RAY_AUTH_TOKEN")


def test_a_cluster_without_a_token_causes_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(200, RAY) as url:
        assert reach(url).headers == {}
    warning = capfd.readouterr().err
    assert "accepts jobs from anyone" in warning
    assert "RAY_AUTH_MODE=token" in warning


def test_too_large_a_tree_is_refused_before_the_cluster_is_asked(command: Command, tmp_path: Path) -> None:
    with (tmp_path / "data.bin").open("wb") as file:
        file.truncate(101 * 2**20)
    nowhere = ("--address", "http://127.0.0.1:9")
    line = refused(command("submit", "geister-quick", "--working-dir", str(tmp_path), *nowhere))
    assert "data.bin (101.0 MiB)" in line


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "submit" in shown
    assert "jobs" in shown


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (2, "the last line"),
        (None, "the last line"),
        (-9, "killed by SIGKILL, as by a system that is out of memory; the last line of its log is: the last line"),
        (143, "killed by SIGTERM; the last line of its log is: the last line"),
    ],
)
def test_a_failed_job_says_how_its_command_ended(code: int | None, found: str) -> None:
    assert job_client._end(code, "the last line").endswith(found)


def test_a_run_is_continued_by_submit_with_the_same_options() -> None:
    request = SubmitRequest("leduc-dream", ("iterations=5",), "first", workers=2, wandb="offline", tensorboard=True)
    words = shlex.split(continuation(request, "~/dancfr-runs/first"))
    assert words == [
        *("dancfr", "submit", "leduc-dream", "--run-dir", "~/dancfr-runs/first"),
        *("--workers", "2", "--wandb", "offline", "--tensorboard", "--resume"),
    ]
