"""Exact best responses in Mini Geister, held against a plain recursion over whole histories."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.game import States
from envs.geister import Geister
from envs.geister.observation import ENEMIES, RED
from envs.geister.players import CAREFUL, RUSH, HeuristicAgent
from envs.geister.rules import new_states
from envs.players import RandomAgent
from learners.belief_tables.agent import BeliefAgent
from learners.belief_tables.strategy import BeliefStrategy
from learners.exact_response.frontier import add_scaled, frontier_of, sum_of, thin
from learners.exact_response.memoryless import RED_IN, MemorylessPolicy, NotMemoryless
from learners.exact_response.mini_geister import at_the_end, before, best_response, everywhere, position_of
from learners.geister_beliefs.tables import LAST, LEGAL, QUARTERS, ROWS_OF_OWN, SIZE, SLOTS, SQUARES

Floats = NDArray[np.float64]


def game(plies: int = 30, forced: bool = True) -> Geister:
    return Geister(size=SIZE, ply_limit=plies, observation_limit=30, forced_escape=forced)


def table_agent(seed: int, belief: Any = "none", forced: bool = True) -> BeliefAgent:
    """An agent of random tables, a third of whose moves have probability 0; a few rows are not listed."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(SQUARES**4)[: 9 * SQUARES**4 // 10]) * QUARTERS + QUARTERS // 2
    legal = (LEGAL[int(forced), rows // ROWS_OF_OWN][:, None] >> np.arange(SLOTS)) & 1
    sums = rng.exponential(size=legal.shape) * legal
    sums *= (rng.random(sums.shape) < 2 / 3) | (sums == sums.max(axis=1, keepdims=True))
    sums[(sums.sum(axis=1) == 0)] = 1.0
    policy = (sums / sums.sum(axis=1, keepdims=True)).astype(np.float32)
    return BeliefAgent(BeliefStrategy(rows.astype(np.int32), policy), belief, "table")


AGENTS = {
    "random": RandomAgent(),
    "heuristic": HeuristicAgent(CAREFUL),
    "rush": HeuristicAgent(RUSH, "rush"),
    "table": table_agent(1),
}


def by_recursion(rules: Geister, policy: Any, worlds: list[tuple[float, States]], seat: int) -> float:
    """Winnings of a responder with perfect recall, weighted by the probabilities of the worlds that it thinks possible.

    Args:
        policy: What the agent plays at an infostate with legal actions.
        worlds: Probability so far and game, `[1]` record, for each colouring of the agent's ghosts.
    """
    ended = [bool(rules.finished(states)[0]) for _, states in worlds]
    if any(ended):
        assert all(ended)
        return sum(weight * float(rules.returns(states)[0, seat]) for weight, states in worlds)
    state = worlds[0][1]
    if int(rules.to_move(state)[0]) == seat:
        moves = np.flatnonzero(rules.legal(state)[0])
        return max(by_recursion(rules, policy, [(w, moved(rules, s, a)) for w, s in worlds], seat) for a in moves)
    said = [policy(rules.observe(s, np.array([1 - seat], np.int8)), rules.legal(s))[0] for _, s in worlds]
    total = 0.0
    for action in range(SLOTS):
        left = [
            (w * p[action], moved(rules, s, action)) for (w, s), p in zip(worlds, said, strict=True) if p[action] > 0
        ]
        total += by_recursion(rules, policy, left, seat) if left else 0.0
    return total


def moved(rules: Geister, states: States, action: int) -> States:
    after = states.copy()
    rules.step(after, np.array([action]))
    return after


def policy_of(agent: Any, rules: Geister) -> Any:
    """The agent's policy at an infostate, from the games themselves and not from tables by position."""
    agent.begin(rules, 1, np.random.default_rng(0))
    if isinstance(agent, HeuristicAgent):
        return lambda packed, legal: agent.policy(packed, legal, 0)

    def policy(packed: NDArray[np.uint8], legal: NDArray[np.bool_]) -> Floats:
        mask = legal[0].astype(float)
        if isinstance(agent, RandomAgent):
            return (mask / mask.sum())[None]
        blue = int(packed[0, RED]) & 1
        bits = int(packed[0, ENEMIES]) | int(packed[0, ENEMIES + 1]) << 8
        first, second = (square for square in range(SQUARES) if bits >> square & 1)
        own = int(packed[0, blue]) * SQUARES + int(packed[0, 1 - blue])
        row = agent.table[((own * SQUARES + first) * SQUARES + second) * QUARTERS + 2]
        found = np.concatenate([row[4:], row[:4]]) if blue else row
        return (found if found.any() else mask / mask.sum())[None]

    return policy


def worlds_at(squares: tuple[int, int, int, int], ply: int, seat: int) -> list[States]:
    """The games of a position, see `position_of`, in world 0 and 1."""
    found = []
    for red in RED_IN:
        states = new_states(1, SIZE, np.array([[2, 2]], np.uint8))
        states["red"][0, 1 - seat] = red
        states["square"][0, seat, :2] = squares[:2]
        states["square"][0, 1 - seat, :2] = [LAST - square for square in squares[2:]]
        own = np.uint64(1) << states["square"][0, :, :2].astype(np.uint64)
        states["occupied"][0] = own[:, 0] | own[:, 1]
        states["ply"], states["to_move"] = ply, ply % 2
        found.append(states)
    return found


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("seat", [0, 1])
def test_whole_games_of_few_plies_are_worth_what_a_recursion_over_histories_says(name: str, seat: int) -> None:
    rules, agent = game(plies=5), AGENTS[name]
    found = best_response(MemorylessPolicy(rules, agent, 1 - seat), seat, 0.0)
    said = policy_of(agent, rules)
    for blue in (0, 1):
        own = [13, 14][:: 1 - 2 * blue]
        worlds = [(0.5, states) for states in worlds_at((own[0], own[1], 2, 1), 0, seat)]
        assert found.by_colours[blue] == pytest.approx(by_recursion(rules, said, worlds, seat), abs=1e-6)
    assert found.value == pytest.approx(sum(found.by_colours) / 2)


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", AGENTS)
def test_from_any_position_a_frontier_holds_the_best_for_any_belief(name: str, seat: int, forced: bool) -> None:
    rules, agent, plies = game(forced=forced), AGENTS[name], 4
    if name == "table" and not forced:
        agent = table_agent(2, forced=False)
    policy = MemorylessPolicy(rules, agent, 1 - seat)
    layer = at_the_end()
    for ply in range(29, 29 - plies, -1):
        layer = before(layer, policy, ply, seat, everywhere(), 0.0)
    said, rng = policy_of(agent, rules), np.random.default_rng(3)
    for _ in range(12):
        squares = tuple(int(square) for square in rng.permutation(SQUARES)[:4])
        states, belief = worlds_at(squares, 30 - plies, seat), rng.dirichlet([0.5, 0.5])
        frontier = layer.of(position_of(*squares))
        wanted = by_recursion(rules, said, list(zip(belief, states, strict=True)), seat)
        assert (frontier @ belief).max() == pytest.approx(wanted, abs=1e-6)


def test_frontiers_are_chains_that_bend_downwards() -> None:
    policy, layer = MemorylessPolicy(game(), table_agent(1), 1), at_the_end()
    for ply in range(29, 19, -1):
        layer = before(layer, policy, ply, 0, everywhere(), 0.0)
    sizes = np.diff(layer.begin)
    assert set(np.flatnonzero(sizes)) == set(np.flatnonzero(np.diff(at_the_end().begin)))
    assert sizes.max() > 3
    for position in np.flatnonzero(sizes > 2)[::97]:
        steps = np.diff(layer.of(position), axis=0)
        assert (steps[:, 0] > 0).all()
        assert (steps[:, 1] < 0).all()
        assert all(a[0] * b[1] < a[1] * b[0] for a, b in pairwise(steps))


def test_corners_that_are_left_out_cost_no_more_than_the_tolerance() -> None:
    rng = np.random.default_rng(2)
    angles = np.sort(rng.random(4000)) * np.pi / 2
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)[::-1].copy()
    whole = np.empty((4000, 2))
    n = frontier_of(points, 4000, whole)
    for tolerance in (1e-6, 1e-4, 1e-2, 1.0):
        chain = whole[:n].copy()
        left = chain[: thin(chain, n, tolerance)]
        assert np.array_equal(left[[0, -1]], whole[[0, n - 1]])
        assert len(left) < 3 + 1.2 * (np.pi / 2) / (8 * tolerance) ** 0.5
        for angle in np.linspace(0, np.pi / 2, 200):
            way = np.array([np.cos(angle), np.sin(angle)])
            assert 0 <= (whole[:n] @ way).max() - (left @ way).max() <= tolerance + 1e-12


def test_a_tolerance_costs_no_more_than_it_says() -> None:
    rules = game(plies=12)
    policy = MemorylessPolicy(rules, AGENTS["random"], 1)
    exact, rough = best_response(policy, 0, 0.0), best_response(policy, 0, 1e-3)
    assert exact.error == 0
    assert rough.error == pytest.approx(12 * 1e-3)
    assert exact.corners > 1.2 * rough.corners
    assert rough.value <= exact.value + 1e-12
    assert exact.value <= rough.value + rough.error


@pytest.mark.parametrize("seed", range(5))
def test_sums_and_hulls_hold_the_best_point_for_every_direction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = [rng.normal(size=(rng.integers(1, 9), 2)) for _ in range(4)]
    scales = rng.random((4, 2))
    scales[1, 0] = 0.0
    chains = []
    for points in sets:
        chain = np.empty((len(points), 2))
        chains.append(chain[: frontier_of(points, len(points), chain)])
    start, edges, count = np.zeros(2), np.empty((64, 2)), 0
    for chain, (p, q) in zip(chains, scales, strict=True):
        count = add_scaled(chain, p, q, start, edges, count)
    chain = np.empty((64, 2))
    total = chain[: sum_of(start, edges, count, chain)]
    for angle in np.linspace(0.01, np.pi / 2 - 0.01, 25):
        way = np.array([np.cos(angle), np.sin(angle)])
        for points, own in zip(sets, chains, strict=True):
            assert (own @ way).max() == pytest.approx((points @ way).max())
        best = sum(((points * scale) @ way).max() for points, scale in zip(sets, scales, strict=True))
        assert (total @ way).max() == pytest.approx(best)


@pytest.mark.parametrize("name", ["heuristic", "rush", "table"])
def test_the_policy_of_a_position_is_how_often_the_agent_plays(name: str) -> None:
    rules, agent, rng = game(), AGENTS[name], np.random.default_rng(5)
    table, times = MemorylessPolicy(rules, agent, 1).at(1), 4000
    for squares in [(13, 14, 2, 1), (14, 6, 9, 1), (5, 10, 15, 8)]:
        for world, states in enumerate(worlds_at(squares, 1, 0)):
            many = states.repeat(times)
            agent.begin(rules, times, rng)
            played = np.bincount(agent.act(many, np.arange(times), rng), minlength=SLOTS) / times
            policy = table[world, position_of(*squares)]
            assert policy.sum() == pytest.approx(1)
            assert np.abs(played - policy).max() < 4 * 0.5 / times**0.5
            assert not played[policy == 0].any()


@pytest.mark.parametrize("belief", ["paper", "exact"])
def test_an_agent_with_beliefs_is_refused(belief: str) -> None:
    with pytest.raises(NotMemoryless, match="real number"):
        MemorylessPolicy(game(), table_agent(1, belief), 1)


def test_another_game_is_refused() -> None:
    with pytest.raises(ValueError, match="mini-geister"):
        MemorylessPolicy(Geister(), RandomAgent(), 1)
