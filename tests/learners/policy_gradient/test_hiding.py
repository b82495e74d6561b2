"""The price of showing secrets: disguises, the mean policy over them, and where it leads on Kuhn poker."""

from collections import Counter
from collections.abc import Sequence
from math import comb

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import LEARNER, TrajectoryTask, TrajectoryWeights
from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from dancfr.methods import find_preset
from dancfr.runs.config import apply_overrides
from envs.capabilities import DisguisedGame
from envs.game import Game
from envs.geister.observation import PACKED
from envs.players import choose_uniform
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.learner import PolicyLearner, log_policy
from learners.policy_gradient.settings import PolicyTrainingSettings

NETWORK = NetworkSettings(width=16, depth=1, norm="none", outputs="action")


def seen(game: Game, plies: int, games: int, seed: int) -> NDArray[np.uint8]:
    """Infostates of the players to move after some random plies."""
    rng = np.random.default_rng(seed)
    states = game.reset(games, rng)
    for _ in range(plies):
        states = states[~game.finished(states)]
        actions = choose_uniform(game.legal(states), rng.random(len(states)))
        game.step(states, actions.astype(np.int64), rng)
    states = states[~game.finished(states)]
    return game.observe(states, game.to_move(states))


def test_disguises_of_ranks_have_their_share_of_the_deck() -> None:
    from scipy.stats import chisquare

    game = make_game("leduc_2b2r")
    assert isinstance(game, DisguisedGame)
    for plies in (1, 3):
        packed = seen(game, plies, 20_000, 1)
        found = game.disguise(packed, np.random.default_rng(2))
        assert (np.delete(found, 1, axis=1) == np.delete(packed, 1, axis=1)).all()
        for board in np.unique(packed[:, 2]):
            left = np.full(3, 2) - (np.arange(3) == board)
            drawn = np.bincount(found[packed[:, 2] == board, 1], minlength=3)
            assert chisquare(drawn, drawn.sum() * left / left.sum()).pvalue > 1e-6


def uniform(counts: Sequence[int]) -> bool:
    """Whether counts are those of equally likely values: a chi-square test that fails once in a million."""
    from scipy.stats import chisquare

    return float(chisquare(counts).pvalue) > 1e-6


@pytest.mark.parametrize(("name", "plies"), [("kuhn", 1), ("leduc", 1), ("leduc", 3)])
def test_disguises_of_poker_have_any_other_card(name: str, plies: int) -> None:
    game = make_game(name)
    assert isinstance(game, DisguisedGame)
    packed = seen(game, plies, 20_000, 1)
    found = game.disguise(packed, np.random.default_rng(2))
    public = np.delete(np.arange(packed.shape[1]), 1)
    assert (found[:, public] == packed[:, public]).all()
    board = packed[:, 2] if name == "leduc" else np.full(len(packed), 255)
    assert (found[:, 1] != board).all()
    first = packed[:, 1] == packed[0, 1]  # whatever the card was
    shown = (board == board[0]) & first
    expected = 3 if name == "kuhn" else 6 - (board[0] < 6)
    counts = Counter(found[shown, 1].tolist())
    assert len(counts) == expected
    assert uniform(list(counts.values()))


@pytest.mark.parametrize("name", ["geister", "mini-geister"])
def test_disguises_of_geister_shuffle_the_colours_on_the_board(name: str) -> None:
    game = make_game(name)
    assert isinstance(game, DisguisedGame)
    packed = seen(game, 25, 3000, 1)
    found = game.disguise(packed, np.random.default_rng(2))
    before, after = (np.ascontiguousarray(each[:, : PACKED.itemsize]).view(PACKED)[:, 0] for each in (packed, found))
    for part in PACKED.names or ():
        assert part == "red" or (before[part] == after[part]).all()
    here = before["square"] != 255
    red, shuffled = (((each["red"][:, None] >> np.arange(8)) & 1).astype(bool) for each in (before, after))
    assert (red[~here] == shuffled[~here]).all(), "captured ghosts have been seen"
    assert ((red & here).sum(axis=1) == (shuffled & here).sum(axis=1)).all()
    assert (red != shuffled).any()
    one = np.repeat(packed[:1], 20_000, axis=0)
    counts = Counter(game.disguise(one, np.random.default_rng(3))[:, PACKED.fields["red"][1]].tolist())  # type: ignore[index]
    assert len(counts) == comb(int(here[0].sum()), int((red & here)[0].sum()))
    assert uniform(list(counts.values()))


def trained(hide: float, fits: int, seed: int = 1, disguises: int = 2) -> tuple[PolicyLearner, dict[str, float]]:
    """A learner of Kuhn poker after some fits, with the measurements of the last one."""
    game = make_game("kuhn")
    training = PolicyTrainingSettings(
        discount=1.0, trace=1.0, entropy=0.02, hide=hide, disguises=disguises, learning_rate=1e-2, batch=512
    )
    learner = PolicyLearner(game, NETWORK, training, seed=seed)
    found: dict[str, float] = {}
    for t in range(1, fits + 1):
        player = TrajectoryPlayer(game, 1.0, 1.0)
        task = TrajectoryTask((seed, t, 0), ((1000, (LEARNER, LEARNER)),))
        _, blocks = player.play(task, TrajectoryWeights(t, learner.network, (learner.weights(),)))
        found = learner.fit([blocks["net0"]], t)
    return learner, found


def facing_a_bet() -> NDArray[np.uint8]:
    """The infostates of the second player after a bet, with each card: to call wins with the highest alone."""
    game = make_game("kuhn")
    states = game.reset(3, np.random.default_rng(0))
    game.step(states, np.ones(3, np.int64), np.random.default_rng(0))
    states["cards"][:, 1] = np.arange(3)
    return game.observe(states, np.ones(3, np.int8))


def calls(learner: PolicyLearner) -> NDArray[np.float64]:
    """Probability of a call with each card, `float64[3]`."""
    legal = np.ones((3, 2), np.bool_)
    with torch.no_grad():
        outputs = learner.trainer.net(*learner._inputs(facing_a_bet(), legal, None))
        return np.asarray(log_policy(outputs[:, :2], torch.from_numpy(legal)).exp()[:, 1].double().numpy())


def test_the_mean_policy_is_that_over_all_cards() -> None:
    learner, found = trained(1e-9, 10)
    assert 0 <= found["shown"] < np.log(3)
    each = calls(learner)
    assert each.std() > 0.05
    packed = np.repeat(facing_a_bet()[2:], 20_000, axis=0)
    own = torch.tensor([[1 - each[2], each[2]]], dtype=torch.float32).repeat(len(packed), 1)
    legal = np.ones((len(packed), 2), np.bool_)
    mean = learner._mean_policy(packed, legal, None, own, np.random.default_rng(5))[:, 1].double().numpy()
    error = 5 * mean.std() / np.sqrt(len(mean))
    assert mean.mean() == pytest.approx((each[2] + 2 * each.mean()) / 3, abs=error), "own, and two of all three cards"


def test_a_high_price_makes_kuhn_poker_blind() -> None:
    free, dear = trained(0.0, 60), trained(1.0, 60)
    assert np.ptp(calls(free[0])) > 0.8, "it calls with the highest card and folds the lowest"
    assert np.ptp(calls(dear[0])) < 0.05, "it calls with any card as with the others"
    assert "shown" not in free[1]
    assert 0 <= dear[1]["shown"] < 0.005
    again, found = trained(1.0, 60)
    assert found == dear[1] | {key: found[key] for key in found if key in ("seconds", "cpu")}
    assert all((again.weights()[name] == array).all() for name, array in dear[0].weights().items())


def test_games_that_cannot_disguise_infostates_are_refused() -> None:
    config = find_preset("leduc-policy-gradient").config
    with pytest.raises(UsageError, match=r"training\.hide: liars_dice cannot disguise infostates"):
        apply_overrides(config, ("game=liars_dice", "training.hide=0.1")).check()
    with pytest.raises(UsageError, match="hide and hide_end must both be positive"):
        apply_overrides(config, ("training.hide=0.1", "training.hide_end=0"))
    with pytest.raises(UsageError, match="has no one to hide from"):
        apply_overrides(find_preset("best-response").config, ("training.hide=0.1",)).check()
