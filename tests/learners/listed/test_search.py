"""The search of Q-nets: its information, its play where the answer is known, its budget, and batches."""

import numpy as np
import pytest

from actors.dmc import DmcPlayer
from envs.guandan import GuanDan
from envs.guandan.bots.planner import PlannerBot
from envs.guandan.rules.cards import count_of
from envs.guandan.rules.state import GIVE_BACK, PAY
from envs.ragged import choose_rows
from learners.listed.agent import QAgent
from learners.listed.critic import CriticInference, without_critic
from learners.listed.network import QWithCritic
from learners.listed.search import DealSearch
from learners.listed.settings import ListedTrainingSettings, QNetworkSettings
from learners.search.settings import RolloutSettings
from tests.ragged_game import HeapGame

GAME = GuanDan(length="round")
NET = QNetworkSettings(width=8, depth=1, tower=1, tower_width=8, encoding="plans", choices="candidates")


def agent(with_critic: bool = True, seed: int = 1) -> QAgent:
    import torch

    torch.manual_seed(seed)
    training = ListedTrainingSettings(critic_width=8, critic_depth=1)
    weights = QWithCritic(NET, training, GAME.spec, GAME.full_inputs).inference_weights()
    critic = CriticInference(GAME, weights) if with_critic else None
    return QAgent(GAME, NET, without_critic(weights), "net", critic=critic)


def positions(plies: int, games: int = 12, seed: int = 5) -> np.ndarray:
    """Positions of games between planners, some plies after the start."""
    rng, bot = np.random.default_rng(seed), PlannerBot()
    states = GAME.reset(games, rng)
    bot.begin(GAME, games, rng)
    for _ in range(plies):
        states = states[~GAME.finished(states)]
        GAME.step(states, bot.act(states, np.arange(len(states)), rng))
    return states[~GAME.finished(states)]


def searching(settings: RolloutSettings, with_critic: bool = True) -> DealSearch:
    found = DealSearch(agent(with_critic), GAME, settings)
    found.begin(GAME, 64, np.random.default_rng(0))
    return found


FEW = RolloutSettings(search=24, depth=4, worlds=4)


@pytest.mark.parametrize("plies", [5, 30])
def test_deals_keep_what_the_player_sees_and_the_sizes_of_hands(plies):
    states = positions(plies)
    players = GAME.to_move(states)
    dealt = states.copy()
    GAME.redeal(dealt, players, np.arange(len(states), dtype=np.uint64))
    assert (GAME.observe(dealt, players) == GAME.observe(states, players)).all()
    own = np.arange(len(states)), players
    assert (dealt["low"][own] == states["low"][own]).all()
    assert (dealt["low"].sum(axis=1) == states["low"].sum(axis=1)).all(), "the same cards in all hands together"
    assert (dealt["high"].sum(axis=1) == states["high"].sum(axis=1)).all()
    others = (players + 1) % 4
    assert (dealt["low"][np.arange(len(states)), others] != states["low"][np.arange(len(states)), others]).any()
    again = states.copy()
    GAME.redeal(again, players, np.arange(len(states), dtype=np.uint64))
    assert (again == dealt).all()


def test_an_announced_tribute_stays_with_its_payer():
    """The first of two payers has named its card, which changes hands when the second has named one too."""
    states = positions(0, games=400)
    states = states[(states["phase"] == PAY) & (states["tributes"] == 2)]
    play_at_random(states)
    assert len(states) > 20
    assert (states["settled"] == 1).all()
    dealt = states.copy()
    GAME.redeal(dealt, GAME.to_move(states), np.arange(len(states), dtype=np.uint64))
    play_at_random(dealt)
    assert (dealt["phase"] == GIVE_BACK).all()
    for state in dealt:
        held = [sum(count_of(state["low"][s], state["high"][s], index) for index in range(54)) for s in range(4)]
        assert held == state["left"].tolist()


def play_at_random(states):
    legal = GAME.legal(states)
    GAME.step(states, legal.rows[choose_rows(legal.offsets, np.random.default_rng(2).random(len(states)))])


def test_every_unseen_card_is_dealt_to_every_seat_alike():
    """Of 4,000 deals of one position: how many cards of the first rank each of the others gets."""
    state = np.repeat(positions(0)[:1], 4000)
    player = GAME.to_move(state)
    GAME.redeal(state, player, np.random.default_rng(1).integers(0, 2**64, 4000, np.uint64))
    counts = []
    for step in (1, 2, 3):
        words = state["low"][np.arange(4000), (player + step) % 4]
        counts.append(sum(((words >> np.uint64(2 * suit)) & np.uint64(3)).astype(float) for suit in range(4)))
    means, total = [count.mean() for count in counts], sum(counts)
    assert (total == total[0]).all()
    assert total[0] > 3
    for mean, count in zip(means, counts, strict=True):
        assert abs(mean - total[0] / 3) < 5 * count.std() / np.sqrt(4000)


@pytest.mark.parametrize("with_critic", [True, False])
def test_what_is_hidden_changes_nothing(with_critic):
    states = positions(25)
    other = states.copy()
    GAME.redeal(other, GAME.to_move(states), np.arange(len(states), dtype=np.uint64))
    assert (other["low"] != states["low"]).any()
    search = searching(FEW, with_critic)
    games = np.arange(len(states))
    played = search.act(states, games, np.random.default_rng(3))
    assert (played == search.act(other, games, np.random.default_rng(3))).all()
    GAME.step(states, played)


def test_a_batch_is_played_like_its_games_one_by_one():
    states, search = positions(20), searching(FEW)
    whole = search.act(states, np.arange(len(states)), np.random.default_rng(3))
    rng = np.random.default_rng(3)
    for b in range(len(states)):
        assert search.act(states[b : b + 1], np.array([b]), rng)[0] == whole[b]


def test_the_search_finds_a_play_that_wins_at_once():
    """The partner went out first, and the player may play all its cards: +3. The search's choice brings as much in
    deals that it has not seen, or nearly; the choice of the net, which has learned nothing, does not."""
    points, counts = {"search": [], "net": []}, 0
    for plies in range(40, 90, 5):
        states = positions(plies, games=200, seed=plies)
        at = np.arange(len(states))
        movers, choices = GAME.to_move(states), GAME.candidates(states)
        left, length = states["left"][at, movers], np.diff(choices.offsets)
        ends = np.bincount(np.repeat(at, length), choices.rows["size"] == np.repeat(left, length), len(at)) > 0
        won = (states["out"] > 0) & (states["order"][:, 0] == (movers + 2) % 4)
        states = states[ends & won & (length > 1) & (length <= 8)]
        if not len(states):
            continue
        search = searching(RolloutSettings(search=400, candidates=8, worlds=8, temperature=0.0), with_critic=False)
        own = np.arange(len(states))
        for name, player in (("search", search), ("net", search.agent)):
            played = player.act(states, own, np.random.default_rng(1))
            deals = np.random.default_rng(2).integers(0, 2**64, (len(states), 32), np.uint64)
            points[name] += search._roll_out(states.repeat(32), played.repeat(32), deals.reshape(-1)).tolist()
        counts += len(states)
    assert counts > 10
    assert np.mean(points["search"]) > 2.9
    assert np.mean(points["net"]) < 2.5


def test_the_budget_of_roll_outs_is_kept(monkeypatch):
    used = []
    original = DealSearch._roll_out

    def counting(self, states, actions, deals):
        used.append(len(states))
        return original(self, states, actions, deals)

    monkeypatch.setattr(DealSearch, "_roll_out", counting)
    states = positions(20)[:1]
    searching(RolloutSettings(search=50, worlds=4, confidence=100.0)).act(
        states, np.arange(1), np.random.default_rng(1)
    )
    assert 34 < sum(used) <= 50
    used.clear()
    searching(RolloutSettings(ms=30.0, worlds=2)).act(states, np.arange(1), np.random.default_rng(1))
    assert sum(used) >= 8, "one round at least"


@pytest.mark.parametrize(("doubt", "likely"), [(0.2, True), (1.0, False)])
def test_deals_follow_the_belief_of_the_game_unless_all_is_doubted(doubt, likely):
    used = []

    class Watched(GuanDan):
        def redeal(self, states, players, seeds):
            used.append("uniform")
            super().redeal(states, players, seeds)

        def redeal_likely(self, states, players, seeds):
            used.append("likely")
            super().redeal_likely(states, players, seeds)

    states, game = positions(40), Watched(length="round")
    settings = RolloutSettings(search=24, depth=4, worlds=4, doubt=doubt)
    search = DealSearch(agent(), game, settings)
    search.begin(game, len(states), np.random.default_rng(0))
    found = search.search(states, np.random.default_rng(1))
    assert set(used) == {"likely" if likely else "uniform"}
    assert found.tries.sum() > 0


def test_games_that_cannot_be_dealt_anew_are_refused():
    heap = HeapGame()
    net = QNetworkSettings(width=4, depth=1)
    from learners.listed.network import QNet

    own = QAgent(heap, net, QNet(net, heap.spec).inference_weights())
    with pytest.raises(ValueError, match="which heap cannot do"):
        DealSearch(own, heap, FEW)
    assert DmcPlayer(heap, net, 0.1).game == heap
