"""Search at play time by an agent's name, in matches, at a server and within the clock."""

import asyncio
import json
import time
from pathlib import Path

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.agents.searching import hurried
from dancfr.errors import UsageError
from dancfr.evaluation.arena import play
from dancfr.games.registry import make_game
from dancfr.methods import find_preset
from dancfr.methods.policy_gradient.agent import pack_nets
from dancfr.methods.policy_gradient.config import PolicyGradientConfig
from dancfr.runs.run import Run
from dancfr.serve.geister import Client
from dancfr.serve.geister.commands import warm_up
from dancfr.serve.geister.connect import GeisterResult, play_at
from dancfr.serve.geister.hosted_game import GameRules
from envs.geister import Geister
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.network import policy_net
from learners.search.agent import SearchAgent
from tests.dancfr.outcomes import Command
from tests.dancfr.serve.geister.games import RULES, bot
from tests.dancfr.serve.geister.sockets import serving

NETWORK = NetworkSettings(trunk="flat", width=16, depth=1, norm="layer", outputs="move")


@pytest.fixture(scope="module")
def gradient_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy-gradient run on Geister with a fresh small net."""
    path = tmp_path_factory.mktemp("runs") / "gradient"
    base = find_preset("geister-policy-gradient-quick").config.model_copy(
        update={"network": NETWORK, "game_options": {}}
    )
    config = PolicyGradientConfig.model_validate(base.model_dump())
    nets = (policy_net(NETWORK, make_game(config.game, **config.game_options).spec).inference_weights(),)
    with Run.create(path, "geister-policy-gradient-quick", "policy-gradient", config) as run:
        run.save_strategy(0, 1, pack_nets(nets, nets, [(1, nets)]), {"version": 1})
    return path


def test_a_name_with_search_is_the_agent_with_its_options(gradient_run: Path) -> None:
    game = Geister(ply_limit=300)
    agent = make_agent(f"{gradient_run}?search=64&candidates=3&average=last&threshold=0.25", game)
    assert isinstance(agent, SearchAgent)
    assert agent.settings.search == 64
    assert agent.settings.candidates == 3
    assert agent.agent.threshold == 0.25
    assert not isinstance(make_agent(str(gradient_run), game), SearchAgent)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("search=0", "search must be .* 1"),
        ("search=many", "search expects an integer"),
        ("ms=-5", "ms must be .* 0"),
        ("ms=nan", "ms"),
        ("search=10&ms=50", "search=ROLLOUTS or ms=MILLISECONDS, and not both"),
        ("depth=3", "search=ROLLOUTS or ms=MILLISECONDS, and not both"),
        ("search=10&doubt=2", "doubt must be .* 1"),
        ("serch=10", "did you mean search"),
        ("search=10&playout=0.2", "did you mean playouts"),
        ("search=10&playouts=1.5", "playouts must be .* 1"),
    ],
)
def test_a_wrong_option_of_a_search_is_one_line_and_exit_code_2(
    command: Command, gradient_run: Path, query: str, says: str
) -> None:
    outcome = command("evaluate", f"{gradient_run}?{query}", "--game", "geister", "--games", "2")
    assert outcome.code == 2
    assert not outcome.out
    (line,) = outcome.err.splitlines()
    assert query.split("=")[0] in line
    with pytest.raises(UsageError, match=says):
        make_agent(f"{gradient_run}?{query}", Geister(ply_limit=300))


def test_an_agent_without_values_cannot_search(mini_run: Path) -> None:
    with pytest.raises(UsageError, match="an agent with a policy and a value"):
        make_agent(f"{mini_run}?search=10", Geister(size=4, ply_limit=30, observation_limit=30))
    with pytest.raises(UsageError, match="rush is a bot"):
        make_agent("rush?ms=5", RULES)


def test_an_agent_without_history_searches_in_a_game_with_it(gradient_run: Path) -> None:
    plain, wide = (Geister(ply_limit=20, history=history) for history in (False, True))
    plies = []
    for game in (plain, wide):
        agents = make_agent(f"{gradient_run}?search=8&depth=2", game), make_agent("rush", game)
        plies.append(play(game, agents, 4, np.random.default_rng(1)).mean_plies)
    assert plies[0] == plies[1]


def test_a_match_with_search_is_repeatable(command: Command, gradient_run: Path) -> None:
    results = []
    for _ in range(2):
        outcome = command(
            *("evaluate", f"{gradient_run}?search=8&depth=2", "--against", str(gradient_run), "--games", "4"),
            *("--ply-limit", "30", "--seed", "3", "--json"),
        )
        assert outcome.code == 0, outcome.err
        results.append(json.loads(outcome.out))
    assert results[0]["categories"] == results[1]["categories"]
    assert results[0]["mean_plies"] == results[1]["mean_plies"]


def test_a_served_game_keeps_the_clock(gradient_run: Path) -> None:
    """A game over sockets with a second for each answer, in which the agent searches for 50 ms before each move."""
    spent: list[float] = []

    class Timed(Client):
        def receive(self, line: str) -> str | None:
            started = time.perf_counter()
            answer = super().receive(line)
            if answer is not None and answer.startswith("MOV"):
                spent.append(time.perf_counter() - started)
            return answer

    agent = make_agent(f"{gradient_run}?ms=50&confidence=100", RULES)
    warm_up([(agent, RULES), (bot("rush"), RULES)])
    results: list[GeisterResult] = []

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        clients = Timed(agent, RULES, 1), Client(bot("rush"), RULES, 2)
        games = (play_at("127.0.0.1", port, client, 1, 10.0, stop) for port, client in zip(ports, clients, strict=True))
        results.extend(await asyncio.gather(*games))

    (record,) = serving(use, rules=GameRules(reserve=0.0, per_answer=1.0), games=1)
    assert record.status == "finished"
    assert record.ending in ("escape", "blues taken", "reds taken", "ply limit")
    assert results[0].decisions == len(spent) > 5
    assert 0.02 < np.median(spent) < 0.1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("random", "random"),
        ("runs/x@3?average=paper", "runs/x@3?average=paper"),
        ("runs/x?depth=8&ms=20000", "runs/x?depth=8&ms=20"),
        ("runs/x?search=100000", "runs/x?search=64"),
        ("runs/what?@3?search=100000", "runs/what?@3?search=64"),
    ],
)
def test_the_name_of_an_agent_in_a_hurry(name: str, expected: str) -> None:
    assert hurried(name) == expected
