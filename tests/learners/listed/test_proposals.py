"""The proposals of a Q-net, and draws of the policy over them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.listed.proposals import propose, propose_and_draw

lengths = st.lists(st.integers(1, 9), min_size=1, max_size=6)


@given(lengths, st.integers(2, 5), st.integers(0, 2**31))
def test_proposals_are_the_choices_of_the_highest_logits_in_their_order(counts, most, seed):
    offsets = np.concatenate([[0], np.cumsum(counts)])
    logits = np.random.default_rng(seed).integers(-2, 3, offsets[-1]).astype(np.float32)  # with many equals
    proposals, count = np.empty((len(counts), most), np.int64), np.empty(len(counts), np.int64)
    propose(offsets, logits, proposals, count)
    for b, length in enumerate(counts):
        wanted = offsets[b] + np.argsort(-logits[offsets[b] : offsets[b + 1]], kind="stable")[:most]
        assert count[b] == min(length, most)
        assert proposals[b, : count[b]].tolist() == wanted.tolist()
        assert (proposals[b, count[b] :] == wanted[0]).all()


def test_draws_are_those_of_the_softmax_of_the_proposals():
    """60,000 draws: the largest of six standard errors is 0.002."""
    logits, times = np.array([0.0, 1.0, -1.0, 0.5, 2.0, 2.0], np.float32), 20_000
    offsets = np.concatenate([[0], np.cumsum([4, 2] * times)])
    rng = np.random.default_rng(1)
    proposals, count, drawn, logs = propose_and_draw(offsets, np.tile(logits, times), 3, rng)
    picked = proposals[np.arange(len(drawn)), drawn] % 6
    wanted = np.exp([1.0, 0.5, 0.0])
    wanted /= wanted.sum()
    for choice, probability in zip([1, 3, 0, 4, 5], [*wanted, 0.5, 0.5], strict=True):
        own = picked == choice
        assert own.sum() / times == pytest.approx(probability, abs=0.015)
        assert np.allclose(logs[own], np.log(probability), atol=1e-6)
    assert not (picked == 2).any(), "the fourth of four choices is not proposed"
    assert set(count) == {2, 3}
