"""The thoughts of agents of every kind about a position: their policies, and nothing that they cannot know."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.agents.insight import Insight, bring, consult
from dancfr.agents.searching import searching, split_search
from dancfr.evaluation.bots import bots
from dancfr.games.registry import make_game
from dancfr.games.trees import make_tree
from dancfr.methods import method_named
from dancfr.methods.agent_name import parse_name
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.game import GameBase, GameOver, ListedGame, States
from envs.geister.rules import layouts
from envs.guandan.beliefs.net import shipped_belief
from envs.players import RandomAgent
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.search.settings import RolloutSettings
from tests.dancfr.agents.insights import WIDE, ZERO, decisions, examine, options_of, step
from tests.dancfr.methods.small_runs import small
from tests.dancfr.methods.table_runs import run_preset

BOTS = [
    (game, name)
    for game in ("geister", "mini-geister", "guandan", "cheat", "mini-cheat", "leduc", "goofspiel5")
    for name in bots(make_game(game))
]
STORED = [
    ("geister", "pretrained:geister"),
    ("geister", "pretrained:geister?search=32&depth=4"),
    ("geister", "pretrained:geister-own-view"),
    ("geister", "pretrained:geister-own-view?search=32&depth=4&average=weights"),
    ("geister", "pretrained:geister-response"),
    ("guandan", "pretrained:guandan"),
    ("guandan", "pretrained:guandan?search=16&depth=2&worlds=4"),
]
RUNS = [
    "dream",
    "policy-gradient",
    "value-functions",
    "best-response",
    "belief-tables",
    "belief-search",
    "cheat-cfr",
    "dmc",
    "candidate-policy",
]


@pytest.mark.parametrize(("game", "name"), BOTS)
def test_every_bot_can_be_consulted(game: str, name: str) -> None:
    rules = make_game(game)
    hidden = examine(rules, make_agent(name, rules), 16, 1 if "cheat" in game else 3)
    assert hidden > 0 or game in ("mini-cheat", "goofspiel5"), "nothing was exchanged"


@pytest.mark.parametrize(("game", "name"), STORED)
def test_every_pretrained_agent_can_be_consulted(game: str, name: str) -> None:
    rules = make_game(game, **options_of(game))
    assert examine(rules, make_agent(name, rules), 24, 5) > 0


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The run of two iterations of a method, by its name."""
    folder, made = tmp_path_factory.mktemp("runs"), dict[str, Path]()

    def run(method: str) -> Path:
        if method not in made:
            made[method] = folder / method
            run_preset(made[method], *small(method_named(method), "iterations=2"))
        return made[method]

    return run


def game_of(run: Path) -> Any:
    config: Any = Run.open(run).info["config"]
    return make_game(config["game"], **config["game_options"])


@pytest.mark.parametrize("method", RUNS)
def test_a_run_of_every_method_can_be_consulted(method: str, trained: Any) -> None:
    run = trained(method)
    game = game_of(run)
    agent = make_agent(str(run), game)
    examine(game, agent, 20, 3)
    found = [consult(agent, game, *each, np.random.default_rng(1), draws=8) for each in decisions(game, agent, 12)]
    assert {each.source for each in found} <= (
        {"greedy", "settled"} if method in ("dmc", "candidate-policy") else {"policy"}
    )


def frequencies(
    agent: Any, game: Any, states: States, history: list[tuple[States, Any]], count: int
) -> tuple[list[float], int]:
    """How often `act` chooses each legal action in copies of the games in which it has played like in the history."""
    made, rng, kept = (
        bring(agent, game, [], np.random.default_rng(0), count),
        np.random.default_rng(5),
        np.arange(count),
    )
    for before, action in history:
        kept = kept[made.act(np.repeat(before, len(kept)), kept, rng) == action]
    chosen = made.act(np.repeat(states, len(kept)), kept, rng)
    played = [float((chosen == action).sum()) / max(1, len(kept)) for action in np.flatnonzero(game.legal(states)[0])]
    return played, len(kept)


@pytest.mark.parametrize(
    ("method", "query"),
    [
        ("dream", "?average=exact"),
        ("dream", "?average=sampled"),
        ("dream", "?average=sampled&threshold=0.4"),
        ("dream", "?average=paper&threshold=0.3"),
        ("dream", "?average=last"),
        ("policy-gradient", ""),
        ("policy-gradient", "?threshold=0"),
        ("value-functions", ""),
        ("belief-tables", ""),
        ("belief-search", ""),
    ],
)
def test_an_exact_policy_is_how_often_each_action_is_played(method: str, query: str, trained: Any) -> None:
    """5,000 games each; those in which the agent has moved before count if it has made the same moves."""
    run = trained(method)
    game = game_of(run)
    agent, compared = make_agent(f"{run}{query}", game), 0
    for seed in range(24 if game.spec.name == "kuhn" else 6):
        for states, history in decisions(game, agent, 4, seed):
            policy = consult(agent, game, states, history, np.random.default_rng(1)).policy
            assert policy is not None
            played, count = frequencies(agent, game, states, history, 5000)
            if count < 200 or len(policy) == 1:
                continue
            bound = 5 * np.sqrt(np.array(policy) * (1 - np.array(policy)) / count) + 3 / count
            assert (np.abs(np.array(played) - policy) < bound).all(), (policy, played, count, len(history))
            compared += bool(history)
    assert compared > 2


def test_an_estimated_policy_is_near_the_exact_one() -> None:
    game = make_game("geister")
    agent = make_agent("heuristic", game)

    class Silent:
        """The same agent, which does not show its policy."""

        name, begin, act = "silent", agent.begin, agent.act

    for states, history in decisions(game, agent, 6):
        exact = consult(agent, game, states, history, np.random.default_rng(1))
        drawn = consult(Silent(), game, states, history, np.random.default_rng(1), draws=4000)
        assert (exact.source, drawn.source, drawn.draws) == ("policy", "draws", 4000)
        np.testing.assert_allclose(drawn.policy, exact.policy, atol=5 * 0.5 / np.sqrt(4000))  # type: ignore[arg-type]


@pytest.mark.parametrize(("game", "name"), [*STORED, ("geister", "heuristic"), ("guandan", "counter")])
def test_an_agent_plays_on_as_if_it_had_not_been_consulted(game: str, name: str) -> None:
    rules = make_game(game, **options_of(game))
    past = decisions(rules, make_agent("random", rules), 30, seed=3)
    plays = []
    for consulted in (False, True):
        agent, rng, chosen = make_agent(name, rules), np.random.default_rng(7), []
        agent.begin(rules, 1, rng)
        for ply, (states, history) in enumerate(past[:16]):
            if consulted and ply % 4 == 0:
                consult(agent, rules, *past[-1 - ply // 4], np.random.default_rng(1), draws=4)
                consult(agent, rules, states, history, np.random.default_rng(1), draws=4)
            if ply % rules.spec.num_players == 0:
                chosen.append(agent.act(states, ZERO, rng)[0])
        plays.append([np.asarray(action).tobytes() for action in chosen])
    assert plays[0] == plays[1]


@pytest.mark.parametrize("method", ["dream", "policy-gradient", "belief-tables", "belief-search"])
def test_an_agent_with_a_memory_plays_on_as_if_it_had_not_been_consulted(method: str, trained: Any) -> None:
    run = trained(method)
    game, plays = game_of(run), []
    for consulted in (False, True):
        agent, rng, chosen = make_agent(str(run), game), np.random.default_rng(7), []
        agent.begin(game, 1, rng)
        states, history = game.reset(1, rng), []
        for ply in range(12):
            if game.finished(states)[0]:
                break
            if ply % 2:
                action = np.flatnonzero(game.legal(states)[0])[0]
            else:
                if consulted:
                    consult(agent, game, states, history, np.random.default_rng(1))
                action = agent.act(states, ZERO, rng)[0]
                history.append((states.copy(), action))
                chosen.append(int(action))
            step(game, states, action, rng)
        plays.append(chosen)
    assert plays[0] == plays[1]


@pytest.mark.parametrize("name", [STORED[1], STORED[3], STORED[6]], ids=lambda each: each[1])
def test_an_insight_into_a_search_has_the_action_that_it_plays(name: tuple[str, str]) -> None:
    game = make_game(name[0], **options_of(name[0]))
    agent, searched = make_agent(name[1], game), 0
    plain = make_agent("random", game)
    for states, history in decisions(game, plain, 20)[::4]:
        found = consult(agent, game, states, history, np.random.default_rng(1))
        rng = np.random.default_rng(1)
        played = bring(agent, game, history, rng).act(states, ZERO, rng)[0]
        assert found.policy is not None
        at = found.policy.index(1.0)
        if isinstance(game, ListedGame):
            assert game.legal(states).rows[at] == played
        else:
            assert np.flatnonzero(game.legal(states)[0])[at] == played
        if found.source == "search":
            assert found.values is not None
            assert found.tries is not None
            assert [value is None for value in found.values] == [tries == 0 for tries in found.tries]
            searched += sum(found.tries) > 0
            assert found.prior is not None
    assert searched > 0


def test_a_belief_about_ghosts_counts_the_reds_that_are_left() -> None:
    game = make_game("geister", **WIDE)
    for name, kind in (("pretrained:geister-own-view", "tracked"), ("random", "uniform")):
        agent = make_agent(name, game)
        for states, history in decisions(game, agent, 40)[::6]:
            beliefs = consult(agent, game, states, history, np.random.default_rng(1)).beliefs
            assert beliefs is not None
            assert beliefs["kind"] == kind
            taken = int(states["taken"][0, 1 - int(game.to_move(states)[0]), 1])
            assert sum(red for red in beliefs["red"] if red is not None) == pytest.approx(4 - taken, abs=1e-4)


@pytest.mark.parametrize("method", ["belief-tables", "belief-search"])
def test_an_agent_with_beliefs_shows_them_and_learns_from_moves(method: str, trained: Any) -> None:
    run = trained(method)
    game, moved = game_of(run), 0
    agent = make_agent(str(run), game)
    for seed in range(3):
        for states, history in decisions(game, agent, 8, seed):
            beliefs = consult(agent, game, states, history, np.random.default_rng(1)).beliefs
            assert beliefs is not None
            assert (beliefs["about"], beliefs["kind"]) == ("ghosts", "tracked")
            assert sum(beliefs["red"]) == pytest.approx(1, abs=1e-4)
            moved += abs(beliefs["red"][0] - 0.5) > 0.02
    assert moved > 3
    assert len(layouts(game.size)) == 2


def test_expected_cards_in_guandan_are_those_of_many_deals_of_the_learned_belief() -> None:
    game = make_game("guandan")
    states, history = decisions(game, make_agent("planner", game), 30)[-1]
    beliefs = consult(make_agent("planner", game), game, states, history, np.random.default_rng(1), draws=1).beliefs
    assert beliefs is not None
    assert beliefs["kind"] == "learned"
    dealt = np.repeat(states, 3000)
    shipped_belief().deal(dealt, game.to_move(dealt), np.random.default_rng(0).integers(0, 2**64, 3000, np.uint64))
    for other in beliefs["others"]:
        low, high = dealt["low"][:, other["seat"]], dealt["high"][:, other["seat"]]
        for rank, expected in enumerate(other["ranks"]):
            word = low if rank < 8 else high
            shifts = [8 * (rank % 8) + 2 * suit for suit in range(4)] if rank < 13 else [40 + 2 * (rank - 13)]
            found = sum(((word >> np.uint64(shift)) & np.uint64(3)).astype(float) for shift in shifts)
            assert found.mean() == pytest.approx(expected, abs=5 * max(found.std(), 0.02) / np.sqrt(3000))


def test_the_hand_of_the_opponent_in_kuhn_follows_from_its_bet(strategy: Path) -> None:
    """By Bayes' rule from the policy of the strategy itself: a bet of player 0 before a queen of player 1."""
    game = make_game("kuhn")
    agent = make_agent(str(strategy), game)
    bets = []
    for card in (0, 2):
        states = game.initial(1)
        for dealt in (card, 1):
            game.apply(states, np.array([dealt]))
        policy = consult(agent, game, states, [], np.random.default_rng(1)).policy
        assert policy is not None
        bets.append(policy[1])
        game.apply(states, np.array([1]))
        found = consult(agent, game, states, [], np.random.default_rng(1))
        assert found.beliefs is not None
        if card == 2:
            assert found.beliefs["kind"] == "tracked"
            assert found.beliefs["hands"]["K"] == pytest.approx(bets[1] / sum(bets))
            assert found.beliefs["hands"]["J"] == pytest.approx(bets[0] / sum(bets))


def test_the_values_of_the_first_hands_in_kuhn_make_the_value_of_the_strategy(strategy: Path) -> None:
    game = make_game("kuhn")
    agent = make_agent(str(strategy), game)
    tree = make_tree("kuhn", {})
    values = []
    for card in range(3):
        states = game.initial(1)
        for dealt in (card, (card + 1) % 3):
            game.apply(states, np.array([dealt]))
        found = consult(agent, game, states, [], np.random.default_rng(1))
        assert found.value_from == "self-play"
        values.append(found.value)
    expected = evaluate_policy(sequence_form(tree), agent.tree_policy(tree)).value  # type: ignore[attr-defined]
    assert np.mean(values) == pytest.approx(expected, abs=1e-9)


def test_the_net_for_guandan_shows_logits_as_a_policy_and_the_mean_of_its_critic() -> None:
    game = make_game("guandan")
    agent = make_agent("pretrained:guandan", game)
    kinds = set()
    for states, history in decisions(game, agent, 16):
        found = consult(agent, game, states, history, np.random.default_rng(1))
        kinds.add(found.source)
        assert found.value_from == "critic"
        assert found.values is None, "logits are not values"
        if found.source == "greedy":
            assert found.prior is not None
            assert found.policy is not None
            assert found.prior.index(max(found.prior)) == found.policy.index(1.0)
    assert "greedy" in kinds


class Outspoken(RandomAgent):
    """An agent of another package: it gives its own insight, and has a search of its own."""

    def think(self, states: States, rng: np.random.Generator) -> Insight:
        return Insight([0.25, 0.75], "policy", value=0.5, value_from="net")

    def with_search(self, game: GameBase, settings: RolloutSettings) -> Agent:
        made = Outspoken()
        made.name = f"{settings.search} {game.spec.name}"
        return made


def test_agent_answers_for_itself_what_it_thinks_and_how_it_searches() -> None:
    game, rng = make_game("kuhn"), np.random.default_rng(1)
    found = consult(Outspoken(), game, game.reset(1, rng), [], rng)
    assert (found.policy, found.value) == ([0.25, 0.75], 0.5)
    wanted, settings = split_search(parse_name("runs/x?search=7"))
    assert settings is not None
    assert searching(Outspoken(), game, settings, wanted).name == "7 kuhn"


def test_a_position_without_a_mover_is_refused() -> None:
    game = make_game("kuhn")
    rng, agent = np.random.default_rng(0), make_agent("random", game)
    states = game.reset(1, rng)
    while not game.finished(states)[0]:
        step(game, states, 1, rng)
    with pytest.raises(GameOver, match="no player is to move"):
        consult(agent, game, states, [], rng)
