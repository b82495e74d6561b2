"""Searches below belief states, against plain ones; the handling of a chunk."""

from typing import Any

import numpy as np
import pytest

from actors.belief_search import BeliefSampler, BeliefTask
from envs.geister import Geister
from learners.belief_search.policies import BeliefWeights
from learners.belief_search.settings import SearchSettings
from learners.belief_search.tracker import BeliefTracker
from learners.belief_search.view import BeliefGeister
from learners.geister_beliefs.arrangements import Arrangements
from tests.learners.belief_search.nets import NETWORK, VALUE, policies_of, random_weights

GAME = Geister()
TASK = BeliefTask(seed=(1, 2, 3), iteration=5, games=6, states=60)


def sampler(**search: Any) -> BeliefSampler:
    return BeliefSampler(GAME, NETWORK, VALUE, SearchSettings(**search))


@pytest.mark.parametrize("leaves", ["mover", "traverser"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_values_are_those_of_a_plain_search(depth: int, leaves: str) -> None:
    """Each level's values from the states below it, one by one, with the opponent's moves as they were drawn."""
    made = sampler(depth=depth, leaves=leaves, epsilon_belief=0.0)
    weights = random_weights(GAME)
    view, policies = BeliefGeister.of(GAME), policies_of(GAME, weights)
    tracker = BeliefTracker(view, Arrangements(6), policies)
    rng = np.random.default_rng(1)
    met = made._play(TASK, tracker, rng)
    chosen = np.arange(0, len(met.states), 7)
    roots = met.states[chosen].copy()
    before = met.beliefs[chosen].copy()
    levels = made._search(met, chosen, tracker, np.random.default_rng(2))
    made._ascend(levels)

    def value(state: Any, belief: Any, traverser: int, level: int, place: int) -> float:
        if GAME.finished(state)[0]:
            return float(GAME.returns(state)[0, traverser])
        mover = GAME.to_move(state)
        packed = tracker.observe(state, mover, belief)
        if level == depth:
            if mover[0] != traverser and leaves == "traverser":
                return 0.0
            return float(policies.value(packed)[0]) * (1 if mover[0] == traverser else -1)
        here = levels[level]
        np.testing.assert_array_equal(here.infostates[place], packed[0])
        np.testing.assert_allclose(here.policy[place], policies.current(packed, GAME.legal(state))[0], atol=1e-6)
        total = 0.0
        for action in np.flatnonzero(GAME.legal(state)[0] if here.mine[place] else here.weight[place] > 0):
            after = state.copy()
            GAME.step(after, np.array([action]))
            next_place = -1
            if level + 1 < len(levels):
                rows, actions = levels[level + 1].above
                found = np.flatnonzero((rows == place) & (actions == action))
                next_place = int(found[0]) if len(found) else -1
            below = value(after, belief, traverser, level + 1, next_place)
            assert here.values[place, action] == pytest.approx(below, abs=1e-5)
            total += float(here.weight[place, action]) * below
        return total

    checked = 0
    for i in range(0, len(chosen), 3):
        for traverser in (0, 1):
            place = i + traverser * len(chosen)
            value(roots[i : i + 1], before[i : i + 1], traverser, 0, place)
            checked += 1
    assert checked > 20


def test_samples_are_what_the_levels_say() -> None:
    stats, block = sampler().sample(TASK, random_weights(GAME))
    spec = BeliefGeister.of(GAME).spec
    assert stats["states"] == 60
    assert stats["rows"] == {part: len(rows) for part, rows in block.items()}
    advantages, policies, values = block["advantages"], block["policies"], block["values"]
    assert len(advantages) >= 60
    assert set(advantages["iteration"]) == {5}
    legal = np.unpackbits(advantages["legal"], axis=1, count=spec.num_actions, bitorder="little").astype(bool)
    assert not advantages["advantage"][~legal].any()
    assert np.abs(advantages["advantage"]).max() <= 2
    np.testing.assert_allclose(policies["policy"].sum(axis=1), 1, atol=1e-5)
    assert np.abs(values["value"]).max() <= 1
    assert len(values) > stats["plies"] * TASK.games
    without = sampler(returns=False).sample(TASK, random_weights(GAME))[1]["values"]
    assert len(values) - len(without) == pytest.approx(stats["plies"] * TASK.games)


def test_the_same_seed_gives_the_same_samples() -> None:
    weights = random_weights(GAME)
    first, second = (sampler().sample(TASK, weights)[1] for _ in range(2))
    for part, rows in first.items():
        np.testing.assert_array_equal(rows, second[part])
    other = sampler().sample(BeliefTask((1, 2, 4), 5, 6, 60), weights)[1]
    assert len(other["values"]) != len(first["values"]) or (other["values"] != first["values"]).any()


def test_without_nets_all_plays_uniformly_and_is_worth_what_the_rules_say() -> None:
    task = BeliefTask((1, 2, 3), 5, 64, 1000)
    _, block = sampler(depth=2, returns=False).sample(task, BeliefWeights(0, None, None, None))
    played = block["policies"]["policy"]
    positive = played > 0
    np.testing.assert_allclose(played[positive], (1 / positive.sum(axis=1))[np.nonzero(positive)[0]], atol=1e-6)
    values = block["values"]["value"]
    assert np.abs(values).max() == pytest.approx(1), "some games are won by the next move, a forced escape"
    assert 0.8 < (values == 0).mean() < 1, "few games end within two moves"


@pytest.mark.parametrize("player", [0, 1])
def test_against_uniform_play_the_other_player_alone_learns(player: int) -> None:
    made, weights = sampler(doubt=0.25), random_weights(GAME)
    task = BeliefTask((1, 2, 3), 5, 6, 10_000, uniform=player)
    stats, block = made.sample(task, weights)
    assert stats["rows"]["policies"] == 0
    tracker = BeliefTracker(BeliefGeister.of(GAME), Arrangements(6), policies_of(GAME, weights), 0.25)
    met = made._play(task, tracker, np.random.default_rng(np.random.SeedSequence(task.seed)))
    learnt = GAME.to_move(met.states) != player
    assert stats["states"] == learnt.sum()
    assert len(block["advantages"]) == learnt.sum(), "in a search of two moves the other player is to move but once"
    first = block["advantages"]["infostate"][:, 19]  # whether the observer moves first
    assert set(first.tolist()) == {player}
    level = made._search(met, np.flatnonzero(learnt), tracker, np.random.default_rng(1), player)[1]
    positive = level.policy > 0
    np.testing.assert_array_equal(positive, level.legal)
    np.testing.assert_allclose(level.policy[positive], (1 / positive.sum(axis=1))[np.nonzero(positive)[0]], rtol=1e-5)


def test_doubt_mixes_likelihoods_with_those_of_uniform_play() -> None:
    view, policies = BeliefGeister.of(GAME), policies_of(GAME, random_weights(GAME))
    states = GAME.reset(20, np.random.default_rng(1))
    beliefs, movers = Arrangements(6).even(20), GAME.to_move(states)
    actions = np.array([np.flatnonzero(row)[0] for row in GAME.legal(states)])
    found = [
        BeliefTracker(view, Arrangements(6), policies, doubt).likelihood(states, movers, beliefs, actions)
        for doubt in (0.0, 0.25, 1.0)
    ]
    np.testing.assert_allclose(found[1], 0.75 * found[0] + 0.25 * found[2], atol=1e-6)
    np.testing.assert_allclose(found[2], 1 / GAME.legal(states).sum(axis=1, keepdims=True) + 0 * found[2], rtol=1e-5)
