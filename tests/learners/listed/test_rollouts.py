"""Roll-outs of a Q-net in GuanDan against a plain loop, and the decisions at which its critic is asked."""

import numpy as np
import pytest

from envs.guandan import GuanDan
from envs.guandan.rules.state import PAY
from learners.listed.agent import QAgent
from learners.listed.rollouts import roll_out
from learners.listed.search import DealSearch
from learners.search.settings import RolloutSettings
from tests.learners.listed.test_search import GAME, agent, positions


def plain(
    net: QAgent, state: np.ndarray, player: int, action: np.ndarray | None, depth: int, trace: float, playouts: float
) -> float:
    """The return of one roll-out, as the words of `roll_out` have it."""
    assert net.critic is not None
    state, found, weight, ply = state.copy(), 0.0, 1.0, 0
    before = GAME.rounds(state)
    while True:
        if action is not None:
            GAME.step(state, action)
            if GAME.rounds(state) > before:
                won = float(GAME.round_returns(state)[0, player])
                return found + weight * (won + net.win_bonus * np.sign(won))
        action = net.act(state, np.zeros(1, np.int64), np.random.default_rng(0))
        legal = net.network.list_choices(GAME, state)
        if len(legal.rows) > 1:  # a decision
            mover = GAME.to_move(state)
            value = float(net.critic(GAME.observe(state, mover), GAME.observe_hidden(state, mover))[0])
            most = GAME.spec.max_return + net.win_bonus
            value = min(max(value, -most), most)
            value = value if (int(mover[0]) - player) % 2 == 0 else -value
            end = float(GAME.play_out(state)[0, player])
            if not np.isnan(end):
                value = (1 - playouts) * value + playouts * (end + net.win_bonus * np.sign(end))
            if ply >= depth:
                return found + weight * value
            found += weight * (1 - trace) * value
            weight *= trace
        ply += 1


@pytest.mark.parametrize("depth", [0, 3, 8])
@pytest.mark.parametrize("trace", [1.0, 0.6])
@pytest.mark.parametrize("plies", [20, 60])
@pytest.mark.parametrize(("win_bonus", "playouts"), [(0.0, 0.0), (0.0, 0.4), (6.0, 0.4)])
def test_roll_outs_are_those_of_a_plain_loop(
    win_bonus: float, playouts: float, plies: int, trace: float, depth: int
) -> None:
    net = agent()
    net.win_bonus = win_bonus
    states = positions(plies, games=40)
    players = (GAME.to_move(states) + np.arange(len(states)) % 4).astype(np.int8) % 4
    actions = net.act(states, np.arange(len(states)), np.random.default_rng(0))
    assert len(states) > 10
    for first in (actions, None):
        found = roll_out(GAME, net, states.copy(), players, first, depth, trace, playouts)
        expected = [
            plain(
                net,
                states[b : b + 1],
                int(players[b]),
                None if first is None else first[b : b + 1],
                depth,
                trace,
                playouts,
            )
            for b in range(len(states))
        ]
        assert found == pytest.approx(expected, abs=1e-5)


def test_values_with_points_for_winning_are_not_returns() -> None:
    """A critic that was trained with a bonus of 6 points says 8 where the return would be above 2."""
    net, rng = agent(), np.random.default_rng(0)
    assert net.critic is not None
    net.critic.weights["critic.1.w"][:], net.critic.weights["critic.1.b"][:] = 0, 8
    states = positions(20, games=20)
    players = GAME.to_move(states)
    for net.win_bonus, most in ((0.0, 3), (6.0, 8)):
        found = roll_out(GAME, net, states.copy(), players, None, 0, 1.0, 0.0)
        assert set(np.abs(found)) == {most}
    search = DealSearch(net, GAME, RolloutSettings(search=16, depth=2, worlds=2))
    at = int(np.flatnonzero(np.diff(net.network.list_choices(GAME, states).offsets) > 1)[0])
    for thinker in (net, search):
        thought = thinker.think(states[at : at + 1], rng)
        assert thought.value is thought.value_from is thought.values is thought.values_are is None
    net.win_bonus = 0.0
    for thinker in (net, search):
        assert thinker.think(states[at : at + 1], rng).values is not None


def test_where_cards_of_tribute_are_due_the_critic_speaks_alone() -> None:
    net, states = agent(), positions(0, games=100)
    net.learn_scripted = True  # otherwise a rule makes these decisions, and no value is asked for
    states = states[states["phase"] == PAY]
    assert len(states) > 20
    players = GAME.to_move(states)
    assert np.isnan(GAME.play_out(states)).all()
    critic, half = (roll_out(GAME, net, states.copy(), players, None, 0, 1.0, share) for share in (0.0, 0.5))
    assert (critic == half).mean() > 0.5  # others have no choice of a card, and are valued in the playing phase
    assert np.isfinite(half).all()


def test_critic_is_never_asked_about_a_player_without_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    net, seen = agent(), 0
    original = GuanDan.observe_hidden

    def watching(game: GuanDan, states: np.ndarray, players: np.ndarray) -> np.ndarray:
        nonlocal seen
        assert (np.diff(net.network.list_choices(game, states).offsets) > 1).all()
        seen += len(states)
        return original(game, states, players)

    monkeypatch.setattr(GuanDan, "observe_hidden", watching)
    states = positions(40, games=200)
    settled = np.diff(net.network.list_choices(GAME, states).offsets) == 1
    assert 20 < settled.sum() < len(states) - 20, "both kinds of positions"
    net.begin(GAME, len(states), np.random.default_rng(0))
    roll_out(GAME, net, states.copy(), GAME.to_move(states), None, 4, 0.5, 0.0)
    for b in np.flatnonzero(settled)[:5]:
        value, value_from = net.critic_value(states[b : b + 1], np.random.default_rng(1))
        assert value_from == "critic"
        assert value is not None
        assert abs(value) <= GAME.spec.max_return
    assert seen > 200


def test_without_a_critic_every_round_is_played_to_its_end() -> None:
    net = agent(with_critic=False)
    states = positions(30, games=40)
    found = roll_out(GAME, net, states.copy(), GAME.to_move(states), None, 0, 0.5, 0.0)
    assert set(np.abs(found)) == {0.0, 1.0, 2.0, 3.0}, "what a round can bring; 0 is a draw"
