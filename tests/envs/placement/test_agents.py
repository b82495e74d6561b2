"""Agents on games without a tree: their policies at all infosets, with a memory or without, and refusals."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.evaluation.bots import make_bot
from dancfr.evaluation.exploitability import evaluate_exactly
from envs.dark_hex import DarkHex
from envs.game import Game, States
from envs.placement.game import PlacementGame
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.cfr.whole_policy import NoPolicy, evaluate_agent, whole_policy
from learners.dream.agent import DreamAgent
from learners.networks.settings import NetworkSettings
from tests.envs.exact_games import packed_infosets, random_policies
from tests.envs.placement.boards import SMALL
from tests.envs.small_trees import tree_of

NET = NetworkSettings(trunk="flat", width=8, depth=1, norm="none", outputs="action")
HEX = SMALL["dark_hex-2x2"]


class Tabular:
    """Plays one row of a table at each infoset of a player."""

    name = "tabular"

    def __init__(self, game: PlacementGame, player: int, policy: NDArray[np.float32]) -> None:
        self._rank = {row.tobytes(): k for k, row in enumerate(packed_infosets(game, player))}
        self._policy, self._game, self._player = policy, game, player
        self.batches: list[int] = []

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self.batches.append(batch)

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float32]:
        assert (self._game.to_move(states) == self._player).all()
        packed = self._game.observe(states, np.full(len(states), self._player, np.int8))
        return self._policy[[self._rank[row.tobytes()] for row in packed]]


class Pair:
    """One agent for each player."""

    name = "pair"

    def __init__(self, first: Any, second: Any) -> None:
        self._agents = first, second

    def at_seat(self, player: int) -> Any:
        return self._agents[player]


class Silent:
    """An agent that says nothing of its policy."""

    name = "silent"

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return self._game.legal(states).argmax(1)


class Bold(Silent):
    """An agent whose probabilities are twice those of uniform play."""

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        legal = self._game.legal(states)
        return 2 * legal / legal.sum(1, keepdims=True)


def dream(game: PlacementGame, average: Any, threshold: float = 0.0) -> DreamAgent:
    """An agent of three random nets for each player."""
    torch = pytest.importorskip("torch")
    from learners.networks.modules import ValueNet

    torch.manual_seed(1)

    def net() -> Any:
        module = ValueNet(NET, game.spec)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.normal_(0, 1.5)
        return module.inference_weights()

    return DreamAgent(
        game, NET, {player: [(t, net()) for t in (1, 2, 3)] for player in (0, 1)}, average, threshold=threshold
    )


@pytest.mark.parametrize("threshold", [0, 0.6])
@pytest.mark.parametrize("average", ["exact", "sampled", "paper", "last"])
@pytest.mark.parametrize("abrupt", [False, True])
def test_averages_of_nets_are_worth_what_the_tree_says(abrupt: bool, average: Any, threshold: float) -> None:
    """With a threshold, an exact average is not a mixture of policies any more, so that it has to recall."""
    game = DarkHex(abrupt, rows=2, columns=2)
    agent, tree = dream(game, average, threshold), tree_of(game)
    assert bool(agent.parts(0)) == (average == "sampled" or (average == "exact" and not threshold))
    expected = evaluate_policy(sequence_form(tree), agent.tree_policy(tree))
    found = evaluate_agent(game, agent, threads=1)
    assert found.value == pytest.approx(expected.value, abs=1e-5)
    assert found.best_responses == pytest.approx(expected.best_responses, abs=1e-5)
    assert found.as_dict().keys() == expected.as_dict().keys()


def test_memory_of_earlier_decisions_matters() -> None:
    """Without `recall` the average at an infoset would have other weights."""
    exact, paper = (whole_policy(HEX, dream(HEX, average), 0) for average in ("exact", "paper"))
    first = HEX.infosets(0, 0, len(exact))["tried"][:, 0] == 0
    assert np.allclose(exact[first], paper[first], atol=1e-6)
    assert np.abs(exact[~first] - paper[~first]).max() > 0.01


@pytest.mark.parametrize("block", [7, 1 << 16])
def test_agents_at_seats_are_asked_at_all_their_infosets(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learners.cfr.whole_policy.BLOCK", block)
    policies = random_policies(HEX, 5, 0.4)
    first, second = (Tabular(HEX, player, policies[player]) for player in (0, 1))
    done: list[float] = []
    found = evaluate_agent(HEX, Pair(first, second), 2, done.append)
    assert (found.value, *found.best_responses) == pytest.approx(HEX.evaluate(policies), abs=1e-12)
    assert done == sorted(done)
    assert done[-1] == 1
    for player, agent in enumerate((first, second)):
        assert sum(agent.batches) == HEX.num_infosets(player)
        assert max(agent.batches) <= block


def test_agent_without_probabilities_is_refused() -> None:
    with pytest.raises(NoPolicy, match=r"^it cannot say with which probability it plays each action$"):
        evaluate_agent(HEX, Silent(), 1)
    with pytest.raises(
        UsageError, match=r"^silent cannot say with which probability it plays each action: give it the method"
    ):
        evaluate_exactly("silent", Silent(), HEX)


def test_probabilities_that_do_not_sum_to_1_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^bold: its probabilities of the legal actions sum to 2 instead of 1$"):
        evaluate_exactly("bold", Bold(), HEX)


def test_large_board_is_refused() -> None:
    game = DarkHex(rows=3, columns=4)
    with pytest.raises(UsageError, match=r"^random: exact evaluation takes boards of at most 10 cells, got 12$"):
        evaluate_exactly("random", make_bot("random", game), game)


def test_random_agent_plays_uniformly() -> None:
    game = SMALL["dark_hex-2x3"]
    found = evaluate_exactly("random", make_bot("random", game), game)
    assert (found.value, *found.best_responses) == pytest.approx((0.6, 1.0, -0.25), abs=1e-6)
    assert found.uniform == found.exploitability
    assert json.dumps(found.as_dict())
