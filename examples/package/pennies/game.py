"""Matching pennies with a bonus: the second player guesses a side that the first one has hidden."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from envs.agent import Agent
from envs.game import GameSpec, IllegalAction
from envs.lazy import lazily
from envs.playable import Playable
from envs.record import GameRecord, options_of

STATE = np.dtype([("hidden", np.int8), ("guess", np.int8)])  # -1: not chosen yet


@dataclass(frozen=True)
class Pennies(Playable):
    """Player 0 hides heads (0) or tails (1), player 1 guesses. A right guess wins 1, or `bonus` for heads.

    With `ply_limit=1` no player guesses, and the game is a draw.
    """

    bonus: int = 3
    ply_limit: int = 2

    @property
    def spec(self):
        return GameSpec(
            name="pennies",
            num_players=2,
            num_actions=2,
            packed_size=1,
            shapes={"flat": (2,)},
            slots={"action": 2},
            endings=("running", "guessed", "missed", "ply limit"),
            max_plies=2,
            max_return=float(self.bonus),
        )

    def reset(self, batch, rng):
        return np.full(batch, -1, np.int8).repeat(2).view(STATE)

    def to_move(self, states):
        return np.where(states["hidden"] < 0, 0, np.where(self.finished(states), -1, 1)).astype(np.int8)

    def legal(self, states):
        return np.repeat(~self.finished(states)[:, None], 2, axis=1)

    def observe(self, states, players):
        return np.asarray(players, np.uint8)[:, None]  # the choice of player 0 stays hidden

    def step(self, states, actions, rng):
        if ((actions < 0) | (actions > 1)).any():
            raise IllegalAction("actions are 0 and 1")
        mover = self.to_move(states)
        for player, field in enumerate(("hidden", "guess")):
            states[field] = np.where(mover == player, actions, states[field])

    def finished(self, states):
        return (states["guess"] >= 0) | ((states["hidden"] >= 0) & (self.ply_limit == 1))

    def returns(self, states):
        right = np.where(states["hidden"] == states["guess"], np.where(states["hidden"] == 0, self.bonus, 1), -1)
        value = np.where(states["guess"] >= 0, right, 0).astype(np.float32)
        return np.stack([-value, value], axis=1)

    def endings(self, states):
        guessed = np.where(states["guess"] < 0, 3, 2 - (states["hidden"] == states["guess"]))
        return np.where(self.finished(states), guessed, 0).astype(np.int8)

    def encode(self, packed, encoding="flat"):
        return np.eye(2, dtype=np.float32)[packed[:, 0]]

    def output_slots(self, packed, layout, other=None):
        return np.tile(np.arange(2, dtype=np.int16)[None, :, None], (len(packed), 1, 1))


class Stubborn(Agent):
    """Always chooses heads."""

    name = "stubborn"

    def begin(self, game, batch, rng):
        pass

    def act(self, states, places, rng):
        return np.zeros(len(states), np.int64)


class OtherBonus:
    """Shows an agent that was made for another bonus the game that it knows. See `envs.adapter.Adapter`."""

    extends = False

    def __init__(self, bonus):
        self.game = Pennies(bonus)

    def asks(self, states):
        return np.ones(len(states), np.bool_)

    def choose(self, states, rng):
        raise NotImplementedError

    def shown(self, states):
        return states


def adapter(game, made_for):
    """See `envs.adapter.MakesAdapter`."""
    if made_for.get("ply_limit", 2) != game.ply_limit:
        raise ValueError(f"knows no game with ply_limit={game.ply_limit}")
    bonus = made_for.get("bonus", 3)
    return None if bonus == game.bonus else OtherBonus(bonus)


ENTRY = GameRecord(
    "pennies",
    Pennies,
    options_of(Pennies),
    "Matching pennies with a bonus",
    bots=lambda: {"stubborn": Stubborn},
    in_matches={"ply_limit": 2},
    display=lazily("pennies.display:PenniesDisplay"),
    page=Path(__file__).parent / "page" / "pennies.js",
    belief=lazily("pennies.display:belief"),
    adapter=adapter,
)
