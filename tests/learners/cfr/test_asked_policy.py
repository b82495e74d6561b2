"""Policies on trees of agents that answer by probabilities, against policies known on those trees."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dancfr
from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from dancfr.games.trees import make_tree
from envs.game import Game, States
from envs.tree import Tree
from learners.cfr import asked_policy as module
from learners.cfr.asked_policy import NoPolicy, SeesTooMuch, asked_policy
from learners.regret_matching import draw_actions
from tests.dancfr.agents.acting import FirstAction


class Asked:
    """Plays a policy given on a tree without listing it; infosets are found by the observations of their players."""

    name = "asked"

    def __init__(self, tree: Tree, policy: NDArray[np.float64]) -> None:
        self._row = {
            (int(p), row.tobytes()): k for k, (p, row) in enumerate(zip(tree.player, tree.observed, strict=True))
        }
        self._table = tree.to_table(policy)

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return draw_actions(
            self.probabilities(states, games).astype(np.float32),
            self._game.legal(states),
            rng.random(len(states), dtype=np.float32),
        )[0]

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        movers = self._game.to_move(states)
        seen = zip(movers.tolist(), self._game.observe(states, movers), strict=True)
        return self._table[[self._row[player, row.tobytes()] for player, row in seen]]


class Counts(FirstAction):
    """Plays the first legal action with probability 1 / (1 + own earlier moves), and else the last one."""

    name = "counts"

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self.rules, self.moves = game, np.zeros(batch, np.int64)

    def recall(
        self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        assert self.rules.legal(states)[np.arange(len(states)), actions].all()
        self.moves[games] += 1

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        legal = self.rules.legal(states)
        found, rows = np.zeros(legal.shape), np.arange(len(states))
        found[rows, legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)] = 1 - 1 / (1 + self.moves[games])
        found[rows, legal.argmax(axis=1)] += 1 / (1 + self.moves[games])
        return found


class Peeks(FirstAction):
    """Bets on a better card than the opponent's, which it should not see."""

    name = "peeks"

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        better = states["cards"][:, 0] > states["cards"][:, 1]
        return np.stack([~better, better], axis=1).astype(np.float64)


class Doubles(FirstAction):
    """Plays every action with probability 1."""

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.ones((len(states), 2))


def rounded(infostates: NDArray[Any], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Uniform play by five digits, whose sum is 0.99999 where there are three actions."""
    return np.round(legal / legal.sum(axis=1, keepdims=True), 5)


class Rounded(FirstAction):
    """Plays `rounded`."""

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        return rounded(states, self._game.legal(states))


GAMES: dict[str, dict[str, Any]] = {
    "kuhn": {},
    "leduc": {},
    "goofspiel5": {},
    "mini-geister": {"random_setup": False, "ply_limit": 3},  # without chance
    "openspiel:kuhn_poker(players=3)": {},
}


@pytest.mark.parametrize("name", GAMES)
def test_it_is_the_policy_that_answers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    monkeypatch.setattr(module, "BLOCK", 100)
    game: Any = make_game(name, **GAMES[name])
    tree = make_tree(game, general=True)
    drawn = np.random.default_rng(1).random(tree.num_slots)
    policy = drawn / np.add.reduceat(drawn, tree.slots[:-1])[tree.slot_infoset]
    assert asked_policy(game, tree, Asked(tree, policy)) == pytest.approx(policy, abs=1e-12)


@pytest.mark.parametrize("name", ["leduc", "goofspiel5", "mini-geister"])
def test_earlier_moves_are_recalled(name: str) -> None:
    game: Any = make_game(name, **GAMES[name])
    tree = make_tree(game)
    depth = np.zeros(len(tree.player), np.int64)
    for infoset, slot in enumerate(tree.parent_slot):
        depth[infoset] = 0 if slot < 0 else depth[tree.slot_infoset[slot]] + 1
    assert depth.max() > 0
    wanted = np.zeros(tree.num_slots)
    wanted[tree.slots[1:] - 1] = 1 - 1 / (1 + depth)
    wanted[tree.slots[:-1]] += 1 / (1 + depth)
    assert asked_policy(game, tree, Counts()) == pytest.approx(wanted)


def test_an_average_of_nets_answers_as_it_is_listed() -> None:
    pytest.importorskip("torch")
    from learners.policy_gradient.mixture import PolicyMixture
    from tests.learners.policy_gradient.test_mixture import members

    game: Any = make_game("leduc")
    tree, nets = make_tree(game), members(3, "leduc")
    mixture = PolicyMixture(nets, [1, 2, 5], nets[0], "mixture")
    assert asked_policy(game, tree, mixture) == pytest.approx(mixture.tree_policy(tree), abs=1e-5)


def test_who_looks_at_hidden_cards_is_found_out() -> None:
    game: Any = make_game("kuhn")
    with pytest.raises(SeesTooMuch, match=r"^player 0 plays differently in states that look the same to it: "):
        asked_policy(game, make_tree(game), Peeks())
    with pytest.raises(UsageError, match=r"^peeks: player 0 plays differently in states that look the same"):
        dancfr.exploitability(Peeks(), "kuhn")


def test_agents_without_a_policy_are_refused() -> None:
    game: Any = make_game("kuhn")
    with pytest.raises(NoPolicy):
        asked_policy(game, make_tree(game), FirstAction())
    with pytest.raises(ValueError, match="sum to 2 instead of 1"):
        asked_policy(game, make_tree(game), Doubles())


def test_rounded_probabilities_are_divided_by_their_sum() -> None:
    """As on games that are evaluated by a walk over their histories."""
    wanted = dancfr.exploitability("random", "leduc").nash_conv
    for agent in (Rounded(), dancfr.policy_agent(rounded, "leduc")):
        assert dancfr.exploitability(agent, "leduc").nash_conv == pytest.approx(wanted, abs=1e-12)


def test_an_agent_of_ones_own_loses_to_its_exact_response_what_is_computed() -> None:
    tree = make_tree("leduc")
    drawn = np.random.default_rng(2).random(tree.num_slots)
    agent = Asked(tree, drawn / np.add.reduceat(drawn, tree.slots[:-1])[tree.slot_infoset])
    found, response = dancfr.exploitability(agent, "leduc"), dancfr.exact_response(agent, "leduc")
    match = dancfr.play(response, agent, "leduc", games=20_000, seed=1)
    assert match.mean_return == pytest.approx(found.exploitability, abs=4 * match.result.return_error)
    assert match.result.return_error < 0.05
