"""A critic that sees all players' infostates: its inputs, its values, and that the policy never sees them."""

import numpy as np
import pytest
import torch

from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import LEARNER, TrajectoryTask, TrajectoryWeights
from dancfr.games.registry import make_game
from envs.game import Game
from learners.networks.settings import NetworkSettings, network_for
from learners.policy_gradient.critic import CriticInference, other_views, policy_alone, split_views
from learners.policy_gradient.learner import PolicyLearner
from learners.policy_gradient.settings import PolicyTrainingSettings

KUHN = make_game("kuhn")
NETWORK = NetworkSettings(width=32, depth=2, norm="none", outputs="action")
TRAINING = PolicyTrainingSettings(
    critic="all", discount=1.0, trace=1.0, entropy=0.1, learning_rate=0.01, learning_rate_end=1e-3, schedule=60
)


def play(game: Game, learner: PolicyLearner, games: int, version: int, critic: bool = True) -> np.ndarray:
    player = TrajectoryPlayer(game, 1.0, 1.0, critic=critic)
    task = TrajectoryTask((7, version, 0), ((games, (LEARNER,) * game.spec.num_players),))
    return player.play(task, TrajectoryWeights(version, learner.network, (learner.weights(),)))[1]["net0"]


@pytest.mark.parametrize("name", ["geister", "cheat", "leduc"])
def test_samples_hold_what_each_player_sees(name: str) -> None:
    game = make_game(name, players=3) if name == "cheat" else make_game(name)
    players = game.spec.num_players
    rng = np.random.default_rng(1)
    states = game.reset(50, rng)
    movers = game.to_move(states)
    others = other_views(game, states, movers)
    views = split_views(game.observe(states, movers), others)
    assert len(views) == players
    for step, view in enumerate(views):
        np.testing.assert_array_equal(view, game.observe(states, (movers + step) % players))


def test_the_critic_knows_both_cards_and_the_policy_does_not() -> None:
    """With both cards, most of a showdown's result is known: the values explain far more than those of one card."""
    learner = PolicyLearner(KUHN, NETWORK, TRAINING, seed=1)
    for t in range(1, 61):
        found = learner.fit([play(KUHN, learner, 2000, t)], t)
    assert found["critic_explained"] > found["explained"] + 0.1
    rows = play(KUHN, learner, 4000, 61)
    critic = CriticInference(KUHN, NETWORK, learner.weights())
    values = critic(rows["infostate"], rows["others"]) / KUHN.spec.max_return
    np.testing.assert_allclose(rows["target"] - rows["advantage"], values, atol=1e-5)  # those of the critic
    swapped = rows["others"][np.random.default_rng(2).permutation(len(rows))]
    assert np.abs(critic(rows["infostate"], swapped) - critic(rows["infostate"], rows["others"])).max() > 0.5
    again = critic(*(np.ascontiguousarray(rows[name]) for name in ("infostate", "others")))
    net = learner.trainer.net
    from learners.networks.inference import encoder

    encode = encoder(KUHN, NETWORK)
    seen = net.tensors([encode(view) for view in split_views(rows["infostate"], rows["others"])])
    with torch.no_grad():
        np.testing.assert_allclose(net.critic(seen)[:, 0].numpy() * KUHN.spec.max_return, again, atol=1e-4)


def test_without_the_critic_the_weights_are_those_of_the_policy() -> None:
    learner = PolicyLearner(KUHN, NETWORK, TRAINING, seed=1)
    plain = PolicyLearner(KUHN, NETWORK, TRAINING.model_copy(update={"critic": "own"}), seed=1)
    own = policy_alone(learner.weights())
    assert own.keys() == plain.weights().keys()
    assert len(learner.weights()) == 2 * len(own)
    started = PolicyLearner(KUHN, NETWORK, TRAINING, seed=5, start=plain.weights())
    for name, array in plain.weights().items():
        np.testing.assert_array_equal(started.weights()[name], array)


def test_states_of_a_learner_with_a_critic_go_on_exactly() -> None:
    def fit(learner: PolicyLearner, t: int) -> None:
        learner.fit([play(KUHN, learner, 200, t)], t)

    one, other = (PolicyLearner(KUHN, NETWORK, TRAINING, seed=seed) for seed in (1, 2))
    fit(one, 1)
    other.load_state_arrays(*one.state_arrays())
    for learner in (one, other):
        fit(learner, 2)
    for name, array in one.weights().items():
        np.testing.assert_array_equal(array, other.weights()[name])


def test_games_of_one_net_for_each_player_have_a_critic_for_each() -> None:
    game = make_game("cheat", ranks=3, copies=2, dealt=3, discards="cards")
    network = network_for(game.spec).model_copy(update={"width": 16, "depth": 1})
    nets = tuple(PolicyLearner(game, network, TRAINING, seed=n).weights() for n in range(game.spec.num_players))
    task = TrajectoryTask((1, 1, 0), ((20, (LEARNER,) * game.spec.num_players),))
    player = TrajectoryPlayer(game, 1.0, 1.0, critic=True)
    blocks = player.play(task, TrajectoryWeights(1, network, nets))[1]
    for number, net in enumerate(nets):
        rows = blocks[f"net{number}"]
        values = CriticInference(game, network, net)(rows["infostate"], rows["others"]) / game.spec.max_return
        np.testing.assert_allclose(rows["target"] - rows["advantage"], values, atol=1e-5)
