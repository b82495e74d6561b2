"""Tests of the contract of the command line: exit codes, one JSON object on standard output, errors of one line."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dancfr.cli import main
from dancfr.methods import all_presets, find_preset
from dancfr.runs.config import flatten
from tests.dancfr.outcomes import Command

TINY = (
    "iterations=2", "minutes=none", "traversals=16", "chunk=16", "reservoir=2000", "circular=2000",
    "advantage_training.minibatches=2", "advantage_training.batch=32", "baseline_training.minibatches=2",
    "baseline_training.batch=32", "evaluation.every=2", "evaluation.games=2", "checkpoint_every=1",
)  # fmt: skip
PRESET = "mini-geister-dream"


def training(path: Path, *more: str) -> list[str]:
    return ["train", PRESET, *TINY, "--run-dir", str(path), "--inline", "--wandb", "off", "--device", "cpu", *more]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "trained"
    with pytest.raises(SystemExit) as ended:
        main(training(path))
    assert ended.value.code == 0
    return path


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("trian",), "No such command 'trian'"),
        (("train",), "Missing argument 'PRESET' (see dancfr train --help)"),
        (("train", "--e\nvil\x1b[31m"), "settings have no dashes: e\\nvil\\x1b[31m=VALUE (see dancfr train --help)"),
        (("nope",), "No such command 'nope' (see dancfr --help)"),
        (("report",), "Missing argument 'RUN'"),
        (("train", PRESET, "--nope"), "No such option: --nope"),
        (("train", PRESET, "--workers", "many"), "--workers must be a valid integer (see dancfr train --help)"),
        (("train", "mini-geister-draem"), "no preset named 'mini-geister-draem'; did you mean mini-geister-dream?"),
        (("train", "kuhn"), "kuhn is a game, and a training needs a preset: e.g. dancfr train leduc-dream game=kuhn"),
        (("agents", "pretrained:geister"), "pretrained:geister is an agent, not a game: dancfr agents GAME lists"),
        (("train", "mini-geister"), "mini-geister is a game, and a training needs a preset: presets of it are"),
        (("train", PRESET, "--minutes", "1"), "No such option: --minutes; settings have no dashes: minutes=VALUE"),
        (("train", PRESET, "workers=2"), "workers is a command-line option, not a setting: use --workers 2"),
        (("train", PRESET, "minutes="), "minutes expects a number or none, got ''"),
        (("solve", "leduc", "--algorithm", "cfrplus"), "no algorithm named 'cfrplus'; did you mean cfr+?"),
        (("solve", "leduc", "ranks=4"), "ranks is an option of the game, not of cfr+: write --option ranks=..."),
        (("evaluate", "rush", "--games"), "requires an argument (see dancfr evaluate --help)"),
        (("exploit", "rush", "--minutes", "x"), "--minutes must be a valid number (see dancfr exploit --help)"),
        (("evaluate", "not/there"), "not/there holds no run: it does not exist in "),
        (("evaluate", __file__), "test_cli.py holds no run: it is a file, and a run is a folder"),
        (("train", PRESET, "iteratons=3"), "no key named 'iteratons'; did you mean iterations?"),
        (("train", PRESET, "teacher=x"), "no key named 'teacher', which is one of dmc: dancfr presets NAME lists"),
        (("train", "guandan-quick", "epsilon=1"), "which is one of dmc; did you mean training.epsilon?"),
        (("train", PRESET, "iterations=x"), "iterations expects an integer, got 'x'"),
        (("train", PRESET, "iterations=0"), "iterations must be at least 1, got 0"),
        (("train", PRESET, "iterations"), "'iterations' is not a setting: write key=value"),
        (("train", PRESET, "--device", "gpu"), "--device must be cpu, cuda or auto, got 'gpu'"),
        (("train", PRESET, "--wandb", "maybe"), "--wandb must be online, offline or off, got 'maybe'"),
        (("train", PRESET, "--wandb", "online"), "W&B online needs a key: set WANDB_API_KEY"),
        (("train", PRESET, "--workers", "0"), "--workers must be at least 1, got 0"),
        (("train", PRESET, "--inline", "--workers", "2"), "--inline runs in one process"),
        (("train", PRESET, "--resume"), "--resume requires --run-dir"),
        (("train", PRESET, "--resume", "--run-dir", "nowhere"), "nowhere holds no run"),
        (("evaluate", "random", "--game", "geistr"), "no game named 'geistr'; did you mean geister?"),
        (("evaluate", "randm"), "no agent for geister named 'randm'; did you mean random?"),
        (("evaluate", "random", "--games", "0"), "--games must be at least 1, got 0"),
        (
            ("evaluate", "random", "--game", "kuhn", "--games", "0", "--exploitability", "--seed", "3"),
            "--games 0 plays no match: leave out --against and --seed",
        ),
        (("evaluate", "random", "--seed", "-1"), "--seed must be at least 0, got -1"),
        (("evaluate", "random", "--game", "guandan", "--ply-limit", "9"), "leave out --ply-limit"),
        (("evaluate", "random", "--ply-limit", "0"), "ply_limit must be"),
        (
            ("evaluate", "random", "--option", "ply_limt=9"),
            "no option of geister named 'ply_limt'; did you mean ply_limit?",
        ),
        (("evaluate", "random", "--option", "ply_limit=x"), "option ply_limit of geister expects an integer, got 'x'"),
        (("evaluate", "random", "--option", "9"), "'9' is not an option of geister: write key=value"),
        (("evaluate", "random", "--game", "cheat", "--option", "health=0"), "cheat: health=0 means unlimited health"),
        (
            ("evaluate", "random", "--game", "cheat", "--option", "players=6", "--option", "dealt=9"),
            "cheat: 6 players with 9 cards need more than the 52",
        ),
        (("solve", "cheat"), "cheat has too many deals"),
        (("tournament",), "Missing argument 'AGENT'"),
        (("tournament", "random"), "a tournament needs at least 2 agents"),
        (("tournament", "random", "random"), "random is named twice"),
        (("tournament", "random", "rush", "--games", "0"), "--games must be at least 1, got 0"),
        (("tournament", "random", "rush", "--seed", "-1"), "--seed must be at least 0, got -1"),
        (("tournament", "random", "gready", "--game", "guandan"), "did you mean greedy?"),
        (("report", "nowhere"), "nowhere"),
        (("presets", "geister-quik"), "no preset named 'geister-quik'; did you mean geister-quick?"),
        (("agents", "chess"), "no game named 'chess'"),
        (("bench", "geister-evn"), "no benchmark named 'geister-evn'; did you mean geister-env?"),
        (("reproduce", "--seeds", "1,2"), "give its NAME, or leave them out"),
        (("reproduce", "geister-fig33"), "no experiment named 'geister-fig33'; did you mean geister-fig3?"),
        (("reproduce", "danzero-tabel1"), "no experiment named 'danzero-tabel1'; did you mean danzero-table1?"),
        (("reproduce", "danzero-table1", "minuts=3"), "no key named 'minuts'; did you mean minutes?"),
        (("reproduce", "danzero-table1", "network.encoding=flat"), "network.encoding is what this experiment compares"),
        (("reproduce", "danzero-table1", "game_options.length=game"), "length must be round or match"),
        (("reproduce", "geister-fig3", "--scale", "huge"), "--scale must be quick or paper, got 'huge'"),
        (
            ("reproduce", "geister-fig3", "--seeds", "1,x"),
            "such as 1,2,3, got '1,x'",
        ),
        (
            ("reproduce", "geister-fig3", "--seeds", "1,,2"),
            "such as 1,2,3, got '1,,2'",
        ),
        (
            ("reproduce", "geister-fig3", "--seeds", "1,2,"),
            "such as 1,2,3, got '1,2,'",
        ),
        (
            ("reproduce", "geister-fig3", "--seeds", ""),
            "such as 1,2,3, got ''",
        ),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(command: Command, arguments: tuple[str, ...], expected: str) -> None:
    outcome = command(*arguments)
    assert outcome.code == 2, outcome.err
    assert outcome.out == ""
    (line,) = outcome.err.splitlines()
    assert line.startswith("dancfr: ")
    assert expected in line
    assert os.listdir() == [], "nothing was started"


def test_a_training_prints_one_json_object_and_leaves_a_run(command: Command, tmp_path: Path) -> None:
    outcome = command(*training(tmp_path / "run", "--json"))
    assert outcome.code == 0, outcome.err
    (line,) = outcome.out.splitlines()
    result = json.loads(line)
    assert {"run_dir", "iterations", "seconds", "samples", "metrics"} <= set(result)
    assert (result["run_dir"], result["iterations"]) == (str(tmp_path / "run"), 2)
    assert result["samples"] > 0
    assert result["metrics"]
    assert "iteration 2/2" in outcome.err
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert files == {"config.json", "metrics.jsonl", "checkpoints", "strategies", "run.lock"}


def test_a_finished_run_can_be_made_longer(command: Command, copy: Path) -> None:
    assert "already holds a run: continue it with --resume" in command(*training(copy)).err
    other = command("train", "geister-quick", "--run-dir", str(copy), "--resume", "--inline")
    assert "holds a run of mini-geister-dream (dream), not of geister-quick (dream)" in other.err
    outcome = command(*training(copy, "iterations=3", "--resume"))
    assert outcome.code == 0, outcome.err
    assert "3 iterations" in outcome.out
    rows = [json.loads(line) for line in (copy / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows if row["kind"] == "train"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("width", 16, r"its hidden.0.weight is 128 x 52, that of the network at hand 16 x 52 \(and \d+ more .*\)"),
        ("depth", 2, r"it has a hidden.2.\w+, which the network at hand has not \(and \d+ more .*\)"),
        ("depth", 4, r"it has no hidden.3.\w+ \(and \d+ more .*\)"),
    ],
)
def test_a_network_edited_in_the_configuration_is_named_in_a_sentence(
    command: Command, copy: Path, key: str, value: int, says: str
) -> None:
    info = json.loads((copy / "config.json").read_text())
    info["config"]["network"][key] = value
    (copy / "config.json").write_text(json.dumps(info))
    outcome = command(*training(copy, "iterations=3", "--resume", "--allow-changes"))
    assert outcome.code == 2, outcome.err
    (line,) = (line for line in outcome.err.splitlines() if line.startswith("dancfr: "))
    start = "dancfr: the checkpoint does not match the settings: "
    file = copy / "checkpoints" / "000002" / "learner-advantages.safetensors"
    end = "; leave out the changes, or restore .*"
    assert re.fullmatch(f"{start}{re.escape(str(file))}: the saved state is of another network: {says}{end}", line), (
        line
    )


def test_a_record_that_is_gone_is_said_at_a_resume(command: Command, copy: Path) -> None:
    (copy / "metrics.jsonl").unlink()
    outcome = command(*training(copy, "--resume", "--json"))
    assert outcome.code == 0, outcome.err
    assert f"warning: {copy / 'metrics.jsonl'} lacks the rows of iterations 1 to 2: it was damaged" in outcome.err


def test_a_training_that_cannot_start_leaves_no_folder(command: Command, tmp_path: Path) -> None:
    arguments = [part for part in training(tmp_path / "run") if part != "--inline"]
    outcome = command(*arguments, "--workers", "100000")
    assert outcome.code == 2
    assert "100000 workers" in outcome.err.splitlines()[-1]
    process = [
        sys.executable,
        "-m",
        "dancfr",
        *arguments,
        "--address",
        "127.0.0.1:9",
    ]  # this one may have a Ray already
    ended = subprocess.run(process, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert "nothing answers at 127.0.0.1:9" in ended.stderr.splitlines()[-1]
    outcome = command(*training(tmp_path / "run", "game_options.ply_limt=3"))
    assert outcome.code == 2
    assert "did you mean ply_limit?" in outcome.err.splitlines()[-1]
    assert not (tmp_path / "run").exists()


def test_evaluate_prints_the_keys_that_scripts_rely_on(command: Command, trained: Path) -> None:
    arguments = ("--game", "mini-geister", "--against", "random", "--games", "20", "--seed", "3", "--json")
    outcome = command("evaluate", str(trained), *arguments)
    assert outcome.code == 0, outcome.err
    (line,) = outcome.out.splitlines()
    result = json.loads(line)
    keys = {"games", "wins", "draws", "losses", "win_rate", "ci95", "categories", "seats", "games_per_second"}
    assert keys <= set(result)
    assert result["wins"] + result["draws"] + result["losses"] == result["games"] == 20
    text = command("evaluate", str(trained), *arguments[:-1])
    assert text.code == 0
    assert f"{result['wins']} won" in text.out


def test_evaluate_takes_options_of_the_game(command: Command) -> None:
    arguments = ("evaluate", "greedy", "--game", "guandan", "--games", "4", "--seed", "3", "--json")
    rounds = json.loads(command(*arguments).out)
    assert rounds["game_options"] == {"length": "round", "situation": "drawn"}
    outcome = command(*arguments, "--option", "length=match", "--option", "a_attempts=0")
    assert outcome.code == 0, outcome.err
    matches = json.loads(outcome.out)
    assert matches["game_options"] == {"length": "match", "situation": "first", "a_attempts": 0}
    assert matches["mean_plies"] > rounds["mean_plies"]
    assert list(matches["seats"]) == ["seats 0 and 2", "seats 1 and 3"]
    assert matches["ci95_pairs"][0] <= matches["win_rate"] <= matches["ci95_pairs"][1]
    assert "by deals, each played from both sides: 95 % interval" in command(*arguments[:-1]).out


def test_a_tournament_is_a_table_of_win_rates(command: Command) -> None:
    arguments = ("tournament", "random", "greedy", "planner", "--game", "guandan", "--games", "20", "--seed", "3")
    told = command(*arguments, "--json")
    assert told.code == 0, told.err
    result = json.loads(told.out)
    assert len(result["pairs"]) == 3
    assert {row: sorted(cells) for row, cells in result["table"].items()} == {
        "random": ["greedy", "planner"],
        "greedy": ["planner", "random"],
        "planner": ["greedy", "random"],
    }
    single = json.loads(command("evaluate", *arguments[1:2], "--against", "greedy", *arguments[4:], "--json").out)
    assert result["table"]["random"]["greedy"]["win_rate"] == single["win_rate"]
    lines = command(*arguments).out.splitlines()
    assert lines[0] == "20 games of guandan each"
    assert lines[2].split("  ")[0] == "won, in % [95 % interval]"
    assert [line.split()[0] for line in lines[3:6]] == ["random", "greedy", "planner"]
    assert lines[6] == ""
    assert lines[7].endswith("mean return per game:")
    assert [line.split(":")[0].strip() for line in lines[8:]] == [
        "random against greedy",
        "random against planner",
        "greedy against planner",
    ]


def test_a_report_names_its_files(command: Command, copy: Path) -> None:
    outcome = command("report", str(copy), "--json")
    assert outcome.code == 0, outcome.err
    files = json.loads(outcome.out)["files"]
    assert files
    assert all(Path(file).stat().st_size > 0 for file in files)


@pytest.mark.parametrize("name", ["games", "presets", "agents", "version", "bench", "reproduce"])
def test_lists_are_for_people_and_for_scripts(command: Command, name: str) -> None:
    told = command(name, "--json")
    assert told.code == 0, told.err
    assert isinstance(json.loads(told.out), dict)
    assert len(told.out.splitlines()) == 1
    shown = command(name)
    assert shown.code == 0
    assert len(shown.out.splitlines()) > 1


def test_presets_tell_every_key_that_train_takes(command: Command) -> None:
    listed = {entry["name"]: entry for entry in json.loads(command("presets", "--json").out)["presets"]}
    assert set(listed) == set(all_presets())
    for name, entry in listed.items():
        assert list(entry["config"]) == [key for key, _ in flatten(find_preset(name).config)]
        assert {"iterations", "seed"} <= set(entry["config"])
        assert list(entry["descriptions"]) == list(entry["config"])
    assert listed[PRESET]["config"]["game_options"] == {"ply_limit": 30}
    assert "random" in listed[PRESET]["descriptions"]["seed"]
    lines = command("presets", PRESET).out.splitlines()
    for key, meaning in (
        ("game=mini-geister", "Name of the game"),
        ("game_options.ply_limit=30", "Options of the game"),
    ):
        assert lines[lines.index(key) + 1].startswith(f"    {meaning}")
    assert "evaluation.opponents=random,heuristic,rush" in lines
    assert max(map(len, lines)) <= 100


def test_options_of_a_game_are_told_with_their_meanings_and_the_page_of_its_rules(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = Path(__file__).parents[3]
    page = root / "envs" / "leduc" / "README.md"
    monkeypatch.chdir(root)
    lines = command("games", "leduc").out.splitlines()
    assert lines[lines.index("raises=2") + 1] == "    Maximum number of raises in a round, including the opening bet."
    assert lines[-1] == f"rules, infostates, actions and options: {page.relative_to(root)}"
    monkeypatch.chdir(tmp_path)
    assert command("games", "leduc").out.endswith(f" {page}\n")
    assert command("games", "phantom_ttt").out.startswith(
        "Phantom tic-tac-toe: after a failed try the player tries again; no options\n"
    )
    pettingzoo = command("games", "pettingzoo:classic/rps-v2").out
    assert "max_return=1.0\n    Largest absolute return, after scaling.\n" in pettingzoo
    assert pettingzoo.endswith("\n\nmore: docs/reference/environments.md\n")


def test_agents_without_a_game_are_those_of_a_game_that_is_named(command: Command) -> None:
    assert command("agents").out.endswith("\n\nthese are for geister; for another game: dancfr agents GAME\n")
    assert "dancfr agents GAME" not in command("agents", "kuhn").out


def test_bots_are_told_apart(command: Command) -> None:
    bots = {entry["name"]: entry for entry in json.loads(command("agents", "--json").out)["agents"]}
    assert {entry["kind"] for entry in bots.values()} == {"bot", "pretrained"}
    assert bots["random"]["description"] == "plays a uniformly random legal action of any game"
    assert bots["heuristic"]["description"].startswith("runs a blue ghost for an exit, keeps")
    assert "the strongest bot" in bots["rush"]["description"]


def dancfr(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dancfr", *arguments]


def test_a_reader_that_leaves_early_is_no_failure_to_shout_about() -> None:
    process = subprocess.Popen(dancfr("version"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(30) == 1


def test_a_preset_says_what_another_game_takes_from_it(tmp_path: Path, command: Command) -> None:
    done = command(*training(tmp_path / "run", "game=kuhn"))
    assert done.code == 0, done.err
    assert "game=kuhn: options, curriculum and opponents of mini-geister are left out; for exact NashConv" in done.err
    assert "are left out" not in command(*training(tmp_path / "other")).err


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        (
            ("game=kuhn",),
            ", and so is evaluation.exploitability, which may take long in another game; "
            "evaluation.exploitability=true asks for it",
        ),
        (("game=kuhn", "evaluation.exploitability=true"), ""),
        (("game=kuhn", "evaluation.exploitability=false"), ""),
        (
            ("game=geister",),
            ", and so is evaluation.exploitability, since geister has no tree: its rules draw chance events without "
            "listing them, see docs/explanation/trees-and-cfr.md",
        ),
    ],
)
def test_a_preset_with_exact_evaluations_says_first_whether_another_game_has_them(
    settings: tuple[str, ...], note: str, tmp_path: Path, command: Command
) -> None:
    arguments = (*settings, "samples=100", "--inline", "--wandb", "off", "--run-dir", str(tmp_path / "run"))
    done = command("train", "leduc-policy-gradient", *arguments)
    assert done.code == 0, done.err
    told = f"{settings[0]}: options, curriculum and opponents of leduc are left out{note}"
    assert done.err.splitlines()[0] == told
