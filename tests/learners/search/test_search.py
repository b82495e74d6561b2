"""The search on Geister: its information, its dependencies, and moves that it has to find."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from envs.game import States
from envs.geister import Geister, rules
from envs.players import RandomAgent
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.agent import PolicyAgent
from learners.policy_gradient.network import policy_net
from learners.search.agent import SearchAgent, Searched
from learners.search.belief import Belief, draw_arrangements
from learners.search.rollouts import roll_out
from learners.search.search import Candidates
from learners.search.settings import RolloutSettings
from tests.envs.geister_positions import position

FULL, MINI = Geister(ply_limit=300), Geister(size=4, ply_limit=30)
NETWORK = NetworkSettings(trunk="flat", width=16, depth=2, norm="layer", outputs="move")
GAMES = pytest.mark.parametrize("game", [FULL, MINI], ids=["full", "mini"])


def net_agent(game: Geister, seed: int = 0, threshold: float = 0.0, scale: float = 50.0) -> PolicyAgent:
    """An agent of a random net that plays far from uniformly."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        weights = policy_net(NETWORK, game.spec).inference_weights()
    return PolicyAgent(game, NETWORK, [weights | {"out.w": weights["out.w"] * scale}], "net", threshold)


def searcher(game: Geister, batch: int, threshold: float = 0.0, **settings: Any) -> SearchAgent:
    settings = {"search": 48, "depth": 4, "worlds": 4} | settings
    agent = SearchAgent(net_agent(game, threshold=threshold), game, RolloutSettings(**settings))
    agent.begin(game, batch, np.random.default_rng(0))
    return agent


def with_other_colours(states: States, game: Geister, player: int, rng: np.random.Generator) -> States:
    """The same games for `player`, with the colours of the opponent's ghosts on the board redrawn."""
    other, found = 1 - player, states.copy()
    for state in found:
        free = np.flatnonzero(state["square"][other] >= 0)
        reds = [bool(state["red"][other] >> ghost & 1) for ghost in free]
        for ghost, red in zip(free, rng.permutation(reds), strict=True):
            state["red"][other] = state["red"][other] & ~np.uint8(1 << ghost) | np.uint8(int(red) << ghost)
    return found


@pytest.mark.parametrize("game", [FULL, MINI, Geister(ply_limit=60, history=True)], ids=["full", "mini", "history"])
def test_what_is_hidden_changes_no_move_of_a_whole_game(game: Geister) -> None:
    """Two agents with the same draws, of which one sees other colours at every move."""
    games, rng = 6, np.random.default_rng(1)
    agents = [searcher(game, games) for _ in range(2)]
    opponent = RandomAgent()
    opponent.begin(game, games, rng)
    states, index, swapped, compared = game.reset(games, rng), np.arange(games), 0, 0
    for ply in range(60):
        running = np.flatnonzero(~game.finished(states))
        if not len(running):
            break
        here = states[running]
        if ply % 2:
            actions = opponent.act(here, index[running], rng)
        else:
            changed = with_other_colours(here, game, 0, rng)
            swapped += int((changed["red"] != here["red"]).any(axis=1).sum())
            chosen = [
                agent.act(seen, running, np.random.default_rng(ply))
                for agent, seen in zip(agents, (here, changed), strict=True)
            ]
            np.testing.assert_array_equal(*chosen)
            actions, compared = chosen[0], compared + len(running)
        game.step(here, actions)
        states[running] = here
    assert compared > 10
    assert swapped > compared / 4


@GAMES
def test_a_batch_is_played_like_its_games_one_by_one(game: Geister) -> None:
    games, rng = 5, np.random.default_rng(2)
    together, single = searcher(game, games), [searcher(game, 1) for _ in range(games)]
    opponent, states, index = RandomAgent(), game.reset(games, rng), np.arange(games)
    opponent.begin(game, games, rng)
    for ply in range(8):
        if game.finished(states).any():
            break
        if ply % 2:
            actions = opponent.act(states, index, rng)
        else:
            actions = together.act(states, index, np.random.default_rng(ply))
            draws = np.random.default_rng(ply)
            alone = [agent.act(states[b : b + 1], np.zeros(1, np.int64), draws)[0] for b, agent in enumerate(single)]
            np.testing.assert_array_equal(actions, alone)
        game.step(states, actions)


def test_a_search_by_number_is_repeatable_and_not_the_plain_policy() -> None:
    states = FULL.reset(40, np.random.default_rng(3))
    index = np.arange(40)
    first, second, other = (searcher(FULL, 40).act(states, index, np.random.default_rng(seed)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    assert FULL.legal(states)[index, first].all()


def test_an_escape_at_hand_is_taken() -> None:
    """A win in one ply, by an action to which the policy gives any probability."""
    game = Geister(ply_limit=300, forced_escape=False)
    states = position(game, {"A": 0, "Br": 20, "C": 25}, {"A": 25, "Br": 26, "C": 27})
    agent = searcher(game, 1, candidates=32, search=64, depth=0, temperature=0)
    (action,) = agent.act(states, np.zeros(1, np.int64), np.random.default_rng(0))
    game.step(states, np.array([action]))
    assert game.returns(states)[0, 0] == 1


def test_a_way_to_the_exit_that_nobody_can_stop_is_taken() -> None:
    """A win in two own moves: to the exit, and off the board."""
    states = position(FULL, {"A": 1, "Br": 20, "C": 25}, {"A": 25, "Br": 26, "C": 27})
    agent = searcher(FULL, 1, candidates=32, search=640, worlds=16, depth=3, temperature=0)
    (action,) = agent.act(states, np.zeros(1, np.int64), np.random.default_rng(0))
    assert FULL.describe(int(action)) == "action 2 (A WEST)"


@GAMES
def test_a_belief_is_bayes_over_the_whole_game(game: Geister) -> None:
    """The product of all likelihoods, each computed by asking the net once for each arrangement."""
    doubt, games, rng = 0.25, 4, np.random.default_rng(4)
    agent, index = net_agent(game), np.arange(games)
    belief = Belief(game, agent, games, doubt)
    layouts = rules.layouts(game.size)
    states, compared = game.reset(games, rng), 0
    product = np.ones((games, len(layouts)))
    me = np.zeros(games, np.int8)
    for _ in range(12):
        found = belief.update(states, me, index)
        for b in range(games):
            taken = states["square"][b, 1] == rules.CAPTURED
            bits, own = (layouts[:, None] >> np.arange(8)) & 1, (states["red"][b, 1] >> np.arange(8)) & 1
            expected = np.where((bits == own)[:, taken].all(axis=1), product[b], 0)
            if expected.sum() > 0:
                np.testing.assert_allclose(found[b], expected / expected.sum(), atol=1e-5)
                compared += 1
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in game.legal(states)])
        belief.remember(states, index, actions)
        game.step(states, actions)
        if game.finished(states).any():
            break
        answers = np.array([rng.choice(np.flatnonzero(row)) for row in game.legal(states)])
        for b in range(games):
            for k, layout in enumerate(layouts):
                supposed = states[b : b + 1].copy()
                supposed["red"][0, 1] = layout
                legal = game.legal(supposed)
                opponent = np.ones(1, np.int8)
                policy, _ = agent.evaluate(game.observe(supposed, opponent), legal, opponent)
                if legal[0, answers[b]]:
                    product[b, k] *= (1 - doubt) * policy[0, answers[b]] + doubt / legal.sum()
                else:
                    product[b, k] = 0
        game.step(states, answers)
        if game.finished(states).any():
            break
    assert compared > 8


@GAMES
def test_a_belief_begins_with_the_first_move_of_the_opponent(game: Geister) -> None:
    """The second player has not moved yet, but has seen a move."""
    doubt, games, rng = 0.25, 6, np.random.default_rng(8)
    agent, layouts, before = net_agent(game), rules.layouts(game.size), game.reset(games, rng)
    states = before.copy()
    moves = np.array([rng.choice(np.flatnonzero(row)) for row in game.legal(states)])
    game.step(states, moves)
    belief, index = Belief(game, agent, games, doubt), np.arange(games)
    expected = np.zeros((games, len(layouts)))
    for k, layout in enumerate(layouts):
        supposed, first = before.copy(), np.zeros(games, np.int8)
        supposed["red"][:, 0] = layout
        legal = game.legal(supposed)
        policy, _ = agent.evaluate(game.observe(supposed, first), legal, first)
        expected[:, k] = ((1 - doubt) * policy + doubt * legal / legal.sum(axis=1, keepdims=True))[index, moves]
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.ptp(expected) > 0.01
    for _ in range(2):  # a search may look twice before it moves
        np.testing.assert_allclose(belief.update(states, np.ones(games, np.int8), index), expected, atol=1e-5)
    started = Belief(game, agent, games, doubt).update(before, np.zeros(games, np.int8), index)
    np.testing.assert_allclose(started, 1 / len(layouts), atol=1e-12)


def test_a_belief_restarts_when_moves_were_not_seen() -> None:
    rng = np.random.default_rng(5)
    states, index, me = FULL.reset(1, rng), np.zeros(1, np.int64), np.zeros(1, np.int8)
    belief = Belief(FULL, net_agent(FULL), 1, 0.1)

    def move() -> int:
        return int(rng.choice(np.flatnonzero(FULL.legal(states)[0])))

    for _ in range(4):
        belief.update(states, me, index)
        action = np.array([move()])
        belief.remember(states, index, action)
        FULL.step(states, action)
        FULL.step(states, np.array([move()]))
    assert belief.update(states, me, index).max() > 1.2 / 70
    for _ in range(4):
        FULL.step(states, np.array([move()]))
    possible = FULL.possible(states, me)
    np.testing.assert_allclose(belief.update(states, me, index), possible / possible.sum())


def test_arrangements_are_drawn_in_proportion() -> None:
    belief = np.array([[0.0, 0.5, 0.25, 0.25, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0]])
    drawn = draw_arrangements(belief, np.array([0.3, 0.999999]), 8)
    np.testing.assert_array_equal(np.bincount(drawn[0], minlength=5), [0, 4, 2, 2, 0])
    assert (drawn[1] == 3).all()


@pytest.mark.parametrize("threshold", [0.0, 0.7])
def test_roll_outs_are_those_of_a_plain_loop(threshold: float) -> None:
    """Each roll-out by itself, with the lambda-return as a sum over all depths."""
    agent, rng, depth, trace = net_agent(MINI, 0, threshold, 150.0), np.random.default_rng(6), 6, 0.7
    count = 40
    states = MINI.reset(count, rng)
    players = MINI.to_move(states)
    actions = np.array([rng.choice(np.flatnonzero(row)) for row in MINI.legal(states)])
    draws = rng.random((depth, count), np.float32)
    found = roll_out(MINI, agent, states.copy(), players, actions, draws, trace)
    ended = clipped = cut = 0
    for m in range(count):
        state, action, values = states[m : m + 1].copy(), actions[m], []
        for ply in range(depth + 1):
            MINI.step(state, np.array([action]))
            if MINI.finished(state)[0]:
                values.append(float(MINI.returns(state)[0, players[m]]))
                ended += 1
                break
            mover, legal = MINI.to_move(state), MINI.legal(state)
            policy, value = agent.evaluate(MINI.observe(state, mover), legal, mover)
            values.append(float(np.clip(value[0] if mover[0] == players[m] else -value[0], -1, 1)))
            clipped += abs(value[0]) > 1
            if ply < depth:
                likely = np.where(policy[0] < threshold * policy[0].max(), 0, policy[0])
                cut += bool((likely != policy[0]).any())
                action = np.flatnonzero(np.cumsum(likely / likely.sum()) > draws[ply, m])[0]
        expected = sum((1 - trace) * trace**k * value for k, value in enumerate(values[:-1]))
        assert found[m] == pytest.approx(expected + trace ** (len(values) - 1) * values[-1], abs=1e-5)
    assert 0 < ended < count
    assert clipped, "some values exceed the largest return"
    assert cut or not threshold


class Raised(Geister):
    """Both players receive 20 more."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "spec", replace(self.spec, max_return=21.0))

    def returns(self, states: States) -> NDArray[np.float32]:
        return super().returns(states) + np.float32(20)


def test_a_constant_that_the_values_leave_out_changes_no_search() -> None:
    """Some roll-outs end, with the constant, and others have a value, which the net states without it."""
    rules: dict[str, Any] = {"size": 4, "ply_limit": 30}
    searched: list[Searched] = []
    shown: list[Any] = []
    for game in (Geister(**rules), Raised(**rules)):
        net = net_agent(game)
        for name in ("out.w", "out.b"):  # the last output is the value in units of the largest return
            net.weights[0][name][..., -1] /= game.spec.max_return
        agent = SearchAgent(
            PolicyAgent(game, NETWORK, net.weights, "net"),
            game,
            RolloutSettings(search=64, depth=20, worlds=8, trace=0.9),
        )
        agent.begin(game, 6, np.random.default_rng(0))
        searched.append(agent.search(game.reset(6, np.random.default_rng(8)), np.arange(6), np.random.default_rng(9)))
        agent.begin(game, 1, np.random.default_rng(0))
        shown.append(agent.think(game.reset(1, np.random.default_rng(8)), np.random.default_rng(9)).value)
    plain, raised = searched
    np.testing.assert_allclose(raised.means, plain.means + 20, atol=1e-4)
    np.testing.assert_array_equal(raised.chosen, plain.chosen)
    np.testing.assert_allclose(shown[1], shown[0] + 20, atol=1e-4)
    assert np.ptp(np.nan_to_num(plain.means)) > 0.1


def test_candidates_that_are_clearly_behind_are_given_up() -> None:
    candidates = Candidates.of(np.array([[0.1, 0.2, 0.7, 0.0]], np.float32), RolloutSettings(search=64, temperature=0))
    np.testing.assert_array_equal(candidates.actions[0], [2, 1, 0, 3])
    np.testing.assert_array_equal(candidates.live[0], [True, True, True, False])
    noise = np.linspace(-0.5, 0.5, 8, dtype=np.float32)  # common to all candidates: it does not count
    tried = np.stack([noise - 0.4, noise + 0.01 * noise[::-1], noise]).astype(np.float32)
    candidates.add(np.zeros(3, np.int64), np.arange(3), tried[:, :1])
    candidates.give_up(np.array([True]), 2.0)
    np.testing.assert_array_equal(candidates.live[0], [True, True, True, False], "one world has no standard error")
    candidates.add(np.zeros(3, np.int64), np.arange(3), tried[:, 1:])
    candidates.give_up(np.array([True]), 2.0)
    np.testing.assert_array_equal(candidates.live[0], [False, True, True, False])
    assert candidates.best()[0] in (0, 1)


@pytest.mark.parametrize(("spread", "given_up"), [(0.30, True), (0.36, False)])
def test_probabilities_and_standard_errors_decide_who_is_given_up(spread: float, given_up: bool) -> None:
    """The likelier action returns 0.5 less and leads by log(4) / 2 - 0.5 = 0.193; the error is spread / sqrt(3)."""
    candidates = Candidates.of(np.array([[0.8, 0.2]], np.float32), RolloutSettings(search=64, temperature=0.5))
    ahead = np.array([-0.5 - spread, -0.5 + spread] * 2)
    candidates.add(np.zeros(2, np.int64), np.arange(2), np.stack([ahead, np.zeros(4)]).astype(np.float32))
    assert candidates.best()[0] == 0
    candidates.give_up(np.array([True]), 1.0)
    np.testing.assert_array_equal(candidates.live[0], [True, not given_up])


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"search": 100, "worlds": 8}, 96),
        ({"search": 3}, 3),
        ({"search": 1}, 0),
        ({"search": 5, "candidates": 1000}, 5),
        ({"search": 30, "worlds": 1}, 28),
    ],
)
def test_a_number_of_roll_outs_is_not_exceeded(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, int], count: int
) -> None:
    played: list[int] = []

    def counted(game: Any, agent: Any, states: States, *rest: Any) -> Any:
        played.append(len(states))
        return roll_out(game, agent, states, *rest)

    monkeypatch.setattr("learners.search.search.roll_out", counted)
    states = FULL.reset(1, np.random.default_rng(7))
    found = searcher(FULL, 1, confidence=100, **settings)
    found.act(states, np.zeros(1, np.int64), np.random.default_rng(0))
    assert sum(played) == count
