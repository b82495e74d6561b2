"""Beliefs of full Geister: Bayes over all arrangements, from public information alone."""

from typing import Any

import numpy as np
import pytest

from envs.geister import Geister
from envs.players import RandomAgent
from learners.belief_search.agent import BeliefNetAgent, hide
from learners.belief_search.tracker import BeliefTracker
from learners.belief_search.view import PLAIN, BeliefGeister
from learners.geister_beliefs.arrangements import Arrangements
from tests.learners.belief_search.nets import NETWORK, policies_of, random_weights

FULL, MINI = Geister(ply_limit=300), Geister(size=4, ply_limit=30)


def tracker_of(game: Geister, update: Any = "exact", seed: int = 0) -> BeliefTracker:
    policies = policies_of(game, random_weights(game, seed))
    return BeliefTracker(BeliefGeister.of(game), Arrangements(game.size, update), policies)


def games_of(game: Geister, count: int, plies: int, seed: int) -> Any:
    """States of random play, those that have ended left out."""
    rng = np.random.default_rng(seed)
    states, bot = game.reset(count, rng), RandomAgent()
    bot.begin(game, count, rng)
    for _ in range(plies):
        game.step(states, np.maximum(bot.act(states, np.arange(count), rng), 0))
    return states[~game.finished(states)]


@pytest.mark.parametrize("game", [FULL, MINI], ids=["full", "mini"])
def test_an_exact_belief_is_bayes_over_the_whole_game(game: Geister) -> None:
    """The product of all likelihoods, each computed by asking the policy net once for each arrangement."""
    tracker, rng, games = tracker_of(game), np.random.default_rng(1), 4
    states, beliefs = game.reset(games, rng), tracker.arrangements.even(games)
    product = np.ones_like(beliefs, np.float64)
    reds, view = tracker.arrangements.red, tracker.game
    compared = 0
    for _ in range(20):
        if game.finished(states).any():
            break
        mover = game.to_move(states)
        legal = game.legal(states)
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in legal])
        red = tracker.arrangements.red_probabilities(states, mover, beliefs)
        for b in range(games):
            for k, arrangement in enumerate(reds):
                supposed = states[b : b + 1].copy()
                supposed["red"][0, mover[b]] = arrangement
                packed = view.observe_with(supposed, mover[b : b + 1], red[b : b + 1])
                policy = tracker.policies.average(packed, view.legal(supposed))[0]
                product[b, 1 - mover[b], k] *= policy[actions[b]]
        tracker.play(states, beliefs, actions)
        for b in range(games):
            for player in (0, 1):
                taken = states["square"][b, 1 - player] == -1
                bits = (reds[:, None] >> np.arange(8)) & 1
                own = (states["red"][b, 1 - player] >> np.arange(8)) & 1
                fits = (bits == own)[:, taken].all(axis=1)
                expected = np.where(fits, product[b, player], 0)
                if expected.sum() > 0:
                    found = beliefs[b, player] / beliefs[b, player].sum()
                    np.testing.assert_allclose(found, expected / expected.sum(), atol=2e-4)
                    compared += 1
    assert compared > 20
    assert np.abs(beliefs / beliefs.sum(2, keepdims=True) - 1 / len(reds)).max() > 0.05, "the moves have told something"


def test_parameters_of_a_dirichlet_grow_by_one_a_move() -> None:
    """Eq. (7): the posterior is added to the parameters."""
    arrangements = Arrangements(6, "paper")
    states = FULL.reset(1, np.random.default_rng(0))
    beliefs = arrangements.even(1)
    likelihood = np.random.default_rng(2).random((1, 70)).astype(np.float32)
    arrangements.believe(beliefs, np.array([1], np.int8), likelihood, states)
    np.testing.assert_allclose(beliefs[0, 1], 1 / 70 + likelihood[0] / likelihood.sum(), rtol=1e-5)
    np.testing.assert_allclose(beliefs[0, 0], 1 / 70)
    exact = Arrangements(6, "exact")
    beliefs = exact.even(1)
    exact.believe(beliefs, np.array([1], np.int8), likelihood, states)
    np.testing.assert_allclose(beliefs[0, 1], 2 * likelihood[0] / likelihood.sum(), rtol=1e-5)
    none = Arrangements(6, "none")
    beliefs = none.even(1)
    none.believe(beliefs, np.array([1], np.int8), likelihood, states)
    np.testing.assert_allclose(beliefs, 1 / 70)


def test_probabilities_of_ghosts_are_marginals_that_fit_what_was_taken() -> None:
    arrangements = Arrangements(6)
    states = games_of(FULL, 300, 60, seed=3)
    assert (states["taken"].sum(axis=(1, 2)) > 2).sum() > 50
    beliefs = np.random.default_rng(4).dirichlet(np.ones(70), (len(states), 2)).astype(np.float32)
    players = FULL.to_move(states)
    found = arrangements.red_probabilities(states, players, beliefs)
    for b, state in enumerate(states):
        other = 1 - players[b]
        taken = state["square"][other] == -1
        own = (state["red"][other] >> np.arange(8)) & 1
        bits = (arrangements.red[:, None] >> np.arange(8)) & 1
        weight = np.where((bits == own)[:, taken].all(axis=1), beliefs[b, players[b]], 0)
        np.testing.assert_allclose(found[b], weight @ bits / weight.sum(), atol=1e-5)
        np.testing.assert_allclose(found[b].sum(), 4, atol=1e-4)


def test_where_all_that_is_believed_in_is_refuted_the_rest_counts_alike() -> None:
    arrangements = Arrangements(6)
    states = games_of(FULL, 200, 60, seed=5)
    states = states[(states["taken"][:, 0].sum(axis=1) > 0)][:1]
    beliefs = np.zeros((1, 2, 70), np.float32)
    taken = np.flatnonzero(states["square"][0, 0] == -1)[0]
    was_red = (states["red"][0, 0] >> taken) & 1
    wrong = ((arrangements.red >> np.uint8(taken)) & 1) != was_red
    beliefs[0, 1, np.flatnonzero(wrong)[0]] = 1
    found = arrangements.red_probabilities(states, np.array([1], np.int8), beliefs)
    assert found[0, taken] == was_red
    assert 0.3 < found[0].mean() < 0.7


def test_regenerated_colours_are_drawn_from_the_regenerated_beliefs() -> None:
    """4000 games, seed 6: each ghost is red as often as its new belief says, within 5 standard errors."""
    arrangements, rng = Arrangements(6), np.random.default_rng(6)
    states = FULL.reset(4000, rng)
    beliefs = arrangements.even(4000) * 7
    arrangements.regenerate(states, beliefs, np.arange(4000), 1.5, rng)
    np.testing.assert_allclose(beliefs.sum(axis=2), 7, rtol=1e-3)
    for player in (0, 1):
        said = arrangements.red_probabilities(states, np.full(4000, player, np.int8), beliefs)
        drawn = (states["red"][:, 1 - player, None] >> np.arange(8)) & 1
        assert said.std() > 0.2
        error = np.sqrt((said * (1 - said)).mean() / said.size)
        assert abs((drawn - said).mean()) < 5 * error
        high = said > 0.75
        assert abs(drawn[high].mean() - said[high].mean()) < 0.03


def test_an_infostate_shows_beliefs_at_the_squares_of_the_ghosts_they_are_of() -> None:
    view = BeliefGeister.of(FULL)
    states = games_of(FULL, 100, 41, seed=7)
    players = FULL.to_move(states)
    red = np.random.default_rng(8).random((len(states), 8)).astype(np.float32)
    packed = view.observe_with(states, players, red)
    plain = FULL.observe(states, players)
    np.testing.assert_array_equal(packed[:, :PLAIN], plain)
    encoded = view.encode(packed, "flat")
    np.testing.assert_array_equal(encoded[:, :-36], FULL.encode(plain, "flat"))
    expected = np.zeros((len(states), 36))
    for b, state in enumerate(states):
        for ghost in range(8):
            square = state["square"][1 - players[b], ghost]
            if square >= 0:
                expected[b, 35 - square] = 2 * red[b, ghost] - 1
    np.testing.assert_allclose(encoded[:, -36:], expected, atol=1 / 255 + 1e-6)
    assert view.spec.shapes == {"flat": encoded.shape[1:]}


@pytest.mark.parametrize("game", [FULL, MINI], ids=["full", "mini"])
def test_an_agent_holds_the_beliefs_of_the_game(game: Geister) -> None:
    """Before each of its moves, its belief follows from the moves so far; twice with one agent."""
    tracker, weights = tracker_of(game), random_weights(game)
    agent, bot = BeliefNetAgent(game, NETWORK, weights, "exact"), RandomAgent()
    rng, games = np.random.default_rng(9), 30
    for _ in range(2):
        agent.begin(game, games, rng)
        bot.begin(game, games, rng)
        states, beliefs = game.reset(games, rng), tracker.arrangements.even(games)
        seat, compared = np.arange(games) % 2, 0
        for _ in range(60):
            running = np.flatnonzero(~game.finished(states))
            if not len(running):
                break
            mine = states["to_move"][running] == seat[running]
            for player, part in ((agent, running[mine]), (bot, running[~mine])):
                if not len(part):
                    continue
                actions = player.act(states[part], part, rng)
                if player is agent:
                    np.testing.assert_allclose(agent._beliefs[part], beliefs[part], rtol=1e-3, atol=1e-5)
                    compared += len(part)
                moved, believed = states[part], beliefs[part]
                tracker.play(moved, believed, actions)
                states[part], beliefs[part] = moved, believed
        assert compared > 5 * games


def test_an_agent_cannot_see_colours() -> None:
    states = games_of(FULL, 200, 40, seed=10)
    players = FULL.to_move(states)
    other = states.copy()
    changed = 0
    for b, state in enumerate(other):
        rival = 1 - players[b]
        free = [g for g in range(8) if state["square"][rival, g] >= 0]
        colours = [(state["red"][rival] >> g) & 1 for g in free]
        for g, colour in zip(free, np.roll(colours, 1), strict=True):
            bit = np.uint8(1 << g)
            state["red"][rival] = state["red"][rival] & ~bit | (bit if colour else np.uint8(0))
        changed += state["red"][rival] != states[b]["red"][rival]
    assert changed > 50
    hidden = [each.copy() for each in (states, other)]
    for each in hidden:
        hide(each, players, Arrangements(6).red)
    np.testing.assert_array_equal(hidden[0], hidden[1])
    actions = []
    for seen in (states, other):
        agent = BeliefNetAgent(FULL, NETWORK, random_weights(FULL), "exact", threshold=0.2)
        agent.begin(FULL, len(states), np.random.default_rng(11))
        actions.append(agent.act(seen, np.arange(len(states)), np.random.default_rng(12)))
    np.testing.assert_array_equal(actions[0], actions[1])


@pytest.mark.parametrize(
    ("game", "says"), [(MINI, "plays geister, not mini-geister"), (Geister(random_setup=False), "random_setup=true")]
)
def test_other_games_are_refused(game: Geister, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        BeliefNetAgent(FULL, NETWORK, random_weights(FULL), "exact").begin(game, 1, np.random.default_rng(0))
