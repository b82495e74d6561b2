"""OpenSpiel games behind the `Game` seam."""

import pickle
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import pyspiel

from actors.dream.traversal import DreamTraverser, SamplingSettings, TraversalTask, TraversalWeights
from dancfr.agents.by_name import make_agent
from dancfr.errors import UsageError
from dancfr.evaluation.arena import play
from dancfr.games.registry import make_game, read_options
from envs.extensive import CHANCE, OVER
from envs.game import Game, IllegalAction, States
from envs.leduc import Leduc
from envs.openspiel import OpenSpielGame, load_openspiel, openspiel_tree, to_efg
from envs.tree import compile_tree
from learners.networks.settings import NetworkSettings

GOOFSPIEL = "goofspiel(imp_info=True,num_cards=4,points_order=random)"
TEXTS = ["kuhn_poker", "leduc_poker", GOOFSPIEL, "oshi_zumo(coins=5,size=1,min_bid=1)", "tic_tac_toe", "backgammon"]


def choose(game: Game, states: States, rng: np.random.Generator) -> np.ndarray:
    """A random legal action of each game, 0 where there is none."""
    return (game.legal(states) * (1 - rng.random((len(states), game.spec.num_actions)))).argmax(axis=1)


def played(game: OpenSpielGame, batch: int, seed: int, plies: int = 1000) -> States:
    rng = np.random.default_rng(seed)
    states = game.reset(batch, rng)
    for _ in range(plies):
        if game.finished(states).all():
            break
        game.step(states, choose(game, states, rng), rng)
    return states


def seen_by(game: OpenSpielGame, states: States) -> np.ndarray:
    return np.stack([game.observe(states, np.full(len(states), p, np.int8)) for p in (0, 1)])


@pytest.mark.parametrize("text", TEXTS)
def test_a_game_says_what_openspiel_says(text: str) -> None:
    game, spiel = OpenSpielGame(text), load_openspiel(text)
    assert isinstance(game, Game)
    assert (game.spec.name, game.spec.num_actions) == (text, spiel.num_distinct_actions())
    remembers = spiel.get_type().provides_information_state_tensor
    rng = np.random.default_rng(5)
    states = game.reset(8, rng)
    lives = [spiel.new_initial_state() for _ in states]
    told = [0] * len(states)  # of each history, what OpenSpiel has been told
    for _ in range(30):
        for b, (state, live) in enumerate(zip(states, lives, strict=True)):
            for choice in state["history"][told[b] : state["length"]].tolist():
                assert choice in live.legal_actions()
                live.apply_action(choice)
            told[b] = int(state["length"])
            assert not live.is_chance_node()
            assert game.to_move(states)[b] == (OVER if live.is_terminal() else live.current_player())
            assert np.flatnonzero(game.legal(states)[b]).tolist() == live.legal_actions()
            assert np.allclose(game.returns(states)[b], live.returns() if live.is_terminal() else 0)
            for player in (0, 1):
                seen = game.encode(game.observe(states[b : b + 1], np.array([player], np.int8)))[0]
                tensor = live.information_state_tensor if remembers else live.observation_tensor
                assert np.array_equal(seen, np.array(tensor(player), np.float32))
        if game.finished(states).all():
            break
        game.step(states, choose(game, states, rng), rng)
    assert game.finished(states).all() or text == "backgammon"
    assert (game.endings(states) == game.finished(states)).all()
    assert np.abs(game.returns(states)).max() <= game.spec.max_return


def test_chance_can_be_enumerated() -> None:
    game = OpenSpielGame("kuhn_poker")
    root = game.initial(1)
    assert game.mover(root).tolist() == [CHANCE]
    assert np.allclose(game.chance(root), 1 / 3)
    deals = root[[0, 0, 0]]
    game.apply(deals, np.arange(3))
    assert np.allclose(game.chance(deals), (1 - np.eye(3)) / 2)
    for action in (2, 0, 0):  # the second card, and two passes; the first player holds card 1
        game.apply(deals[1:2], np.array([action]))
    assert game.mover(deals).tolist() == [CHANCE, OVER, CHANCE]
    assert game.utilities(deals).tolist() == [[0, 0], [-1, 1], [0, 0]]
    many = game.reset(6000, np.random.default_rng(0))["history"][:, :2]
    counts = np.unique(many, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert np.abs(counts / 1000 - 1).max() < 0.15


def test_values_survive_copying_dropping_and_sending() -> None:
    game = OpenSpielGame("leduc_poker", reserve=1)
    states = played(game, 40, seed=1, plies=3)
    first, second = states.copy(), states.copy()
    seen = seen_by(game, states)
    for _ in range(3):  # pushes everything out
        played(game, 50, seed=2)
    rng = np.random.default_rng(3)
    actions = choose(game, first, rng)
    game.step(first, actions, np.random.default_rng(4))
    other = pickle.loads(pickle.dumps(game))
    assert other.live == 0
    assert np.array_equal(seen_by(other, states), seen)
    received = np.frombuffer(states.tobytes(), game.state_dtype).copy()
    other.step(received, actions, np.random.default_rng(4))
    assert received.tobytes() == first.tobytes()
    assert np.array_equal(seen_by(game, second), seen)
    assert game.live <= 100
    game.step(second[::-1], actions[::-1], np.random.default_rng(4))
    assert np.array_equal(second["length"] >= states["length"], np.ones(40, bool))


def test_illegal_actions_change_nothing() -> None:
    game = OpenSpielGame("leduc_poker")
    rng = np.random.default_rng(0)
    states = game.reset(3, rng)
    before = states.tobytes()
    for wrong in (0, 3, -1):  # nothing to fold to; no such actions
        with pytest.raises(
            IllegalAction, match=rf"^leduc_poker, game 1, after \[\d, \d\]: action {wrong} is not legal$"
        ):
            game.step(states, np.array([1, wrong, 1]), rng)
        assert states.tobytes() == before
    ended = played(game, 5, seed=0)
    before = ended.tobytes()
    game.step(ended, np.full(5, 77), rng)
    assert ended.tobytes() == before
    assert not game.legal(ended).any()


def test_infostates_are_bits_where_they_can_be() -> None:
    assert (OpenSpielGame("leduc_poker").spec.packed_size, OpenSpielGame("leduc_poker").compact) == (4, True)
    wide = OpenSpielGame("leduc_poker", compact=False)
    narrow = OpenSpielGame("leduc_poker")
    assert wide.spec.packed_size == 120
    states = played(wide, 30, seed=0, plies=3)
    assert np.array_equal(wide.encode(seen_by(wide, states)[0]), narrow.encode(seen_by(narrow, states)[0]))
    numbers = OpenSpielGame("backgammon")
    assert (numbers.compact, numbers.spec.packed_size) == (False, 800)
    forced = OpenSpielGame("backgammon", compact=True)
    with pytest.raises(RuntimeError, match=r"^backgammon: .* pass compact=False$"):
        seen_by(forced, played(forced, 1, seed=0, plies=1))
    with pytest.raises(ValueError, match="has only the encoding 'flat', got 'planes'"):
        narrow.encode(np.zeros((1, 4), np.uint8), "planes")


def test_dream_traverses_a_game() -> None:
    game = OpenSpielGame("kuhn_poker")
    net = NetworkSettings(trunk="flat", width=8, depth=2, norm="none", outputs="action")
    worker = DreamTraverser(game, net, net, SamplingSettings(), slots=64)
    task = TraversalTask((1, 2), 1, 0, 300)
    stats, block = worker.traverse(task, TraversalWeights(0, (None, None), None))
    assert stats["games"] == 300
    assert 600 <= stats["decisions"] <= 900
    assert len(block["transitions"]) == stats["decisions"]
    assert 300 <= len(block["advantages"]) <= 600
    again, repeated = worker.traverse(task, TraversalWeights(0, (None, None), None))
    assert again == stats
    assert all(np.array_equal(repeated[key], block[key]) for key in block)


def test_our_tree_is_played_from_gambits_format() -> None:
    tree = compile_tree(Leduc(ranks=2, raises=1))
    game = pickle.loads(pickle.dumps(OpenSpielGame(to_efg(tree), "small")))
    states = played(game, 2000, seed=0)
    assert game.spec.name == "small"
    assert game.spec.max_return == tree.max_utility
    assert np.isin(game.utilities(states)[:, 0], tree.utility).all()
    assert (game.returns(states).sum(axis=1) == 0).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("leduc_pokr", "OpenSpiel has no game 'leduc_pokr'; did you mean leduc_poker?"),
        ("kuhn_poker(player=2)", "OpenSpiel's kuhn_poker has no parameter 'player'; did you mean players?"),
        ("kuhn_poker((", "the brackets of the OpenSpiel game 'kuhn_poker((' do not match"),
        ("kuhn_poker(players=x)", "OpenSpiel refuses 'kuhn_poker(players=x)': Wrong type for parameter players"),
        ("EFG 1", "OpenSpiel refuses 'EFG 1': "),
        ("chat_game", "OpenSpiel's own code of 'chat_game' fails (IndexError: index 2 is out of bounds"),
        ("nfg_game", "OpenSpiel's nfg_game needs a file: write nfg_game(filename=PATH)"),
        ("efg_game(filename=nowhere)", "OpenSpiel's efg_game reads filename=nowhere, and there is no such file"),
        ("liars_dice(numdice=0)", "OpenSpiel refuses 'liars_dice(numdice=0)': num_dice_rolled_"),
        ("hex(board_size=0)", "OpenSpiel's hex has no actions with these parameters"),
        ("python_kuhn_pokr", "OpenSpiel has no game 'python_kuhn_pokr'; did you mean python_kuhn_poker?"),
        ("blackjack", "OpenSpiel's blackjack has 1 player here; only games of 2 or more are adapted"),
        (
            "negotiation",
            "OpenSpiel's negotiation draws chance by itself; only games that list its outcomes can be adapted",
        ),
    ],
)
def test_what_cannot_be_adapted_is_said_in_one_line(text: str, expected: str, capfd: pytest.CaptureFixture) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        OpenSpielGame(text)
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError) as refused:
        make_game(f"openspiel:{text}")
    assert str(refused.value) == f"openspiel:{text}: {caught.value}"
    assert not capfd.readouterr().err, "code in C++ writes its own lines"


def test_games_in_python_are_those_in_cpp() -> None:
    ours, theirs = (OpenSpielGame(text) for text in ("python_kuhn_poker", "kuhn_poker"))
    trees = [openspiel_tree(game, observations=False) for game in (ours, theirs)]
    assert trees[0].num_infosets == trees[1].num_infosets == (6, 6)
    assert np.array_equal(trees[0].utility, trees[1].utility)
    sent = pickle.loads(pickle.dumps(ours))
    states = played(sent, 200, seed=0)
    assert sent.finished(states).all()
    assert set(np.unique(sent.returns(states))) == {-2, -1, 1, 2}


def test_without_openspiel_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    expected = r"^games of OpenSpiel need the package open_spiel: run make setup, or pip install open_spiel$"
    for attempt in (OpenSpielGame, openspiel_tree):
        with pytest.raises(ModuleNotFoundError, match=expected):
            attempt("kuhn_poker")
    with pytest.raises(UsageError, match=expected.replace("^", "^openspiel:kuhn_poker: ")):
        make_game("openspiel:kuhn_poker")


@pytest.mark.parametrize(
    ("options", "expected"), [({"reserve": 0}, "reserve must be"), ({"compact": 1}, "compact must")]
)
def test_options_are_checked(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        OpenSpielGame("kuhn_poker", **options)


def test_the_registry_has_them() -> None:
    name = "openspiel:liars_dice(numdice=1,dice_sides=3)"
    assert read_options(name, ["compact=false", "reserve=100"]) == {"compact": False, "reserve": 100}
    game = pickle.loads(pickle.dumps(make_game(name, reserve=100)))
    assert (game.spec.name, game.reserve) == (name, 100)
    result = play(game, (make_agent("random", game), make_agent("random", game)), 20, np.random.default_rng(0))
    assert result.games == 20
    with pytest.raises(UsageError, match="named 'max_plies'"):
        make_game(name, max_plies=3)
    with pytest.raises(UsageError, match="option reserve of openspiel:kuhn_poker expects an integer, got 'x'"):
        make_game("openspiel:kuhn_poker", reserve="x")


def test_a_game_of_pyspiel_will_do() -> None:
    game = OpenSpielGame(pyspiel.load_game("kuhn_poker"))
    assert game.spec.name == "kuhn_poker"
    assert pickle.loads(pickle.dumps(game)).reset(3, np.random.default_rng(0)).shape == (3,)
    with pytest.raises(ValueError, match=r"an OpenSpiel game must be a string or a pyspiel\.Game, got int"):
        load_openspiel(3)
