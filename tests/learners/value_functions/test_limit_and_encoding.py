"""Where games are cut, and how public states and ranges are written down: the paper's numbers, its figure 1 by hand,
and what must hold in every game."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancfr.errors import UsageError
from dancfr.games.limits import LIMITS, limit_of
from dancfr.games.registry import GAMES, make_game
from envs.extensive import CHANCE, OVER
from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from examples.own_game import OneCard
from learners.settings import TrainingSettings
from learners.value_functions.exploitability import TrunkEvaluator
from learners.value_functions.learner import RangeValueLearner, validation_losses
from learners.value_functions.limit import Limit, NoLimit, border
from learners.value_functions.network import NetValues, RangeValueNet
from learners.value_functions.parts import split_game
from learners.value_functions.samples import random_plans, solve_samples
from learners.value_functions.settings import ValueNetSettings, ValueSolving
from learners.value_functions.solver import DepthLimitedSolver, SolvedValues
from learners.value_functions.trunks import plans_of
from tests.envs.sketch import Sketch
from tests.envs.small_trees import states_of, tree_of
from tests.games import kuhn
from tests.learners.cfr.oracle import tree_of_table
from tests.learners.value_functions.oracle import LARGER, SMALL, border_of, cut, name_of, numbers

PAPER = {"goofspiel5": (9, 20), "oshi_zumo8_k1": (17, 35), "oshi_zumo8_k3": (27, 35), "leduc_2b2r": (87, 3)}
"""Public states and places of either player's range: paper 003, table 2, and its data sets of 18,000 = 2000 x 9,
34,000 = 2000 x 17 and 70,644 = 812 x 87 samples."""


@pytest.mark.parametrize("name", PAPER)
def test_the_games_of_the_paper(name: str) -> None:
    encoding = split_game(make_game(name), limit_of(name, {}, None)).encoding
    states, width = PAPER[name]
    assert encoding.num_public == states
    assert encoding.widths == (width, width)
    assert len(np.unique(encoding.features, axis=0)) == states
    if name == "leduc_2b2r":
        assert encoding.mask().all(), "every card in every public state"


@pytest.mark.parametrize("name", LIMITS)
def test_every_limit_of_the_list_can_be_cut(name: str) -> None:
    assert name in GAMES
    limit = limit_of(name, {}, None)
    assert str(limit) == LIMITS[name]
    assert len(border(tree_of(make_game(name)), limit)) > 0


@pytest.mark.parametrize(("game", "limit"), SMALL + LARGER, ids=name_of)
def test_the_border_is_where_counting_says(game, limit: str) -> None:
    assert border(tree_of(game), Limit.parse(limit)).tolist() == list(border_of(game, limit)[0])


def test_figure_1_by_hand() -> None:
    """Goofspiel with 3 cards after the first round: places are cards, those that do not fit the result are masked."""
    game = Goofspiel(3)
    split, tree = cut(game, "actions:2"), tree_of(game)
    encoding, (nodes, _) = split.encoding, border_of(game, "actions:2")
    states = states_of(game, tree)[list(nodes)]
    number = [numbers(tree, nodes, player) for player in (0, 1)]
    public = {}
    assert encoding.widths == (3, 3)
    for node, state in zip(nodes, states, strict=True):
        for player in (0, 1):
            h = number[player][int(tree.history[node, player])]
            assert encoding.places[player][h] == state["bids"][player, 0], "the place is the card"
            assert public.setdefault(int(state["results"][0]), encoding.public[player][h]) == encoding.public[player][h]
    mask = {result: encoding.mask()[state].astype(int).tolist() for result, state in public.items()}
    assert mask == {
        0: [1, 1, 1, 1, 1, 1],  # a draw: any card, the other had the same
        1: [0, 1, 1, 1, 1, 0],  # player 0 won: he bid 2 or 3, the other 1 or 2
        2: [1, 1, 0, 0, 1, 1],
    }
    assert encoding.features.shape == (3, 3), (
        "one observation, one-hot: the empty one after the first bid carries no news"
    )
    assert sorted(encoding.features.tolist()) == np.eye(3)[::-1].tolist()
    win = encoding.spread(0, np.arange(1.0, 8.0))[public[1]]
    assert win[0] == 0
    assert win[1] > 0 < win[2]


def test_kuhn_by_hand() -> None:
    """After the first action a public state for either, and a place for each card."""
    game = Kuhn()
    split, tree = cut(game, "actions:1"), tree_of(game)
    encoding, (nodes, _) = split.encoding, border_of(game, "actions:1")
    states = states_of(game, tree)[list(nodes)]
    assert (encoding.num_public, encoding.widths, encoding.inputs) == (2, (3, 3), 8)
    assert encoding.mask().all()
    assert sorted(encoding.features.tolist()) == [[0, 1], [1, 0]]
    for node, state in zip(nodes, states, strict=True):
        for player in (0, 1):
            h = numbers(tree, nodes, player)[int(tree.history[node, player])]
            assert encoding.places[player][h] == state["cards"][player]
            assert encoding.features[encoding.public[player][h], state["actions"][0]] == 1


def test_leduc_by_hand() -> None:
    """A public state for each of 5 ways to get through the first round and each card, six places; sequences of
    public actions are of different length, the shorter ones padded."""
    encoding = cut(Leduc(), "chances:3").encoding
    assert (encoding.num_public, encoding.widths) == (30, (6, 6))
    assert (encoding.mask().sum(axis=1) == 10).all(), "no player holds the card on the board"
    length = encoding.features.sum(axis=1)
    assert sorted(set(length.tolist())) == [3, 4, 5], "check check; check raise call; ..., each with the card"
    assert set(encoding.features.ravel().tolist()) == {0, 1}
    assert len(np.unique(encoding.features, axis=0)) == 30


@pytest.mark.parametrize(("game", "limit"), SMALL + LARGER, ids=name_of)
def test_histories_of_a_public_state_never_share_a_place(game, limit: str) -> None:
    encoding, tree, (nodes, _) = cut(game, limit).encoding, tree_of(game), border_of(game, limit)
    states = {int(s): i for i, s in enumerate(np.unique(tree.public[list(nodes)]))}
    assert encoding.num_public == len(states)
    assert len(np.unique(encoding.features, axis=0)) == len(states), "public states differ in their features"
    for player in (0, 1):
        number = numbers(tree, nodes, player)
        assert len(encoding.places[player]) == len(number)
        for node in nodes:
            h = number[int(tree.history[node, player])]
            assert encoding.public[player][h] == states[int(tree.public[node])]
        pairs = list(zip(encoding.public[player].tolist(), encoding.places[player].tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)
        assert set(encoding.places[player].tolist()) == set(range(encoding.widths[player])), "no place is idle"
        assert encoding.mask()[:, encoding.columns(player)].sum() == len(pairs)


@given(st.sampled_from(SMALL), st.integers(0, 1), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_spread_and_gather_are_inverse(case, player: int, seed: int, batch: int) -> None:
    encoding = cut(*case).encoding
    values = np.random.default_rng(seed).normal(size=(len(encoding.places[player]), batch))
    spread = encoding.spread(player, values)
    assert spread.shape == (encoding.num_public, encoding.widths[player], batch)
    np.testing.assert_array_equal(encoding.gather(player, spread), values)
    mask = encoding.mask()[:, encoding.columns(player)]
    np.testing.assert_array_equal(spread != 0, np.repeat(mask[:, :, None], batch, axis=2))
    np.testing.assert_allclose(encoding.groups[player] @ values, spread.sum(axis=1), atol=1e-12)


@given(st.integers(2, 5), st.integers(1, 3))
def test_every_limit_of_goofspiel_and_kuhn(cards: int, count: int) -> None:
    """Whatever the limit, histories are told apart and every place belongs to a player."""
    for game in (Kuhn(cards=cards), Goofspiel(min(cards, 4))):
        try:
            encoding = cut(game, f"actions:{count}").encoding
        except NoLimit:
            assert isinstance(game, Kuhn) or count >= 2 * game.cards
            continue
        for player in (0, 1):
            pairs = set(zip(encoding.public[player].tolist(), encoding.places[player].tolist(), strict=True))
            assert len(pairs) == len(encoding.places[player])


class Aside(Sketch):
    """Player 0 chooses in secret whether chance moves next or player 1 does; then player 1 guesses which. All see the
    same, whatever has happened: no player could say how often the players have moved."""

    state = np.dtype([("mover", np.int8), ("asked", np.int8), ("moves", np.int8), ("won", np.int8)])

    def __init__(self) -> None:
        super().__init__("aside", size=2, most=3)

    def initial(self, batch):
        return np.array([(0, -1, 0, 0)] * batch, self.state)

    def chance(self, states):
        return np.full((len(states), 2), 0.5)

    def apply(self, states, choices):
        moves = states["moves"].copy()
        states["asked"] = np.where(moves == 0, choices, states["asked"])
        states["won"] = np.where(moves == 2, np.where(choices == states["asked"], -1, 1), 0)
        states["mover"] = np.select([moves == 0, moves == 1], [np.where(choices == 1, 1, CHANCE), 1], OVER)
        states["moves"] = moves + 1

    def observe(self, states, players):
        return np.stack([players, (states["moves"] > 1) & (states["asked"] == 1) & (players == 1)], axis=1).astype(
            np.uint8
        )


@pytest.mark.parametrize("limit", ["actions:2", "chances:1"])
def test_a_limit_across_a_public_state_is_refused(limit: str) -> None:
    with pytest.raises(NoLimit, match="both sides") as caught:
        split_game(Aside(), Limit.parse(limit))
    assert "\n" not in str(caught.value)
    assert limit in str(caught.value)


def test_where_all_can_tell_the_same_game_is_cut() -> None:
    split = split_game(Aside(), Limit.parse("actions:1"))
    assert split.histories == (2, 1)
    assert split.encoding.num_public == 1


@pytest.mark.parametrize(
    ("game", "limit"),
    [(Kuhn(), "actions:3"), (Kuhn(), "chances:3"), (Goofspiel(3), "chances:1"), (Leduc(), "actions:9")],
)
def test_a_limit_that_nobody_gets_to_is_refused(game, limit: str) -> None:
    with pytest.raises(NoLimit, match="choose a lower depth limit") as caught:
        split_game(game, Limit.parse(limit))
    assert "\n" not in str(caught.value)


def test_a_game_that_does_not_say_what_is_public_is_refused() -> None:
    game = kuhn()
    with pytest.raises(NoLimit, match="public states"):
        split_game(game, Limit.parse("actions:1"), tree_of_table(game))


@given(st.sampled_from(("actions", "chances")), st.integers(1, 1000))
def test_limits_are_read_as_they_are_written(event: str, count: int) -> None:
    limit = Limit.parse(f"{event}:{count}")
    assert (limit.event, limit.count, str(limit)) == (event, count, f"{event}:{count}")


@pytest.mark.parametrize(
    "text",
    [
        *("", "actions", "actions:", ":3", "4", "rounds:2", "Actions:3", "actions:3:4"),
        *("actions:0", "actions:-1", "actions:1001", "actions:1.5", "actions:1_0", "actions:+3"),
        *("actions: 3", "actions:3 ", "actions:\u0663", "actions:\u00b2"),
    ],
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="actions:N or chances:N"):
        Limit.parse(text)


def test_limits_on_the_command_line() -> None:
    assert limit_of("kuhn", {"cards": 4}, None) == Limit("actions", 1)
    assert limit_of("leduc", {}, "actions:2") == Limit("actions", 2)
    assert limit_of("leduc_2b2r", {"deal": "cards"}, None) == limit_of("leduc", {}, None)
    assert limit_of("leduc", {"deal": "ranks"}, None) == limit_of("leduc_2b2r", {}, None)
    for game, text, message in (
        ("leduc", "round:2", "actions:N or chances:N"),
        ("mini-cheat", None, "mini-cheat.*limit="),
    ):
        with pytest.raises(UsageError, match=message) as caught:
            limit_of(game, {}, text)
        assert "\n" not in str(caught.value)


def test_a_game_of_ones_own_goes_all_the_way() -> None:
    """One-card poker, cut after the bet: player 0 bluffs one time in three, and a net gives the worth of the bet."""
    game, limit = OneCard(), Limit.parse("actions:1")
    split = split_game(game, limit)
    assert (split.histories, split.encoding.widths, split.encoding.num_public) == ((2, 1), (2, 1), 1)
    evaluator, settings = TrunkEvaluator(split), ValueSolving(iterations=300)
    solver = DepthLimitedSolver(split, SolvedValues(split, 300))
    solver.run(500)
    policies = solver.average_policies()
    assert policies[0][1:].ravel() == pytest.approx([2 / 3, 1 / 3, 0, 1], abs=0.02), "give up or bet, low and high"
    assert evaluator.evaluate(plans_of(split.trunk, policies)).exploitability[0] < 0.01

    rng = np.random.default_rng(1)
    rows, gap = solve_samples(split, random_plans(split, 300, settings, rng), settings, rng)
    assert len(rows) == 300
    assert gap < 1e-3
    network = ValueNetSettings(width=32, depth=2)
    learner = RangeValueLearner(game, limit, network, TrainingSettings(batch=64, minibatches=400), seed=1)
    draws = np.random.default_rng(2)
    learner.fit((rows[draws.integers(len(rows), size=64)] for _ in range(400)), 1)
    net = RangeValueNet.load(split.encoding, network, learner.weights())
    assert validation_losses(net, rows)["l1"] < 0.05
    solver = DepthLimitedSolver(split, NetValues(split, net))
    solver.run(300)
    assert evaluator.evaluate(plans_of(split.trunk, solver.average_policies())).exploitability[0] < 0.05
