"""The tables of a run: reproducible, storable, and the agent that plays by them."""

from typing import Any

import numpy as np
import pytest

from envs.geister import Geister
from envs.geister.players import heuristic
from envs.players import RandomAgent
from learners.belief_tables.agent import BeliefAgent
from learners.belief_tables.settings import TableSettings
from learners.belief_tables.solver import BeliefSolver
from learners.belief_tables.strategy import BeliefStrategy
from learners.geister_beliefs.belief import UPDATES, BeliefRules, play
from learners.geister_beliefs.tables import NODE, ROWS
from learners.storage import ForeignState

GAME = Geister(size=4, ply_limit=30)
METHODS: list[dict[str, Any]] = [
    {"method": "depth-limited"},
    {"method": "depth-limited", "belief": "exact"},
    {"method": "depth-limited", "belief": "none", "depth": 2},
    {"method": "depth-limited", "baseline": False},
    {"method": "depth-limited", "updates": "search"},
    {"method": "dream"},
    {"method": "outcome-sampling", "belief": "none"},
]


def solver(seed: int = 1, game: Geister = GAME, **settings: Any) -> BeliefSolver:
    return BeliefSolver(game, TableSettings(**{"states": 16, **settings}), seed)


@pytest.mark.parametrize("settings", METHODS, ids=str)
def test_runs_cut_up_and_restored_are_the_same(settings: dict[str, Any]) -> None:
    whole, first, second = solver(**settings), solver(**settings), solver(seed=9, **settings)
    whole.run(7)
    first.run(3)
    second.load_arrays(*first.state_arrays())
    second.run(1)
    second.run(3)
    mine, theirs = whole.state_arrays(), second.state_arrays()
    assert mine[1] == theirs[1]
    for name, array in mine[0].items():
        np.testing.assert_array_equal(array, theirs[0][name])
    assert whole.nodes > 7 * 16 * 2 * 2
    other = solver(seed=2, **settings)
    other.run(7)
    assert (other.state_arrays()[0]["sums"] != mine[0]["sums"]).any()


def test_without_baselines_all_values_stay_zero() -> None:
    bare = solver(baseline=False)
    bare.run(3)
    assert not bare.state_arrays()[0]["values"].any()
    full = solver()
    full.run(3)
    assert full.state_arrays()[0]["values"].any()


def test_tables_of_other_settings_are_refused() -> None:
    with pytest.raises(ForeignState, match="other settings"):
        solver().load_arrays(*solver(belief="exact").state_arrays())
    arrays, meta = solver().state_arrays()
    with pytest.raises(ForeignState, match="sums is float32"):
        solver().load_arrays({**arrays, "sums": arrays["sums"].astype(np.float32)}, meta)


def test_states_from_before_the_choice_of_updates_are_of_updates_by_search() -> None:
    arrays, meta = solver(updates="search").state_arrays()
    del meta["settings"]["updates"]
    solver(updates="search").load_arrays(arrays, meta)
    with pytest.raises(ForeignState, match="other settings"):
        solver().load_arrays(arrays, meta)
    arrays, meta = solver(method="dream").state_arrays()
    del meta["settings"]["updates"]
    solver(method="dream").load_arrays(arrays, meta)


def test_searches_of_a_pass_see_what_others_have_learnt_after_it() -> None:
    """In the first pass those that see the changes of others at their time play by another policy."""
    late, soon = solver(), solver(updates="search")
    assert late.run(1) != soon.run(1)
    assert (late.state_arrays()[0]["regrets"] != soon.state_arrays()[0]["regrets"]).any()


@pytest.mark.parametrize(
    ("game", "says"),
    [(Geister(), "not for geister"), (Geister(size=4, random_setup=False), "random_setup=true")],
)
def test_other_games_are_refused(game: Geister, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        solver(game=game)
    with pytest.raises(ValueError, match=says):
        BeliefAgent(empty(), "paper").begin(game, 1, np.random.default_rng(0))


def empty() -> BeliefStrategy:
    return BeliefStrategy(np.zeros(0, np.int32), np.zeros((0, 8), np.float32))


@pytest.mark.parametrize(
    ("rows", "policy", "says"),
    [
        ([3, 2], [[1, 0], [1, 0]], "ascend"),
        ([ROWS], [[1, 0]], "within"),
        ([-1], [[1, 0]], "within"),
        ([5], [[0.5, 0.2]], "add up to 1"),
        ([5], [[1.5, -0.5]], "at least 0"),
        ([5], [[np.nan, 1]], "no policy"),
        ([5, 6], [[1, 0]], "rows must be"),
    ],
)
def test_what_is_no_strategy_is_refused(rows: list[int], policy: list[list[float]], says: str) -> None:
    wide = np.zeros((len(policy), 8), np.float32)
    wide[:, :2] = policy
    with pytest.raises(ValueError, match=says):
        BeliefStrategy.from_arrays({"rows": np.array(rows, np.int32), "policy": wide})
    with pytest.raises(ValueError, match="rows and policy, not rows"):
        BeliefStrategy.from_arrays({"rows": np.array(rows, np.int32)})


@pytest.mark.parametrize("update", ["paper", "exact"])
@pytest.mark.parametrize("opponent", [RandomAgent, heuristic])
def test_an_agent_remembers_the_beliefs_of_the_game(update: Any, opponent: Any) -> None:
    """Its beliefs after each of its moves follow from the moves of both players, whoever plays them."""
    trained = solver(belief=update, states=64)
    trained.run(30)
    strategy = trained.strategy()
    table = strategy.table()
    agent, bot = BeliefAgent(strategy, update), opponent()
    rng, games = np.random.default_rng(4), 40
    for _ in range(2):  # the second time it has to forget the first one
        agent.begin(GAME, games, rng)
        bot.begin(GAME, games, rng)
        states = GAME.reset(games, rng)
        nodes = np.zeros(games, NODE)
        for name in states.dtype.names:
            nodes[name] = states[name]
        nodes["belief"] = 0.5
        seat = np.arange(games) % 2
        compared = 0
        while len(running := np.flatnonzero(~GAME.finished(states))):
            mine = states["to_move"][running] == seat[running]
            for player, part in ((agent, running[mine]), (bot, running[~mine])):
                if not len(part):
                    continue
                actions = player.act(states[part], part, rng)
                moved = states[part]
                GAME.step(moved, actions)
                states[part] = moved
                for game, action in zip(part, actions, strict=True):
                    play(nodes[game], int(action), table, BeliefRules(UPDATES[update], 1, GAME.ply_limit))
                if player is agent:
                    still = part[~GAME.finished(moved)]
                    np.testing.assert_allclose(agent._memory["belief"][still], nodes["belief"][still])
                    np.testing.assert_array_equal(agent._memory["square"][still], nodes["square"][still])
                    compared += len(still)
        assert compared > 5 * games


def test_an_agent_cannot_see_colours() -> None:
    trained = solver(states=64)
    trained.run(20)
    games = 200
    states = GAME.reset(games, np.random.default_rng(1))
    other = states.copy()
    other["red"][:, 1] = 3 - other["red"][:, 1]
    found = []
    for seen in (states, other):
        agent = BeliefAgent(trained.strategy(), "paper")
        agent.begin(GAME, games, np.random.default_rng(2))
        found.append(agent.act(seen, np.arange(games), np.random.default_rng(3)))
    np.testing.assert_array_equal(found[0], found[1])


def test_an_agent_can_join_a_game_that_has_gone_on() -> None:
    trained = solver(states=64)
    trained.run(20)
    rng = np.random.default_rng(1)
    agent, bot = BeliefAgent(trained.strategy(), "paper"), RandomAgent()
    bot.begin(GAME, 100, rng)
    states = GAME.reset(100, rng)
    for _ in range(5):
        GAME.step(states, bot.act(states, np.arange(100), rng))
    agent.begin(GAME, 100, rng)
    running = np.flatnonzero(~GAME.finished(states))
    assert len(running) > 50
    actions = agent.act(states[running], running, rng)
    assert GAME.legal(states[running])[np.arange(len(running)), actions].all()
    np.testing.assert_array_equal(agent._memory["ply"][running], 6)
