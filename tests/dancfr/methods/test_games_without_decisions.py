"""Games in which a player, or both, never decide: they train and are solved like all others."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import dancfr
from dancfr.games.registry import all_games
from envs.extensive import CHANCE, OVER, FactoredGame
from envs.game import GameSpec, Packed, States
from envs.record import GameRecord


class Lottery(FactoredGame):
    """Chance draws the winner of 1; with `decides=1` player 0 sees it, and may give his return to the other."""

    state = np.dtype([("mover", np.int8), ("drawn", np.int8), ("given", np.int8)])

    def __init__(self, decides: int = 0) -> None:
        self.decides = decides
        self.spec = GameSpec(
            name="lottery", num_players=2, num_actions=2, packed_size=2, shapes={"flat": (2,)}, slots={"action": 2},
            endings=("running", "over"), max_plies=1, max_return=1.0,
        )  # fmt: skip

    def initial(self, batch: int) -> States:
        return np.array([(CHANCE, -1, -1)] * batch, self.state)

    def chance(self, states: States) -> NDArray[np.float64]:
        return np.full((len(states), 2), 0.5)

    def legal(self, states: States) -> NDArray[np.bool_]:
        return np.repeat((states["mover"] >= 0)[:, None], 2, axis=1)

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        mover = states["mover"].copy()
        for field, by, then in (("drawn", CHANCE, 0 if self.decides else OVER), ("given", 0, OVER)):
            states[field] = np.where(mover == by, choices, states[field])
            states["mover"] = np.where(mover == by, then, states["mover"])

    def public(self, states: States) -> NDArray[np.int64]:
        return (1 + states["given"]).astype(np.int64)

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        return np.where((player == 0) & (states["given"] < 0), 1 + states["drawn"], 0).astype(np.int64)

    def utilities(self, states: States) -> NDArray[np.float64]:
        won = np.where(states["drawn"] == 0, 1.0, -1.0) * np.where(states["given"] == 1, -1.0, 1.0)
        won[states["mover"] != OVER] = 0.0
        return np.stack([won, -won], axis=1)

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        return np.stack([players, np.where(players == 0, states["drawn"] + 1, 0)], axis=1).astype(np.uint8)

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        return packed.astype(np.float32)

    def describe(self, state: np.void, view: int | None = None) -> str:
        return str(state)

    def describe_action(self, action: int) -> str:
        return ("keep", "give")[action]


@pytest.fixture(autouse=True)
def lottery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(all_games(), "lottery", GameRecord("lottery", Lottery, {"decides": 0}, "a lottery"))


@pytest.mark.parametrize("decides", [0, 1])
@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("leduc-dream-quick", {}),
        ("leduc-dream-quick", {"sampling.method": "external", "baseline": False}),
        ("leduc-dream-quick", {"bootstrap": "pdcfr+"}),
        ("leduc-policy-gradient", {"samples": "none"}),
    ],
    ids=["dream", "external", "pdcfr+", "policy-gradient"],
)
def test_a_training_is_evaluated_exactly(
    preset: str, settings: dict[str, object], decides: int, tmp_path: Path
) -> None:
    settings = {"game": "lottery", "game_options.decides": decides, "iterations": 2, **settings}
    settings |= {"evaluation.every": 2, "evaluation.games": 8, "evaluation.exploitability": True}
    run = dancfr.train(preset, settings, run_dir=tmp_path / "run", inline=True, progress=False)
    found = dancfr.exploitability(run)
    assert found.nash_conv == pytest.approx(1 - found.value if decides else 0, abs=1e-6)


@pytest.mark.parametrize("algorithm", ["cfr+", "mmd", "lp"])
def test_it_is_solved(algorithm: str) -> None:
    assert dancfr.solve("lottery", algorithm=algorithm, iterations=5, progress=False).exploitability == 0
    known = dancfr.make_game("lottery", decides=1)
    found = dancfr.solve(known, algorithm=algorithm, iterations=2000, progress=False)
    assert found.value == pytest.approx(1, abs=0.01)


def test_a_policy_gradient_says_why_it_learns_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = {"game": "lottery", "iterations": 1, "samples": "none", "evaluation.every": 0}
    dancfr.train("leduc-policy-gradient", settings, run_dir=tmp_path / "run", inline=True)
    assert "no training samples: no player had a move to choose" in capfd.readouterr().err
