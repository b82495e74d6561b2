"""Agents of the Hugging Face hub: a stand-in on this machine gets them, and they are fetched, checked and played."""

import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("huggingface_hub")
from huggingface_hub import constants

import dancfr
from dancfr.agents.by_name import game_of, identity, make_agent
from dancfr.agents.cards import read_card
from dancfr.agents.export import export
from dancfr.agents.hub.fetch import fetched
from dancfr.agents.hub.files import LARGEST, PATTERNS, packed_files
from dancfr.agents.hub.push import PushRequest, push
from dancfr.agents.pack import PackRequest, pack
from dancfr.agents.pretrained import FOLDER
from dancfr.agents.solving import solve
from dancfr.agents.tournament import tournament
from dancfr.errors import DancfrError, RunError, UsageError
from dancfr.games.registry import make_game
from tests.dancfr.agents.hub_commands import run_command
from tests.dancfr.agents.hub_server import TOKEN, HubServer, Repository
from tests.dancfr.agents.test_pack_dream import trained
from tests.dancfr.outcomes import Command

NETS = FOLDER / "dark-hex3"
"""A packed agent with nets, which has no README.md."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packed strategy of Kuhn poker."""
    folder = tmp_path_factory.mktemp("packed")
    solve("kuhn", "cfr+", 200, out=folder / "kuhn.safetensors")
    pack(PackRequest(str(folder / "kuhn.safetensors"), folder / "kuhn", against=("random",), games=100))
    return folder / "kuhn"


def content(folder: Path) -> dict[str, bytes]:
    """The files of a packed agent as those of a repository."""
    return {path: (folder / path).read_bytes() for path in packed_files(folder)}


def put(hub: HubServer, files: dict[str, bytes], name: str = "ada/agent") -> str:
    """Puts a repository onto the hub, and returns the name of its agent."""
    hub.repositories[name] = Repository()
    hub.repositories[name].commit(files)
    return f"hf:{name}"


def refusal(name: str) -> str:
    """The one line with which an agent is refused."""
    with pytest.raises(DancfrError) as raised:
        make_agent(name, "dark_hex3")
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_readme_has_front_matter_and_the_card(table: Path) -> None:
    text = (table / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    assert yaml.safe_load(front) == {
        "library_name": "dancfr",
        "license": "apache-2.0",
        "pipeline_tag": "reinforcement-learning",
        "tags": ["reinforcement-learning", "imperfect-information", "kuhn", "cfr+"],
    }
    assert body.startswith("\n# kuhn\n\nCfr+, 200 iterations. Game: `kuhn`.")
    assert "| `random` | 100 | 11 |" in body
    assert "Exploitability: " in body
    assert "    dancfr evaluate hf:OWNER/NAME --game kuhn --against random" in body
    assert "pretrained:" not in body


def test_readme_says_how_to_play_from_the_folder(table: Path, command: Command) -> None:
    """Before it is pushed; the agent is the path of the folder, with nets and with a table alike."""
    (line,) = re.findall(r"^    (dancfr evaluate path/to/kuhn .*)$", (table / "README.md").read_text(), re.MULTILINE)
    words = line.replace("path/to/kuhn", str(table)).replace("1000", "20").split()
    outcome = command(*words[1:], "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["games"] == 20


@pytest.mark.parametrize("lfs", [False, True])
def test_a_pushed_agent_is_fetched_byte_by_byte_and_plays_alike(hub: HubServer, lfs: bool) -> None:
    hub.lfs = lfs
    result = push(PushRequest(NETS, "ada/dark", message="the first"))
    repository = hub.repositories["ada/dark"]
    assert result["agent"] == "hf:ada/dark"
    assert result["commit"] == repository.refs["main"]
    assert result["url"] == f"{hub.url}/ada/dark"
    assert (result["private"], repository.private, repository.messages) == (False, False, ["the first"])
    assert bool(repository.large) == lfs
    assert b"dancfr evaluate hf:ada/dark --game dark_hex3" in repository.files()["README.md"]
    assert not (NETS / "README.md").exists()

    folder = Path(fetched("hf:ada/dark").path)
    assert fetched("hf:ada/dark").commit == folder.name == result["commit"]
    assert sorted(packed_files(folder)) == sorted(result["files"])
    assert {path: data for path, data in content(folder).items() if path != "README.md"} == content(NETS)
    local, remote = (dancfr.play(name, "random", games=40, seed=2) for name in (str(NETS), "hf:ada/dark"))
    assert remote.game == "dark_hex3"
    same = ("wins", "losses", "mean_return")
    assert [local.as_dict()[key] for key in same] == [remote.as_dict()[key] for key in same]
    assert remote.as_dict()["commits"] == {"hf:ada/dark": result["commit"]}
    assert "commits" not in local.as_dict()


def test_a_response_is_pushed_and_plays(hub: HubServer, table: Path, tmp_path: Path) -> None:
    """The nets of both seats lie beside config.json, and not in strategies/."""
    dancfr.best_response(str(table), games=64, starts=("fresh",), eval_games=20, out=tmp_path / "run")
    pack(PackRequest(str(tmp_path / "run"), tmp_path / "packed"))
    push(PushRequest(tmp_path / "packed", "ada/response"))
    folder = str(tmp_path / "packed")
    local, remote = (dancfr.play(name, "random", games=20, seed=2) for name in (folder, "hf:ada/response"))
    assert local.as_dict()["mean_return"] == remote.as_dict()["mean_return"]


@pytest.mark.parametrize("option", ["average=exact", "average=net"])
def test_a_run_of_dream_is_pushed_and_plays_as_the_run(option: str, hub: HubServer, tmp_path: Path) -> None:
    run = f"{trained('dream', tmp_path / 'run')}?{option}"
    pack(PackRequest(run, tmp_path / "packed", against=("random",), games=20))
    result = push(PushRequest(tmp_path / "packed", "ada/dream"))
    assert len([path for path in result["files"] if path.startswith("strategies/")]) == 2
    local, remote = (dancfr.play(name, "random", games=40, seed=2).as_dict() for name in (run, "hf:ada/dream"))
    assert [local[key] for key in ("game", "wins", "mean_return")] == [
        remote[key] for key in ("game", "wins", "mean_return")
    ]
    name = {"average=exact": "average=net", "average=net": "average=exact"}[option]
    with pytest.raises(UsageError, match="has been packed with the nets of"):
        make_agent(f"hf:ada/dream?{name}", "leduc")
    pytest.importorskip("onnx")
    assert export("hf:ada/dream", tmp_path / "onnx")["commits"] == {"hf:ada/dream": result["commit"]}


def test_the_name_has_options_and_a_revision(hub: HubServer, table: Path) -> None:
    first = push(PushRequest(NETS, "ada/agent"))["commit"]
    hub.repositories["ada/agent"].refs["v1"] = first
    second = push(PushRequest(table, "ada/agent"))["commit"]
    assert sorted(hub.repositories["ada/agent"].files()) == sorted(
        [".gitattributes", "README.md", "card.json", "strategy.safetensors"]
    ), "those of the first agent are gone"
    assert fetched("hf:ada/agent").commit == second
    assert game_of(["hf:ada/agent"]) == "kuhn"
    assert {fetched(f"hf:ada/agent@{each}").commit for each in ("v1", first)} == {first}
    assert game_of(["hf:ada/agent@v1?average=last"]) == "dark_hex3"
    rules = make_game("dark_hex3")
    assert make_agent("hf:ada/agent@v1?average=weights&threshold=0.5", rules).threshold == 0.5  # type: ignore[attr-defined]
    assert identity("hf:ada/agent@v1", rules) == identity(f"hf:ada/agent@{first}", rules)
    result = tournament(["hf:ada/agent@v1", "random"], "dark_hex3", 20).as_dict()
    assert result["commits"] == {"hf:ada/agent@v1": first}
    assert "has no revision v9" in refusal("hf:ada/agent@v9")
    assert "'avrage'" in refusal("hf:ada/agent@v1?avrage=last")


def test_commands_take_the_name(hub: HubServer, table: Path, command: Command) -> None:
    name, repository = put(hub, content(table)), hub.repositories["ada/agent"]
    commit = repository.refs["main"]

    def run(*arguments: str) -> dict[str, Any]:
        outcome = command(*arguments, "--json")
        assert outcome.code == 0, outcome.err
        found: dict[str, Any] = json.loads(outcome.out)
        return found

    response = run("exploit", name, "--games", "256", "--eval-games", "40", "--start", "fresh")
    assert response["game"] == "kuhn"
    assert response["commits"] == {name: commit}
    exact = run("evaluate", name, "--games", "20", "--exploitability")
    assert exact["commits"] == {name: commit}
    assert exact["exploitability"] < 0.01
    league = run("league", "league", "--game", "kuhn", "--add", name, "--add", "random", "--games", "100", "--inline")
    assert {each["agent"] for each in league["ratings"]} == {name, "random"}
    solve("kuhn", "cfr+", 50, out="other.safetensors")
    repository.commit(content(table) | {"strategy.safetensors": Path("other.safetensors").read_bytes()})
    fetched.cache_clear()
    told = command("league", "league", "--games", "0").err
    assert f"{name} has a new commit: its 100 games stay in games.jsonl and no longer count" in told
    assert f"unless the former version is added by its commit (--add {name}@COMMIT)" in told


def test_a_packed_agent_of_the_hub_is_packed_again(hub: HubServer, table: Path, tmp_path: Path) -> None:
    push(PushRequest(table, "ada/kuhn"))
    pack(PackRequest("hf:ada/kuhn", tmp_path / "again"))
    card = read_card(tmp_path / "again")
    assert card.training == read_card(table).training
    assert card.packed == "dancfr pack hf:ada/kuhn packed/again"
    assert "Packed again, with new matches, by:" in (tmp_path / "again" / "README.md").read_text()


def test_the_cache_is_used_where_the_hub_is_not_reached(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    name = put(hub, content(NETS))
    place = fetched(name)
    for status in (None, 503):
        if status is None:
            monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        else:
            monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
            hub.status = status
        fetched.cache_clear()
        capfd.readouterr()
        assert fetched(name) == place
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith(f"{name}: commit {place.commit[:12]} of the cache is used, since ")
        assert "is not in the cache of this machine, and " in refusal("hf:ada/other")
        assert "is not in the cache of this machine, and " in refusal(f"{name}@v1")


def test_only_the_files_of_an_agent_are_fetched(hub: HubServer) -> None:
    others = {"model.pkl": b"\x80\x04.", "strategies/p0.pt": b"\x80", "setup.py": b"", "config.yaml": b"a: 1"}
    folder = Path(fetched(put(hub, content(NETS) | others)).path)
    assert hub.fetched() == set(packed_files(NETS))
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == hub.fetched()
    hub.asked.clear()
    assert "has no card.json" in refusal(put(hub, others, "ada/pickle"))
    assert hub.fetched() == set()


def test_damaged_and_foreign_files_are_refused_in_one_line(hub: HubServer, table: Path) -> None:
    good, rows = content(NETS), content(table)
    (nets,) = (path for path in good if path.startswith("strategies/"))
    card, config = json.loads(good["card.json"]), json.loads(good["config.json"])
    wider = config | {"config": config["config"] | {"network": {**config["config"]["network"], "width": 999}}}
    module = {"game": "pettingzoo:antigravity"}
    for number, (files, says) in enumerate(
        [
            (good | {"card.json": b"{"}, "is not JSON"),
            (good | {"card.json": b"[" * 100_000}, "is not JSON"),
            (good | {"card.json": json.dumps(card | {"elo": 1}).encode()}, "elo"),
            (good | {"card.json": json.dumps(card | {"game": "geister"}).encode()}, "its card is of the game geister"),
            (good | {"config.json": b"[]"}, "is not the configuration of a run"),
            (good | {"config.json": json.dumps(wider).encode()}, ""),
            (good | {nets: good[nets][:5000]}, "is damaged"),
            (good | {nets: b"\x80\x04."}, "is damaged"),
            ({path: good[path] for path in good if path != nets}, "it has no nets"),
            ({"card.json": good["card.json"]}, "it has neither config.json nor strategy.safetensors"),
            (rows | {"strategy.safetensors": b"\x80\x04."}, "is damaged"),
            (
                good
                | {"card.json": json.dumps(card | module).encode()}
                | {"config.json": json.dumps(config | {"config": config["config"] | module}).encode()},
                "plays pettingzoo:antigravity, which is not installed here",
            ),
        ]
    ):
        assert says in refusal(put(hub, files, f"ada/wrong-{number}"))
    assert "antigravity" not in sys.modules


def test_large_agents_are_refused_before_they_are_fetched(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 100 * sum(map(len, content(NETS).values())) < LARGEST
    monkeypatch.setattr("dancfr.agents.hub.files.LARGEST", 1000)
    assert "more than the 0 MiB" in refusal(put(hub, content(NETS)))
    assert hub.fetched() == set()
    with pytest.raises(UsageError, match="pack it again with fewer nets"):
        push(PushRequest(NETS, "ada/dark"))


@pytest.mark.parametrize("name", ["hf:", "hf:ada", "hf:ada/b/c", "hf:../b", "hf:ada/b@", "hf:ada/b@../c", "hf:a b/c"])
def test_wrong_names_are_refused_without_a_request(hub: HubServer, name: str) -> None:
    assert "OWNER/NAME" in refusal(name) or "a branch, a tag or a commit" in refusal(name)
    assert not hub.asked


def test_private_repositories(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert push(PushRequest(NETS, "ada/secret", private=True))["private"] is True
    assert hub.repositories["ada/secret"].private
    assert push(PushRequest(NETS, "ada/secret"))["private"] is True
    put(hub, {}, "ada/open")
    with pytest.raises(UsageError, match="ada/open exists and is public"):
        push(PushRequest(NETS, "ada/open", private=True))
    assert hub.repositories["ada/open"].files() == {}
    monkeypatch.delenv("HF_TOKEN")
    assert "if it is private, run `hf auth login`, or set HF_TOKEN" in refusal("hf:ada/secret")


def test_push_refuses_in_one_line(
    hub: HubServer, table: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: str, code: int = 2) -> str:
        outcome = command("push", *arguments)
        assert (outcome.code, outcome.out) == (code, "")
        (line,) = outcome.err.splitlines()
        return line

    (tmp_path / "empty").mkdir()
    assert "empty is not a packed agent: it has no card.json" in refused(str(tmp_path / "empty"), "ada/x")
    assert "none is not a folder" in refused("none", "ada/x")
    assert "write OWNER/NAME" in refused(str(table), "kuhn")
    assert "--message must not be empty" in refused(str(table), "ada/x", "--message", " ")
    monkeypatch.setenv("HF_TOKEN", "hf_reads")
    assert "refuses your token (401: refused): run `hf auth login`" in refused(str(table), "ada/x")
    monkeypatch.delenv("HF_TOKEN")
    before = list(hub.asked)
    assert "there is no token for the Hugging Face hub: run `hf auth login`" in refused(str(table), "ada/x")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert hub.asked == before
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert "http://127.0.0.1:9 cannot be reached (" in refused(str(table), "ada/x", code=1)
    assert not hub.repositories


def test_a_refused_front_matter_is_reported(hub: HubServer, table: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for path, data in content(table).items():
        (copy / path).write_bytes(data)
    text = (copy / "README.md").read_text()
    (copy / "README.md").write_text(text.replace("- kuhn", "- 7"))
    with pytest.raises(RunError, match="tags must be texts"):
        push(PushRequest(copy, "ada/kuhn"))
    (copy / "README.md").write_text(text.replace("# kuhn", "# My kuhn, hf:OWNER/NAME"))
    (copy / "notes.txt").write_text("not for others")
    push(PushRequest(copy, "ada/kuhn"))
    files = hub.repositories["ada/kuhn"].files()
    assert b"# My kuhn, hf:ada/kuhn" in files["README.md"]
    assert "notes.txt" not in files
    assert "notes.txt" not in PATTERNS


def test_commands_in_processes_of_their_own(hub: HubServer, table: Path, tmp_path: Path) -> None:
    run = partial(run_command, hub, tmp_path / "home")
    code, pushed, told = run("push", str(table), "ada/kuhn", "--private")
    assert (code, told) == (0, "")
    assert pushed["agent"] == "hf:ada/kuhn"
    match = ("evaluate", "hf:ada/kuhn", "--against", "random", "--games", "20", "--seed", "1")
    code, online, told = run(*match)
    assert (code, told) == (0, "")
    assert online["game"] == "kuhn"
    assert online["commits"] == {"hf:ada/kuhn": pushed["commit"]}
    hub.stop()
    code, offline, told = run(*match)
    assert code == 0
    assert len(told.splitlines()) == 1
    assert {**offline, "games_per_second": 0, "seconds": 0} == {**online, "games_per_second": 0, "seconds": 0}
    code, _, told = run("evaluate", "hf:ada/other", HF_HUB_OFFLINE="1")
    assert code == 1
    assert told.startswith("dancfr: hf:ada/other is not in the cache of this machine, and HF_HUB_OFFLINE is set")
    assert len(told.splitlines()) == 1
