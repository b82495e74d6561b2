"""Beliefs about the hands of GuanDan: rounds, learning, the net on a CPU, and measures."""

from typing import ClassVar

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file

from actors.guandan_beliefs import Positions, play_rounds
from envs.guandan import GuanDan
from envs.guandan.beliefs.evidence import observe
from envs.guandan.beliefs.net import FILE, HandsBelief, shipped_belief
from envs.guandan.bots.players import BOTS
from envs.guandan.rules.cards import counts_of
from learners.guandan_beliefs.learner import HandsLearner
from learners.guandan_beliefs.measures import judged, uniform
from learners.guandan_beliefs.settings import HandsNetSettings, HandsTrainingSettings
from learners.guandan_beliefs.values import values_by_deals

GAME = GuanDan()
SMALL = HandsNetSettings(seat_width=24, width=32)


def rounds(number: int, seed: int, against: str = "planner") -> Positions:
    agents = [BOTS["planner"](), BOTS[against]()]
    return play_rounds(GAME, agents, number, np.random.default_rng(seed), kept=0.5)


def learned(positions: Positions, seed: int, epochs: int = 2) -> HandsLearner:
    learner, rng = HandsLearner(SMALL, HandsTrainingSettings(batch=64), seed), np.random.default_rng(seed)
    for epoch in range(epochs):
        metrics = learner.fit(positions.states, rng, epoch / epochs)
        assert metrics["rows"] == len(positions.states) // 64 * 64
    return learner


def test_rounds_are_those_of_their_seed_with_the_returns_of_their_movers() -> None:
    found, again, other = rounds(40, 1, "greedy"), rounds(40, 1, "greedy"), rounds(40, 2, "greedy")
    for ours, theirs in zip(found, again, strict=True):
        assert (ours == theirs).all()
    assert not np.array_equal(found.states, other.states)
    assert set(found.rounds.tolist()) == set(range(40))
    assert (found.agents == (found.states["to_move"] + found.rounds) % 2).all()
    for number in range(40):
        here = found.rounds == number
        team = found.states["to_move"][here] % 2
        assert len(set((found.returns[here] * np.where(team == 0, 1, -1)).tolist())) == 1
    by_agent = [found.returns[found.agents == which].mean() for which in range(2)]
    assert by_agent[0] > 1 > -1 > by_agent[1]  # `planner` is much stronger than `greedy`


def test_a_belief_learns_where_the_cards_are() -> None:
    """On other rounds it loses less per card than tributes alone tell, and the same seed learns the same."""
    positions, fresh = rounds(200, 3), rounds(40, 4).states
    weights = learned(positions, 1).weights()
    belief = HandsBelief(weights)
    loss, right, cards = uniform(fresh)
    known, found = judged(None, fresh), judged(belief, fresh)
    assert found.loss.sum() + 0.01 * cards.sum() < known.loss.sum() < loss.sum()
    assert found.right.sum() > known.right.sum() > right.sum()
    few = Positions(*(part[:640] for part in positions))
    weights, again, other = (learned(few, seed, 1).weights() for seed in (1, 1, 2))
    for name, array in weights.items():
        assert (array == again[name]).all()
        assert not np.array_equal(array, other[name])


def test_the_net_gives_the_same_scores_in_numpy_as_in_torch() -> None:
    states = rounds(4, 5).states
    learner = learned(rounds(20, 6), 1)
    by_seat, by_table, _ = observe(states, states["to_move"])
    with torch.no_grad():
        wanted = learner.trainer.playing_net(torch.from_numpy(by_seat).float(), torch.from_numpy(by_table).float())
    scores = HandsBelief(learner.weights()).scores(by_seat, by_table)
    np.testing.assert_allclose(scores, wanted.numpy(), atol=1e-5)
    assert scores.std() > 0.01


def test_a_belief_is_calibrated_on_deals_drawn_from_it() -> None:
    """In each bin of probabilities, within 0.02; uniform deals are measured as such as well."""
    belief, states = shipped_belief(), rounds(60, 7).states
    rng = np.random.default_rng(0)
    drawn, dealt = states.copy(), states.copy()
    belief.deal(drawn, drawn["to_move"], rng.integers(0, 2**64, len(drawn), np.uint64))
    found = judged(belief, drawn)
    assert found.events.min() > 1000
    np.testing.assert_allclose(found.observed / found.events, found.predicted / found.events, atol=0.02)
    own = judged(belief, states)
    assert abs(found.right.sum() / own.right.sum() - 1) < 0.1
    GAME.redeal(dealt, dealt["to_move"], rng.integers(0, 2**64, len(dealt), np.uint64))
    assert judged(belief, dealt).loss.sum() > uniform(dealt)[0].sum()


@pytest.mark.parametrize("own", [False, True], ids=["tributes", "belief"])
def test_cards_placed_right_are_those_of_deals_that_are_drawn(own: bool) -> None:
    """Card by card: known ones count, whose holder every deal respects, and of the others those that agree."""
    rng, draws = np.random.default_rng(3), 100
    belief = HandsBelief({name: array * own for name, array in load_file(FILE).items()})
    states = rounds(60, 9).states
    _, _, known = observe(states, states["to_move"])
    told = known.known.any(axis=(1, 2))
    states, fixed = states[told], counts_of(known.low[told], known.high[told]).astype(np.int64)
    assert len(states) > 100
    others = (states["to_move"][:, None].astype(np.int64) + np.arange(1, 4)) % 4

    def held(dealt: NDArray[np.void]) -> NDArray[np.int64]:
        return counts_of(*(np.take_along_axis(dealt[word], others, axis=1) for word in ("low", "high"))) - fixed

    true, right = held(states), np.zeros(len(states))
    for _ in range(draws):
        drawn, keys = states.copy(), rng.integers(0, 2**64, len(states), np.uint64)
        belief.deal(drawn, drawn["to_move"], keys)
        right += (true * held(drawn) / np.maximum(true.sum(axis=1, keepdims=True), 1)).sum(axis=(1, 2))
    found = judged(belief if own else None, states).right.sum()
    assert found == pytest.approx(fixed.sum() + right.sum() / draws, rel=0.003)


def test_values_are_averaged_over_deals_of_each_kind() -> None:
    """A critic that counts the jokers of the next player: its mean over deals is nearer to the truth than uniform."""

    class Jokers:
        weights: ClassVar[dict[str, NDArray[np.float32]]] = {}

        def __call__(
            self, packed: NDArray[np.uint8], hidden: NDArray[np.uint8], notes: object = None
        ) -> NDArray[np.float32]:
            jokers = hidden[:, 13].astype(np.int64)
            return ((jokers & 3) + (jokers >> 2 & 3)).astype(np.float32)

    states = rounds(60, 8).states
    values = values_by_deals(GAME, Jokers(), shipped_belief(), states, np.random.default_rng(0))  # type: ignore[arg-type]
    errors = {name: np.square(each - values["true"]).mean() for name, each in values.items()}
    assert errors["true"] == 0 < errors["learned"] < errors["tributes"] < errors["uniform"]


def test_foreign_weights_are_refused() -> None:
    weights = dict(learned(rounds(4, 9), 1, 1).weights())
    with pytest.raises(ValueError, match="other inputs"):
        HandsBelief(weights | {"seat.w": weights["seat.w"][1:]})
    with pytest.raises(ValueError, match="layer out"):
        HandsBelief({name: each for name, each in weights.items() if not name.startswith("out")})
