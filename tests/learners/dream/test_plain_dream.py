"""The plain DREAM of examples/plain_dream.py, game by game, as an oracle of the compiled recursion; and it learns."""

import numpy as np
import pytest

from dancfr.games.registry import make_game
from examples import plain_dream as plain
from learners.dream.recursion import sampled_advantages


@pytest.mark.parametrize("name", ["kuhn", "leduc", "liars_dice5"])
@pytest.mark.parametrize("traverser", [0, 1])
def test_compiled_advantages_are_those_of_the_plain_recursion(name: str, traverser: int) -> None:
    game, rng = make_game(name), np.random.default_rng(7)
    nets = [plain.make_net(game.spec.shapes["flat"][0], game.spec.num_actions) for _ in range(2)]
    rows = 0
    for _ in range(60):
        decisions, returns = plain.play(game, nets, traverser, rng)
        baselines = rng.normal(size=(len(decisions), game.spec.num_actions)).astype(np.float32)
        expected = np.full(baselines.shape, np.nan, np.float32)
        places = {id(decision): row for row, decision in enumerate(decisions)}
        for decision, advantage in plain.sampled_advantages(decisions, returns[traverser], traverser, baselines):
            expected[places[id(decision)]] = advantage
            rows += 1
        found = np.full(baselines.shape, np.nan, np.float32)
        sampled_advantages(
            np.zeros(len(decisions), np.int32),
            np.array([decision.player for decision in decisions], np.int8),
            np.array([decision.action for decision in decisions]),
            np.array([decision.chance for decision in decisions], np.float32),
            np.array([decision.policy for decision in decisions], np.float32),
            np.array([decision.legal for decision in decisions]),
            baselines,
            traverser,
            returns[[traverser]].astype(np.float32),
            np.float32(np.inf),
            np.float32(np.inf),
            found,
        )
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    assert rows >= 60


@pytest.mark.slow
def test_it_approaches_the_equilibrium_of_kuhn_poker(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """NashConv of uniform play is 0.917; after 20 iterations of 300 games the average had 0.102."""
    monkeypatch.setattr(plain, "STEPS", 100)
    plain.dream(make_game("kuhn"), iterations=20, games=200)
    curve = [float(line.rpartition(" ")[2]) for line in capsys.readouterr().out.splitlines()]
    assert len(curve) == 2
    assert curve[-1] < 0.3
