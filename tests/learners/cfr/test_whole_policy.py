"""Policies at all infosets of games without a tree, of agents that draw a policy for a whole game."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.capabilities import ExactGame
from envs.game import Game, States
from envs.liars_dice import LiarsDice
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.cfr.whole_policy import evaluate_agent, whole_policy
from tests.envs.exact_games import packed_infosets, random_policies, ranks
from tests.envs.placement.boards import SMALL
from tests.envs.small_trees import tree_of

GAMES: dict[str, ExactGame] = SMALL | {
    f"liars_dice-{dice}x{faces}": LiarsDice(dice=dice, faces=faces) for dice, faces in ((1, 2), (1, 3), (2, 2))
}
ON_GAMES = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)


def reach_by_recall(game: ExactGame, player: int, policy: NDArray[np.float32]) -> NDArray[np.float64]:
    """The product of the probabilities of a player's earlier decisions before each infoset."""
    rank, reach = ranks(game), np.ones(len(policy))
    for rows, earlier, actions in game.decisions_before(game.infosets(player, 0, len(policy)), player):
        packed = game.observe(earlier, np.full(len(rows), player, np.int8))
        reach[rows] *= policy[[rank[row.tobytes()] for row in packed], actions]
    return reach


@ON_GAMES
def test_own_reach_is_the_product_of_the_decisions_before(game: ExactGame) -> None:
    for player, policy in enumerate(random_policies(game, 3, 0.3)):
        found = game.own_reach(player, policy)
        assert found == pytest.approx(reach_by_recall(game, player, policy), rel=1e-6)
        assert found[0] == 1
        assert (found > 0).mean() > 0.1


@ON_GAMES
def test_own_reach_of_other_arrays_is_refused(game: ExactGame) -> None:
    policy = random_policies(game, 3, 0)[1]
    with pytest.raises(ValueError, match=rf"^the policy of player 1 in {game.spec.name} must be float32\["):
        game.own_reach(1, policy[1:])
    with pytest.raises(ValueError, match=r", got float64\["):
        game.own_reach(1, policy.astype(np.float64))


class Table:
    """Plays the rows of a table at the infosets of a player."""

    name = "table"

    def __init__(self, game: ExactGame, player: int, policy: NDArray[np.float32]) -> None:
        self._rank = {row.tobytes(): k for k, row in enumerate(packed_infosets(game, player))}
        self._policy, self._game, self._player = policy, game, player

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None: ...

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        raise AssertionError("an exact evaluation plays no games")

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float32]:
        packed = self._game.observe(states, np.full(len(states), self._player, np.int8))
        return self._policy[[self._rank[row.tobytes()] for row in packed]]


class Draws:
    """Draws one of the policies of each player."""

    name = "draws"

    def __init__(self, game: ExactGame, policies: list[Any], shares: list[float]) -> None:
        self._game, self._policies, self._shares = game, policies, shares

    def parts(self, player: int) -> list[tuple[float, Table]]:
        tables = [Table(self._game, player, policies[player]) for policies in self._policies]
        return list(zip(self._shares, tables, strict=True))

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float32]:
        raise AssertionError("the parts are asked")


@ON_GAMES
def test_of_a_drawn_policy_it_is_the_average_by_own_reach(game: ExactGame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against any fixed opponent the average has the value that the draws have on average."""
    monkeypatch.setattr("learners.cfr.whole_policy.BLOCK", 5)
    policies, shares = [random_policies(game, seed, 0.4) for seed in (1, 2, 3)], [0.2, 0.5, 0.3]
    other = random_policies(game, 4, 0)
    done: list[list[float]] = [[], []]
    agent = Draws(game, policies, shares)
    first, second = (whole_policy(game, agent, player, done[player].append) for player in (0, 1))
    for answer in other[1], policies[0][1]:
        worth = sum(share * game.evaluate((each[0], answer))[0] for share, each in zip(shares, policies, strict=True))
        assert game.evaluate((first, answer))[0] == pytest.approx(worth, abs=1e-6)
    worth = sum(share * game.evaluate((other[0], each[1]))[0] for share, each in zip(shares, policies, strict=True))
    assert game.evaluate((other[0], second))[0] == pytest.approx(worth, abs=1e-6)
    for player, told in enumerate(done):
        assert told == sorted(told)
        assert told[-1] == pytest.approx(game.num_infosets(player))


def test_where_none_of_the_policies_gets_it_is_the_last_one() -> None:
    game = GAMES["dark_hex-2x2"]
    one = random_policies(game, 1, 0.5)
    found = whole_policy(game, Draws(game, [one, one], [0.5, 0.5]), 0)
    assert (game.own_reach(0, one[0]) == 0).any()
    assert found == pytest.approx(one[0], abs=1e-6)


@pytest.mark.parametrize("name", ["dark_hex-2x2-abrupt", "liars_dice-1x3"])
def test_mixtures_of_nets_are_worth_what_the_tree_says(name: str) -> None:
    pytest.importorskip("torch")
    from learners.policy_gradient.mixture import PolicyMixture
    from tests.learners.policy_gradient.test_mixture import members

    game: Any = GAMES[name]
    agents, tree = members(3, game), tree_of(game)
    mixture = PolicyMixture(agents, [1, 2, 5], agents[0], "mixture")
    expected = evaluate_policy(sequence_form(tree), mixture.tree_policy(tree))
    found = evaluate_agent(game, mixture, threads=1)
    assert (found.value, *found.best_responses) == pytest.approx((expected.value, *expected.best_responses), abs=1e-5)
