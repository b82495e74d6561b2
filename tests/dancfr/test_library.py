"""The names of `import dancfr`: complete, light to import, and as their examples show."""

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dancfr
from dancfr.arguments import read
from dancfr.cli import main
from dancfr.errors import RunError, UsageError
from dancfr.games.registry import GAMES
from envs.kuhn import Kuhn

ROOT = Path(__file__).parents[2]
HEAVY = {"torch", "ray", "wandb", "matplotlib", "numpy"}


def loaded(code: str) -> set[str]:
    """The heavy packages that a program has imported at its end."""
    program = f"{code}\nimport json, sys\nprint(json.dumps([name for name in {sorted(HEAVY)} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


class HalfAnAgent:
    """Has one of the two methods of an agent."""

    def act(self, states: Any, games: Any, rng: Any) -> Any:
        return np.zeros(len(states), np.int64)


def test_library_has_every_name_it_lists() -> None:
    for name in dancfr.__all__:
        assert getattr(dancfr, name) is not None
        assert name in dir(dancfr)
    assert set(dancfr.__all__) == {"__version__", *dancfr._PLACES}
    for name in dancfr._PLACES:
        assert (getattr(dancfr, name).__doc__ or "").strip(), name
    with pytest.raises(AttributeError, match="no attribute 'paly'"):
        dancfr.paly  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("code", "light"),
    [
        ("import dancfr", HEAVY),
        ("import dancfr; dancfr.make_game('kuhn').env().reset(seed=1)", HEAVY - {"numpy"}),
        ("import dancfr; dancfr.solve('kuhn', iterations=2)", HEAVY - {"numpy"}),
        ("import dancfr; dancfr.play('random', game='kuhn', games=2)", HEAVY - {"numpy"}),
    ],
)
def test_library_imports_no_more_than_it_uses(code: str, light: set[str]) -> None:
    assert not loaded(code) & light


OPTIONS = {"geister": {"ply_limit": 7}, "kuhn": {"cards": 5}, "guandan": {"a_attempts": 7}, "cheat": {"players": 3}}


@pytest.mark.parametrize("name", [*GAMES, "openspiel:kuhn_poker"])
def test_game_makes_the_environment_of_its_own_rules(name: str) -> None:
    game = dancfr.make_game(name, **OPTIONS.get(name, {}))
    env = game.env(render_mode=None if name.startswith("openspiel:") else "ansi")
    env.reset(seed=1)
    assert env.unwrapped.game == game or name.startswith("openspiel:")
    assert len(env.possible_agents) == game.spec.num_players
    assert name.startswith("openspiel:") or isinstance(env.render(), str)


def test_environment_of_pettingzoo_comes_back() -> None:
    game = dancfr.make_game("pettingzoo:pettingzoo.classic.tictactoe_v3")
    env = game.env()
    env.reset(seed=1)
    assert env.agents == ["player_1", "player_2"]
    with pytest.raises(ValueError, match="when making the game"):
        game.env(render_mode="ansi")


def test_solve_takes_options_and_settings_by_name_as_the_command_line_takes_text() -> None:
    def quiet(line: str) -> None:
        assert line

    by_name = dancfr.solve("kuhn", iterations=30, options={"cards": 4}, settings={"alternating": False}, report=quiet)
    by_text = dancfr.solve("kuhn", iterations=30, options=["cards=4"], settings=["alternating=false"], report=quiet)
    assert by_name.exploitability == by_text.exploitability
    assert by_name.found["settings"] == by_text.found["settings"] == {"alternating": False}
    with pytest.raises(UsageError, match="did you mean alternating"):
        dancfr.solve("kuhn", settings={"alternatin": False})
    with pytest.raises(UsageError, match="option cards of kuhn expects an integer"):
        dancfr.solve("kuhn", options={"cards": "four"})


@pytest.mark.parametrize("progress", [True, False])
def test_progress_of_solutions_and_tournaments_may_be_off(progress: bool, capsys: pytest.CaptureFixture[str]) -> None:
    solution = dancfr.solve("kuhn", iterations=5, progress=progress)
    assert bool(capsys.readouterr().err) == progress
    dancfr.tournament([solution, "random"], games=4, progress=progress)
    assert bool(capsys.readouterr().err) == progress


def test_rules_of_a_game_that_is_given_are_not_changed() -> None:
    game = dancfr.make_game("kuhn")
    with pytest.raises(UsageError, match="the rules of kuhn are given"):
        dancfr.solve(game, options={"cards": 4})
    with pytest.raises(UsageError, match="the rules of kuhn are given"):
        dancfr.play("random", "random", game, options={"cards": 4})


def test_training_from_python_is_that_of_the_command_line(tmp_path: Path) -> None:
    settings = {"network.width": 16, "game": "kuhn", "traversals": 32, "chunk": 16, "evaluation.games": 10}
    settings |= {f"{part}_training.minibatches": 2 for part in ("advantage", "baseline")}
    run = dancfr.train("leduc-dream-quick", settings, iterations=2, inline=True, wandb="off", run_dir=tmp_path / "run")
    command = ["train", "leduc-dream-quick", *(f"{key}={value}" for key, value in settings.items()), "iterations=2"]
    subprocess.run(
        [sys.executable, "-m", "dancfr", *command, "--inline", "--wandb", "off", "--run-dir", str(tmp_path / "same")],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    for file in sorted((tmp_path / "run" / "strategies").iterdir()):
        assert file.read_bytes() == (tmp_path / "same" / "strategies" / file.name).read_bytes()
    again = dancfr.load_run(tmp_path / "run")
    assert (again.preset, again.method, again.iterations) == ("leduc-dream-quick", "dream", 2)
    assert again.config.game == "kuhn"
    assert again.name(2, average="exact") == f"{tmp_path / 'run'}@2?average=exact"
    iterations, values = again.metric("loss/advantage")
    assert len(iterations) == len(values) > 0
    assert again.play(games=20).result.games == 20
    assert again.agent(average="last").name
    assert "<table>" in again._repr_html_()
    assert run.result["iterations"] == 2
    resumed = dancfr.train(
        "leduc-dream-quick", settings, iterations=3, inline=True, wandb="off", run_dir=run.path, resume=True
    )
    assert resumed.iterations == 3
    with pytest.raises(UsageError, match="did you mean"):
        dancfr.train("leduc-dream-quik")
    with pytest.raises(UsageError, match="holds no run"):
        dancfr.load_run(tmp_path / "nowhere")


RIGHT: dict[str, Any] = {
    "name": "random", "game": "kuhn", "agent": "random", "preset": "leduc-dream-quick", "path": "nowhere",
    "games": 20, "eval_games": 20, "key": "loss", "agents": ["random", "runs/x"],
    "policy": lambda infostates, legal: legal,
}  # fmt: skip
"""A right argument for each parameter without a default, and small numbers for some others."""


def typed_arguments() -> list[tuple[str, str]]:
    """The arguments of the library that have a type."""
    functions = [(name, getattr(dancfr, name)) for name in dancfr.__all__ if name in dancfr._PLACES]
    found = [(name, each) for name, function in functions for each in inspect.signature(function).parameters.values()]
    return [(name, each.name) for name, each in found if each.annotation is not Any]


@pytest.mark.parametrize(("name", "wrong"), typed_arguments())
def test_arguments_of_another_type_are_refused_in_one_line(name: str, wrong: str) -> None:
    function = getattr(dancfr, name)
    signature = inspect.signature(function)
    right = {each.name: RIGHT[each.name] for each in signature.parameters.values() if each.default is each.empty
             and each.kind is not each.VAR_KEYWORD}  # fmt: skip
    for value in (object(), 1j, b"kuhn", {3: 4}, 10**5000, "\0"):
        bound = signature.bind(**right) if name != "make_game" else signature.bind("kuhn")
        bound.arguments[wrong] = value
        with pytest.raises(UsageError) as refused:
            function(*bound.args, **bound.kwargs)
        assert str(refused.value).startswith(f"{name}: {wrong} expects ")
        assert len(str(refused.value).splitlines()) == 1
        assert len(str(refused.value)) < 300


def test_calls_with_an_argument_that_does_not_exist_are_refused() -> None:
    with pytest.raises(UsageError, match="play: got an unexpected keyword argument 'opponent'"):
        dancfr.play("random", opponent="random")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: dancfr.make_game("geister", name="leduc"), "no option of geister named 'name'"),
        (
            lambda: dancfr.play("random", "random"),
            "name the game, such as geister, leduc or guandan: bots play many games; `dancfr games` lists all",
        ),
        (
            lambda: dancfr.exploitability(Nameless()),
            "name the game, such as geister, leduc or guandan: these agents do",
        ),
        (lambda: dancfr.best_response("random"), "name the game, such as geister, leduc or guandan: bots"),
        (lambda: dancfr.make_game("kuhn", cards=True), "option cards of kuhn expects an integer, got True"),
        (lambda: dancfr.make_game("openspiel:"), "requires a name after the colon, such as openspiel:kuhn_poker"),
        (lambda: dancfr.make_game("pettingzoo:"), "requires a name after the colon, such as pettingzoo:pettingzoo.cla"),
        (lambda: dancfr.make_game("kuhn\n"), "no game named 'kuhn\\n'; did you mean kuhn?"),
        (lambda: dancfr.play("random", "random", ""), "no game named ''"),
        (lambda: dancfr.make_agent("no\nrun/here", "kuhn"), "no\\nrun/here holds no run"),
        (lambda: dancfr.make_agent("random", Kuhn), "got <class 'envs.kuhn.game.Kuhn'>: make one, Kuhn(...)"),
        (lambda: dancfr.play(HalfAnAgent(), game="kuhn"), "an agent or a solution or a run, got <tests"),  # type: ignore[arg-type]
        (lambda: dancfr.play(HalfAnAgent(), game="kuhn"), ", which lacks begin"),  # type: ignore[arg-type]
        (lambda: dancfr.exploitability(max, "kuhn"), ": dancfr.policy_agent makes an agent of a"),  # type: ignore[arg-type]
        (lambda: dancfr.tournament([max, "random"], "kuhn"), ": dancfr.policy_agent makes"),  # type: ignore[list-item]
        (lambda: dancfr.solve(object()), ", which lacks spec, reset, to_move, observe, ..."),  # type: ignore[arg-type]
        (lambda: dancfr.train("leduc-dream-quick", {"game": Kuhn()}), "game expects text, got Kuhn(cards=3): a train"),
        (lambda: dancfr.train("leduc-dream-quick", device="quick", inline=True), "torch knows no device 'quick'"),
        (lambda: dancfr.best_response("random", Kuhn()), "register yours"),  # type: ignore[arg-type]
        (lambda: dancfr.best_response("random", "kuhn", float("nan")), "minutes must be more than 0"),
        (lambda: dancfr.solve("kuhn", warm_start="x", warm_weight=float("inf")), "warm_weight must be more than 0"),
        (lambda: dancfr.solve("leduc", most_nodes=99), "has more nodes than the 99 allowed"),
        (lambda: dancfr.solve("leduc", most_nodes=99), " (most_nodes)"),
        (lambda: dancfr.make_game("x" * 9999), "no game named 'xxx"),
        (lambda: dancfr.policy_agent("net.pt", "kuhn"), "policy expects a function or a list of functions, got 'net"),
        (lambda: dancfr.policy_agent(max, "guandan"), "guandan lists its actions, and a policy numbers them"),
        (lambda: dancfr.policy_agent(max, "kuhn", encoding="planes"), "encoding must be one of ['flat'] in kuhn"),
        (lambda: dancfr.policy_agent([max], "kuhn"), "policy: give one policy, or one for each of 2 players, got 1"),
    ],
)
def test_wrong_values_are_refused_in_one_line_with_the_cure(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        call()
    assert told in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("options", [{"games": 2}, {"games": 2, "beside_exact": True}, {"minutes": 0.01}])
def test_best_response_is_silent_without_progress(options: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    more = options | {"game": "kuhn", "eval_games": 20}
    shown = dancfr.best_response("random", **more)
    assert "moving first" in capfd.readouterr().err
    silent = dancfr.best_response("random", **more, progress=False)
    assert capfd.readouterr() == ("", "")
    assert shown.found["starts"] == silent.found["starts"]


@pytest.mark.parametrize(
    ("call", "arguments", "told"),
    [
        (lambda: dancfr.solve("kuhn", seed=-1), ["solve", "kuhn", "--seed", "-1"], "--seed must be at least 0, got -1"),
        (
            lambda: dancfr.train("leduc-dream-quick", resume=True),
            ["train", "leduc-dream-quick", "--resume"],
            "--resume requires --run-dir",
        ),
        (
            lambda: dancfr.best_response("random", "kuhn", exact=True),
            ["exploit", "random", "--game", "kuhn", "--exact"],
            "--exact is for mini-geister, not for kuhn: dancfr evaluate --exploitability is for games with a tree, and "
            "leave out --exact for a trained lower bound",
        ),
    ],
)
def test_errors_name_arguments_from_python_and_options_in_commands(
    call: Callable[[], Any], arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)  # which has no runs that a message could name
    with pytest.raises(SystemExit):
        main(arguments)
    assert capsys.readouterr().err == f"dancfr: {told}\n"
    with pytest.raises(UsageError) as refused:
        call()
    words = {"--seed": "seed", "--resume": "resume=True", "--run-dir": "run_dir", "--exact": "exact=True"}
    for option, argument in words.items():
        told = re.sub(rf"{option}\b", argument, told)
    assert str(refused.value) == told


def test_numbers_of_numpy_and_paths_are_taken(tmp_path: Path) -> None:
    game = dancfr.make_game("kuhn", cards=np.int64(4))
    assert game == Kuhn(cards=4)
    solution = dancfr.solve(game, iterations=np.int32(5), out=tmp_path / "k.safetensors", report=lambda _: None)
    json.dumps(solution.as_dict())
    match = dancfr.play(tmp_path / "k.safetensors", "random", game, games=np.int16(10))
    assert match.result.games == 10
    assert match.options == solution.found["game_options"] == {"cards": 4}
    for rules in (game, Kuhn(cards=4)):  # whoever has made it
        dancfr.solve(rules, iterations=5, out=tmp_path / "k.safetensors", report=lambda _: None)
        found = dancfr.exploitability(tmp_path / "k.safetensors", game)
        assert found.exploitability == solution.exploitability


@pytest.mark.filterwarnings("error")
def test_number_of_single_precision_is_taken_without_a_warning() -> None:
    assert read(np.float32(0.5), float, "minutes") == 0.5
    with pytest.raises(UsageError, match="minutes expects a number"):
        read(1 << 200, float, "minutes")


class Nameless:
    """An agent with the two methods that an agent needs, and no name."""

    def begin(self, game: Any, batch: int, rng: np.random.Generator) -> None:
        self.legal, self.bad = game.legal, False

    def act(self, states: Any, games: Any, rng: np.random.Generator) -> Any:
        return np.argmax(self.legal(states), axis=1) + 7 * self.bad


def test_game_of_a_program_goes_wherever_its_solution_does(tmp_path: Path) -> None:
    game = Kuhn()
    object.__setattr__(game, "spec", replace(game.spec, name="house-rules"))
    file = str(tmp_path / "house.safetensors")
    solution = dancfr.solve(game, "lp", out=file)
    assert repr(solution).startswith("Solution(house-rules by lp: value -0.0555")
    assert dancfr.exploitability(file, game).exploitability == pytest.approx(0, abs=1e-9)
    assert dancfr.make_agent(file, game).name == file
    me = Nameless()
    assert dancfr.play(me, file, game, games=20).agent == "Nameless"
    assert dancfr.play(me, me, game, games=20).result.games == 20, "an agent plays itself"
    with pytest.raises(UsageError, match="no game named 'house-rules'"):
        dancfr.play(file, games=20)


def test_illegal_action_of_a_nameless_agent_is_one_line() -> None:
    me = Nameless()
    me.begin = lambda game, batch, rng: me.__dict__.update(legal=game.legal, bad=True)  # type: ignore[method-assign]
    with pytest.raises(RunError, match="agent Nameless"):
        dancfr.play(me, "random", "kuhn", games=4)
