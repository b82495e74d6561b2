"""Answers of the Hugging Face hub other than success, and its storage of large files: a stand-in on this machine."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dancfr.agents.hub.fetch import fetched
from dancfr.agents.hub.files import packed_files
from dancfr.agents.hub.push import PushRequest, push
from dancfr.agents.pretrained import FOLDER
from dancfr.errors import DancfrError, RunError, UsageError
from tests.dancfr.agents.hub_commands import run_command
from tests.dancfr.agents.hub_server import HubServer, Refusal
from tests.dancfr.outcomes import Command

pytest.importorskip("huggingface_hub")
NETS = FOLDER / "dark-hex3"
LARGE = FOLDER / "geister"
"""A packed agent whose nets are some 20 chunks of Xet."""
LIMIT = {"RateLimit": '"api";r=0;t=55', "RateLimit-Policy": '"fixed window";"api";q=500;w=300'}
WRITES = "with a token that may write to repositories of this owner"


def refused(status: int, message: str = "", code: str = "", headers: dict[str, str] | None = None) -> Refusal:
    return status, code, message, headers or {}


DISABLED = refused(403, "Access to this resource is disabled.")
GATED = refused(401, "Restricted", "GatedRepo")


@pytest.mark.parametrize(
    ("where", "refusal", "code", "says"),
    [
        ("create$", refused(403, "No rights"), 2, f"(403: No rights): run `hf auth login`, or set HF_TOKEN, {WRITES}"),
        ("commit/", refused(403, "Storage is full"), 2, "refuses your token (403: Storage is full): "),
        ("commit/", refused(401, "Invalid credentials in Authorization header"), 2, "refuses your token (401: "),
        (
            "commit/",
            refused(409, "Conflict"),
            1,
            "ada/dark has changed meanwhile (409: Conflict): run the command again",
        ),
        ("commit/", refused(412, "A commit has happened since"), 1, "ada/dark has changed meanwhile (412: "),
        ("commit/", refused(402, "Payment required"), 1, "refuses the request (402: Payment required)"),
        ("commit/", refused(413, "Payload too large"), 1, "refuses the request (413: Payload too large)"),
        ("commit/", refused(429, "Too many", headers=LIMIT), 1, "does not serve the request now (429: Too many): try"),
        ("commit/", refused(408), 1, "does not serve the request now (408"),
        ("commit/", refused(500), 1, "does not serve the request now (500"),
        ("models/ada/dark$", DISABLED, 1, "has disabled ada/dark: choose another repository"),
    ],
)
def test_push_tells_in_one_line_what_the_hub_answered(
    hub: HubServer, command: Command, where: str, refusal: Refusal, code: int, says: str
) -> None:
    hub.refusals[f"/api/.*{where}"] = refusal
    outcome = command("push", str(NETS), "ada/dark")
    assert (outcome.code, outcome.out) == (code, "")
    (line,) = outcome.err.splitlines()
    assert says in line
    assert "ada/dark" not in hub.repositories or len(hub.repositories["ada/dark"].commits) == 1


@pytest.mark.parametrize(
    ("where", "refusal", "kind", "says"),
    [
        ("revision/", refused(403, "No access"), UsageError, "with a token that may read ada/dark"),
        ("revision/", refused(429, "Too many", headers=LIMIT), RunError, "is not in the cache of this machine, and "),
        ("revision/", GATED, UsageError, "the owner of ada/dark must grant you access"),
        ("resolve/", refused(403, "No access"), UsageError, "refuses your token (403: No access): "),
        ("resolve/", DISABLED, RunError, "has disabled ada/dark"),
        ("resolve/", GATED, UsageError, "the owner of ada/dark must grant you access"),
    ],
)
def test_fetching_tells_in_one_line_what_the_hub_answered(
    hub: HubServer, where: str, refusal: Refusal, kind: type[DancfrError], says: str
) -> None:
    push(PushRequest(NETS, "ada/dark"))
    hub.refusals[f"/{where}"] = refusal
    with pytest.raises(kind) as raised:
        fetched("hf:ada/dark")
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_request_that_is_tried_again_is_told_of_once(hub: HubServer, command: Command) -> None:
    """The client waits as long as the hub says, one second and one more here, five times."""
    hub.refusals["/preupload/"] = refused(429, "Too many", headers=LIMIT | {"RateLimit": '"api";r=0;t=0'})
    outcome = command("push", str(NETS), "ada/dark")
    assert outcome.code == 1
    *told, line = outcome.err.splitlines()
    assert "(429: Too many): try again" in line
    tries = len([line for line in hub.asked if "/preupload/" in line])
    again = ["the hub does not serve a request, or asks to wait: it is tried again, up to five times"]
    assert (told, tries) in ((again, 6), ([], 1)), "old versions of the client try once"


def test_the_cache_is_used_where_the_hub_asks_to_wait(hub: HubServer, capfd: pytest.CaptureFixture[str]) -> None:
    push(PushRequest(NETS, "ada/dark"))
    place = fetched("hf:ada/dark")
    hub.refusals["/revision/"] = refused(429, "Too many", headers=LIMIT)
    fetched.cache_clear()
    assert fetched("hf:ada/dark") == place
    (line,) = capfd.readouterr().err.splitlines()
    assert "of the cache is used, since " in line
    assert "(429: Too many): try again" in line


@pytest.mark.parametrize("lfs", [False, True])
def test_files_that_the_repository_has_are_no_new_commit(hub: HubServer, command: Command, lfs: bool) -> None:
    hub.lfs = lfs
    first, second = (json.loads(command("push", str(NETS), "ada/dark", "--json").out) for _ in range(2))
    assert (first["changed"], second["changed"]) == (True, False)
    assert first["commit"] == second["commit"]
    outcome = command("push", str(NETS), "ada/dark")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith(f"at commit {first['commit'][:12]}, which has these files already\n")
    assert len(hub.repositories["ada/dark"].messages) == 1


def test_a_renamed_repository_is_found_by_its_old_name(hub: HubServer) -> None:
    push(PushRequest(NETS, "ada/dark"))
    hub.renamed["old/name"] = "ada/dark"
    assert fetched("hf:old/name").commit == hub.repositories["ada/dark"].refs["main"]


@pytest.mark.parametrize("agent", [NETS, LARGE], ids=lambda folder: folder.name)
def test_large_files_go_through_xet_and_come_back(hub: HubServer, tmp_path: Path, agent: Path) -> None:
    """By hf_xet itself, in processes of their own, since its cache of sent chunks belongs to a process."""
    pytest.importorskip("hf_xet")
    pytest.importorskip("huggingface_hub.utils._xet", reason="this version does not know Xet")
    hub.lfs = True

    def run(wanted: int, *arguments: str, home: Path) -> tuple[dict[str, Any], str]:
        code, result, told = run_command(hub, home, *arguments)
        assert code == wanted, told
        return result, told

    cache = tmp_path / "fetches"
    pushed, told = run(0, "push", str(agent), "ada/large", home=tmp_path / "sends")
    assert told == ""
    assert hub.xet.files, "the nets went to Xet"
    assert not [line for line in hub.asked if line.startswith("PUT ")], "and not to Git LFS"
    there = hub.repositories["ada/large"].files()
    assert [there[path] for path in packed_files(agent)] == [
        (agent / path).read_bytes() for path in packed_files(agent)
    ]

    match = ("evaluate", "hf:ada/large", "--against", "random", "--games", "4")
    hub.refusals["/(v[12]/reconstructions|xorbs)/"] = refused(403, "expired")
    _, told = run(1, *match, home=cache)
    assert len(told.splitlines()) == 1, told
    hub.refusals.clear()
    shutil.rmtree(cache)
    played, told = run(0, *match, home=cache)
    assert told == ""
    assert played["commits"] == {"hf:ada/large": pushed["commit"]}
    assert [line for line in hub.asked if line.startswith("GET /xorbs/")], "fetched from Xet"
    assert not [line for line in hub.asked if line.startswith("GET /objects/")]
