"""The page of matching pennies, and an agent's beliefs about the coin."""

import numpy as np

SIDES = ("heads", "tails")


class PenniesDisplay:
    """Shows the hidden coin to player 0, and to everyone at the end. See `envs.display.Display`."""

    def __init__(self, game):
        self.game = game

    def scene(self, state, viewer):
        shown = viewer in (None, 0) or state["guess"] >= 0
        return {
            "hidden": SIDES[state["hidden"]] if shown and state["hidden"] >= 0 else None,
            "laid": bool(state["hidden"] >= 0),
            "guess": SIDES[state["guess"]] if state["guess"] >= 0 else None,
            "bonus": self.game.bonus,
        }

    def choices(self, states):
        return [{"label": SIDES[action]} for action in np.flatnonzero(self.game.legal(states)[0])]

    def event(self, before, action, after, viewer):
        if before["hidden"] < 0 and viewer == 1:
            return {"label": "hides a coin", "hidden": True}
        return {"label": SIDES[action]}


def belief(game, states, agent, arrangements):
    """An agent's beliefs about the coin: by its own policy for player 0, if it has one."""
    policy = getattr(agent, "policy", None)
    tails = 0.5 if policy is None else float(policy[0, 1])
    coin = {"heads": 1 - tails, "tails": tails} if states["hidden"][0] >= 0 else {}
    return {"about": "coin", "kind": "uniform" if policy is None else "tracked", "coin": coin}
