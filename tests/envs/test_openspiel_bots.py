"""Agents beside OpenSpiel's bots and policies, in both directions."""

from copy import copy

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import pyspiel
from open_spiel.python import policy as spiel_policies
from open_spiel.python.algorithms import exploitability as spiel_exploitability

from dancfr.evaluation.arena import play
from envs.agent import Recalls, StatesPolicy
from envs.game import States
from envs.openspiel import OpenSpielGame, openspiel_tree, to_openspiel_policy
from envs.openspiel.bots import AgentBot, AgentPolicy, SpielAgent
from envs.players import RandomAgent
from envs.tree import Tree
from learners.cfr.agent import TabularAgent
from learners.cfr.players_form import evaluate_form, exact_form

THREE = "kuhn_poker(players=3)"


def table_agent(text: str, seed: int) -> tuple[OpenSpielGame, Tree, np.ndarray, TabularAgent]:
    """A game, its tree, a random policy and the agent that plays it."""
    game = OpenSpielGame(text)
    tree = openspiel_tree(game, general=True)
    weight = np.random.default_rng(seed).exponential(size=tree.num_slots) ** 3
    policy = weight / np.add.reduceat(weight, tree.slots[:-1])[tree.slot_infoset]
    assert tree.identity is not None
    return game, tree, policy, TabularAgent(tree.identity, tree.to_table(policy), "table", identified=True)


@pytest.mark.parametrize("text", ["kuhn_poker", THREE, "matrix_pd", "tiny_hanabi"])
def test_bots_earn_in_openspiel_as_much_as_the_policy_is_worth(text: str) -> None:
    game, tree, policy, agent = table_agent(text, 1)
    players, games = range(game.spec.num_players), 2000
    rng = np.random.default_rng(0)
    bots = [AgentBot(game, copy(agent), player, rng) for player in players]
    returns = [pyspiel.evaluate_bots(game.spiel.new_initial_state(), bots, seed) for seed in range(games)]
    found = evaluate_form(exact_form(tree), policy)
    values = getattr(found, "values", (found.value, -found.value))
    error = np.std(returns, axis=0) / np.sqrt(games) + 1e-9
    assert (np.abs(np.mean(returns, axis=0) - values) < 4 * error).all()


@pytest.mark.parametrize("text", ["kuhn_poker", THREE, "tiny_hanabi"])
def test_agents_have_the_same_nash_conv_as_policies_of_openspiel(text: str) -> None:
    game, tree, policy, agent = table_agent(text, 2)
    found = spiel_exploitability.nash_conv(game.spiel, AgentPolicy(game, agent))
    assert found == pytest.approx(evaluate_form(exact_form(tree), policy).nash_conv)
    cpp = spiel_policies.python_policy_to_pyspiel_policy(
        spiel_policies.tabular_policy_from_callable(game.spiel, AgentPolicy(game, agent).action_probabilities)
    )
    assert pyspiel.nash_conv(game.spiel, cpp, True) == pytest.approx(found)


def test_bots_know_their_policy_and_their_seat() -> None:
    game, _, _, agent = table_agent("kuhn_poker", 3)
    bot = AgentBot(game, agent, 0, np.random.default_rng(0))
    state = game.spiel.new_initial_state()
    for card in (2, 0):
        state.apply_action(card)
    assert bot.provides_policy()
    told, action = bot.step_with_policy(state)
    assert sum(chance for _, chance in told) == pytest.approx(1)
    assert [each for each, _ in told] == state.legal_actions()
    assert action in state.legal_actions()
    state.apply_action(0)
    with pytest.raises(ValueError, match="table plays seat 0, and 1 is to move"):
        bot.step(state)


class Rememberer(RandomAgent):
    """Notes all moves that it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[int] = []

    def begin(self, game: OpenSpielGame, batch: int, rng: np.random.Generator) -> None:
        super().begin(game, batch, rng)
        self.told = []

    def recall(self, states: States, games: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> None:
        assert self._game is not None
        assert self._game.legal(states)[0, actions[0]]
        self.told += actions.tolist()


def test_bots_that_start_in_the_middle_recall_their_moves() -> None:
    game, agent = OpenSpielGame("leduc_poker"), Rememberer()
    assert isinstance(agent, Recalls)
    bot = AgentBot(game, agent, 0, np.random.default_rng(0))
    state = game.spiel.new_initial_state()
    for choice in (0, 3, 2, 1, 4, 1):  # two cards; raise, call; the public card; call
        state.apply_action(choice)
    bot.restart_at(state)
    assert agent.told == [2, 1]


def test_policies_of_openspiel_play_here() -> None:
    game, tree, policy, agent = table_agent(THREE, 4)
    theirs = to_openspiel_policy(tree, policy, game)
    other = SpielAgent(theirs, "theirs")
    assert isinstance(other, StatesPolicy)
    states = game.reset(50, np.random.default_rng(1))
    places = np.arange(50)
    for each in (agent, other):
        each.begin(game, 50, np.random.default_rng(0))
    assert np.allclose(agent.probabilities(states, places), other.probabilities(states, places))
    uniform = SpielAgent(spiel_policies.UniformRandomPolicy(game.spiel))
    uniform.begin(game, 50, np.random.default_rng(0))
    assert np.allclose(uniform.probabilities(states, places), 0.5)
    result = play(game, (other, agent), 300, np.random.default_rng(2))
    assert result.games == 300


def test_bots_of_openspiel_play_here() -> None:
    """Monte-Carlo tree search, which sees all of the state, beats random play at tic-tac-toe."""
    game = OpenSpielGame("tic_tac_toe")
    evaluator = pyspiel.RandomRolloutEvaluator(2, 3)
    bots = [
        pyspiel.MCTSBot(game.spiel, evaluator, 2.0, 50, 10, False, seed, False, pyspiel.ChildSelectionPolicy.UCT)
        for seed in (0, 1)
    ]
    searching = SpielAgent(bots, "search")
    result = play(game, (searching, RandomAgent()), 60, np.random.default_rng(0))
    assert result.win_rate > 0.8
    searching.begin(game, 1, np.random.default_rng(0))
    with pytest.raises(TypeError, match="search consists of bots"):
        searching.probabilities(game.reset(1, np.random.default_rng(0)), np.arange(1))


class Silent:
    """Plays the first legal action, and does not say so."""

    name = "silent"

    def begin(self, game: OpenSpielGame, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self._game.legal(states).argmax(axis=1)


def test_agents_without_probabilities_are_bots_but_no_policies() -> None:
    game = OpenSpielGame("kuhn_poker")
    bots = [AgentBot(game, Silent(), player, np.random.default_rng(0)) for player in (0, 1)]
    assert not bots[0].provides_policy()
    assert {abs(pyspiel.evaluate_bots(game.spiel.new_initial_state(), bots, seed)[0]) for seed in range(9)} == {1.0}
    with pytest.raises(TypeError, match="silent does not say with which probabilities it plays: use AgentBot"):
        AgentPolicy(game, Silent())
