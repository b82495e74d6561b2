"""Who sits where in self-play, and that only the learner's decisions are samples."""

import numpy as np
import pytest

from actors.dmc import DmcPlayer
from actors.listed_play import SelfPlayTask, SelfPlayWeights
from actors.seating import LEARNER, draw_seats
from dancfr.evaluation.bots import make_bot
from envs.guandan import GuanDan
from learners.listed.network import QNet
from learners.listed.settings import QNetworkSettings

TEAMS = (0, 1, 0, 1)
GAME = GuanDan()
NETWORK = QNetworkSettings(width=16, depth=1, encoding="ranks")
WEIGHTS = SelfPlayWeights(0, QNet(NETWORK, GAME.spec).inference_weights())


def test_agents_take_teams_or_seats_in_their_shares() -> None:
    games = 20_000
    seats = draw_seats(games, TEAMS, [0.3, 0.1], [0.2], np.random.default_rng(1))
    for party, share in ((1, 0.3), (2, 0.1)):
        of = seats[(seats == party).any(axis=1)]
        assert len(of) / games == pytest.approx(share, abs=0.015)  # four standard errors
        assert {tuple(row) for row in of.tolist()} == {(party, 0, party, 0), (0, party, 0, party)}
        assert (of[:, 0] == party).mean() == pytest.approx(0.5, abs=0.05)
    partner = seats[(seats == 3).any(axis=1)]
    assert len(partner) / games == pytest.approx(0.2, abs=0.015)
    assert ((partner == 3).sum(axis=1) == 1).all()
    assert np.allclose((partner == 3).mean(axis=0), 0.25, atol=0.03)
    assert (seats == LEARNER).all(axis=1).mean() == pytest.approx(0.4, abs=0.015)


def test_an_agent_in_all_games_leaves_one_team_to_the_learner() -> None:
    def play(**others) -> tuple[dict[str, float], np.ndarray]:
        stats, blocks = DmcPlayer(GAME, NETWORK, 0.1, **others).play(SelfPlayTask((3, 1, 0), 12, 5), WEIGHTS)
        return stats, blocks["values"]

    greedy = make_bot("greedy", GAME)
    alone, rows = play()
    _, against = play(rivals=[(greedy, 1.0)])
    _, beside = play(partners=[(greedy, 1.0)])
    assert len(rows) == alone["samples"] > 500
    assert 0.2 * len(rows) < len(against) < 0.8 * len(rows)
    assert len(against) < len(beside)
    assert against["target"].mean() < -1  # a new net loses to the bot
    again = play(rivals=[(greedy, 1.0)])[1]
    np.testing.assert_array_equal(against, again)
