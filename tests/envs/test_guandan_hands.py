"""The inputs of a critic of GuanDan: the hands of the others and their prices."""

import numpy as np
import pytest

from envs.capabilities import FullView
from envs.guandan import GuanDan
from envs.guandan.inputs import hands, plans
from envs.guandan.inputs.observation import CARD_INPUTS, INPUTS
from envs.guandan.inputs.ranks import PLACES
from envs.guandan.rules.state import PLAY

GAME = GuanDan()


def test_a_critic_sees_each_hand_as_its_player_does() -> None:
    """Hands and prices are those that the encoding `plans` shows to the players of the hands."""
    assert isinstance(GAME, FullView)
    rng = np.random.default_rng(1)
    states = GAME.reset(6, rng)
    own = GAME.spec.shapes["plans"][0] - CARD_INPUTS
    compared = out = 0
    while len(states):
        movers = GAME.to_move(states)
        packed, hidden = GAME.observe(states, movers), GAME.observe_hidden(states, movers)
        assert hidden.shape == (len(states), GAME.hidden_size)
        x = GAME.encode_full(packed, hidden)
        assert x.shape == (len(states), GAME.full_inputs) == (len(states), own + hands.INPUTS)
        np.testing.assert_array_equal(x[:, :own], GAME.encode(packed, "plans")[:, CARD_INPUTS:])
        for i in range(3):
            seats = ((movers + 1 + i) % 4).astype(np.int8)
            theirs = GAME.encode(GAME.observe(states, seats), "plans")
            at = own + i * (PLACES + 1 + plans.RAMPS)
            np.testing.assert_array_equal(x[:, at : at + PLACES], theirs[:, INPUTS : INPUTS + PLACES])
            price = x[:, at + PLACES : at + PLACES + 1 + plans.RAMPS]
            left = states["left"][np.arange(len(states)), seats]
            # A hand of 28 cards is shown to its player as 27.
            same = (left > 0) & (left < 28) & (states["phase"] == PLAY)
            wanted = theirs[:, -plans.INPUTS : -1]
            np.testing.assert_allclose(price[same], wanted[same], atol=1 / 256)
            assert not price[left == 0].any()
            compared, out = compared + int(same.sum()), out + int((left == 0).sum())
        lists = GAME.candidates(states)
        picked = lists.offsets[:-1] + (rng.random(len(states)) * np.diff(lists.offsets)).astype(int)
        GAME.step(states, lists.rows[picked])
        states = states[~GAME.finished(states)]
    assert compared > 500
    assert out > 20


def test_negative_prices_survive_packing() -> None:
    """A hand of bombs needs the lead less than never."""
    states = GAME.reset(1, np.random.default_rng(0))
    states["phase"] = PLAY
    seat = (int(states["to_move"][0]) + 1) % 4
    states["low"][0, seat], states["high"][0, seat], states["left"][0, seat] = 0xAAAA, 0, 16
    movers = states["to_move"].astype(np.int8)
    x = GAME.encode_full(GAME.observe(states, movers), GAME.observe_hidden(states, movers))
    price = 4 * float(x[0, GAME.spec.shapes["plans"][0] - CARD_INPUTS + PLACES])
    assert price < -0.5
    assert price == pytest.approx(round(256 * price) / 256)
