"""A game of one's own: a class of some sixty lines, which gets exact solutions, matches, environments and training.

docs/tutorials/own-game.md explains the methods.
"""

import numpy as np

import dancfr
from envs.extensive import CHANCE, OVER, FactoredGame
from envs.game import GameSpec


class OneCard(FactoredGame):
    """One-card poker: player 0 gets a high or a low card and bets 1 or gives up his ante of 1; player 1 may call."""

    state = np.dtype([("mover", np.int8), ("high", np.int8), ("bet", np.int8), ("call", np.int8)])

    def __init__(self):
        self.spec = GameSpec(
            name="one-card", num_players=2, num_actions=2, packed_size=3, shapes={"flat": (3,)}, slots={"action": 2},
            endings=("running", "over"), max_plies=2, max_return=2.0,
        )  # fmt: skip

    def initial(self, batch):
        return np.array([(CHANCE, -1, -1, -1)] * batch, self.state)  # nothing has happened yet

    def chance(self, states):
        return np.full((len(states), 2), 0.5)  # 0 low, 1 high

    def legal(self, states):
        return np.repeat((states["mover"] >= 0)[:, None], 2, axis=1)  # 0 gives up, 1 bets or calls

    def apply(self, states, choices):
        mover = states["mover"].copy()
        for field, by, then in (("high", CHANCE, 0), ("bet", 0, np.where(choices == 1, 1, OVER)), ("call", 1, OVER)):
            states[field] = np.where(mover == by, choices, states[field])
            states["mover"] = np.where(mover == by, then, states["mover"])

    def public(self, states):  # what all saw of the last transition: the bet, or the call
        return np.where(states["call"] >= 0, 3 + states["call"], 1 + states["bet"]).astype(np.int64)

    def private(self, states, player):  # what one player saw besides: his card, when it was dealt
        return np.where((player == 0) & (states["bet"] < 0), 1 + states["high"], 0).astype(np.int64)

    def utilities(self, states):
        shown = np.where(states["high"] == 1, 2.0, -2.0)
        won = np.select([states["mover"] != OVER, states["bet"] == 0, states["call"] == 0], [0.0, -1.0, 1.0], shown)
        return np.stack([won, -won], axis=1)

    def observe(self, states, players):
        card = np.where(players == 0, states["high"] + 1, 0)
        return np.stack([players, card, states["bet"] + 1], axis=1).astype(np.uint8)

    def encode(self, packed, encoding="flat"):
        return packed.astype(np.float32)

    def describe(self, state, view=None):  # player 1 does not see the card before it is shown
        return f"card {'?' if view == 1 and state['call'] != 1 else state['high']}, bet {state['bet']}"

    def describe_action(self, action):
        return ("give up", "bet or call")[action]


if __name__ == "__main__":
    game = OneCard()
    solution = dancfr.solve(game, algorithm="lp")
    print(solution, f"a third of an ante: {solution.value:.4f}")
    print(dancfr.play(solution.agent(), against="random", game=game, games=5000, seed=1))
    env = game.env(render_mode="ansi")
    env.reset(seed=1)
    print(env.render())
