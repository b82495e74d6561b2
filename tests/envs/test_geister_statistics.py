"""Random play and the bots against reference values of independent implementations, within sampling error."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from envs.game import Game, States
from envs.geister import Geister, rules
from envs.geister.players import BOTS
from envs.players import RandomAgent
from tests.envs.matches import play, results

ROUNDING = 0.05  # of the reference values, which are printed with one decimal
SIGMAS = 4.0

# Uniform random play: percent escape, last blue taken, last red taken, draw; mean plies. 100,000 games each.
RANDOM_PLAY = [
    (Geister(6, 100, forced_escape=False), (4.1, 4.8, 4.9, 86.1), 97.1),
    (Geister(6, 300, forced_escape=False), (15.4, 41.2, 40.7, 2.7), 163.7),
    (Geister(6, 100, forced_escape=True), (12.7, 4.4, 4.4, 78.4), 94.4),
    (Geister(6, 300, forced_escape=True), (33.8, 32.4, 31.9, 1.8), 150.0),
    (Geister(4, 30, forced_escape=True), (6.3, 42.1, 42.3, 9.3), 15.6),
]
RANDOM_GAMES, REFERENCE_GAMES = 20_000, 100_000

# Percent won and drawn against random play. How many games are behind these is not known: 4,000 assumed.
FULL, MINI = Geister(6, 300), Geister(4, 30)
AGAINST_RANDOM = [
    (FULL, "heuristic", 83.9, None),
    (FULL, "rush", 82.0, None),
    (MINI, "heuristic", 70.0, 20.8),
    (MINI, "rush", 70.3, None),
]
MATCHES, REFERENCE_MATCHES = 8_000, 4_000


def tolerance(percent: float, games: int, reference: int) -> float:
    """How far two measured percentages may lie apart if the true one is `percent`."""
    variance = percent * (100 - percent) * (1 / games + 1 / reference)
    return SIGMAS * float(np.sqrt(variance)) + ROUNDING


def random_games(game: Game, batch: int, seed: int) -> States:
    rng = np.random.default_rng(seed)
    states = game.reset(batch, rng)
    player = RandomAgent()
    player.begin(game, batch, rng)
    everyone = np.arange(batch)
    while not game.finished(states).all():
        game.step(states, player.act(states, everyone, rng), rng)
    return states


def percentages(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    return 100 * counts / counts.sum()


@pytest.mark.parametrize("size", [6, 4])
def test_every_pair_of_layouts_is_drawn_as_often(size: int) -> None:
    reds = Geister(size).reset(98_000, np.random.default_rng(19))["red"]
    layouts = rules.layouts(size).tolist()
    place = np.zeros(256, np.int64)
    place[layouts] = np.arange(len(layouts))
    assert np.isin(reds, layouts).all()
    pairs = place[reds[:, 0]] * len(layouts) + place[reds[:, 1]]
    assert stats.chisquare(np.bincount(pairs, minlength=len(layouts) ** 2)).pvalue > 1e-4


@pytest.mark.parametrize(("game", "expected", "plies"), RANDOM_PLAY)
def test_random_play(game: Geister, expected: tuple[float, ...], plies: float) -> None:
    states = random_games(game, RANDOM_GAMES, seed=20)
    endings = game.endings(states)
    shares = percentages(np.bincount(endings, minlength=len(rules.ENDINGS))[1:])
    for share, reference, name in zip(shares, expected, rules.ENDINGS[1:], strict=True):
        allowed = tolerance(reference, RANDOM_GAMES, REFERENCE_GAMES)
        assert abs(share - reference) <= allowed, f"{name}: {share:.2f} %, reference {reference} %"
    spread = states["ply"].std() * np.sqrt(1 / RANDOM_GAMES + 1 / REFERENCE_GAMES)
    assert abs(states["ply"].mean() - plies) <= SIGMAS * spread + ROUNDING


def test_random_against_random_is_even() -> None:
    value = FULL.returns(random_games(FULL, RANDOM_GAMES, seed=21))[:, 0]
    assert abs(value.mean()) < 0.03
    assert abs(100 * (value > 0).mean() - 49.0) < 1.5


@pytest.mark.parametrize(("game", "bot", "wins", "draws"), AGAINST_RANDOM)
def test_bots_against_random(game: Geister, bot: str, wins: float, draws: float | None) -> None:
    states, seat = play(game, (BOTS[bot](), BOTS["random"]()), MATCHES, np.random.default_rng(22))
    won, drawn, _ = (100 * share for share in results(game, states, seat))
    assert abs(won - wins) <= tolerance(wins, MATCHES, REFERENCE_MATCHES), f"{bot} wins {won:.1f} %"
    if draws is not None:
        assert abs(drawn - draws) <= tolerance(draws, MATCHES, REFERENCE_MATCHES), f"{bot} draws {drawn:.1f} %"


def test_rush_beats_heuristic() -> None:
    """98 : 2 of the games that are decided; some 6 % are drawn."""
    states, seat = play(FULL, (BOTS["rush"](), BOTS["heuristic"]()), MATCHES, np.random.default_rng(23))
    won, drawn, lost = (100 * share for share in results(FULL, states, seat))
    share = 100 * won / (won + lost)
    assert abs(share - 98) <= tolerance(98, MATCHES, REFERENCE_MATCHES) + 0.5, f"{share:.1f} % of decided games"
    assert drawn < 8
