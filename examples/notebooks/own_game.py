# ---
# jupyter:
#   dancfr:
#     extras: report,notebook
# ---

# %% [markdown]
# # A game of your own in sixty lines
#
# A class of rules is enough for exact solutions, matches, environments and a comparison with theory. The game here is
# the **inspection game** of Dresher (1962). A smuggler has `nights` nights and may cross the border on one of them. An
# inspector can watch it on `watches` of these nights. Both choose at the same time; in the morning both know whether
# there was a watch. A smuggler who is caught loses 1, one who crosses unseen wins 1, and one who never crosses gets 0.
#
# The value is known, so the rules can be checked against it. The notebook runs in half a minute.

# %%
from math import comb

import numpy as np
import pandas as pd

import dancfr
from envs.extensive import OVER, FactoredGame
from envs.game import GameSpec

# %% [markdown]
# ## The rules
#
# A state is one record; every method takes an array of them, so that many games advance together. *At the same time*
# means that the inspector moves second but does not see the first move: `public` and `private` say what is seen of a
# move, and `observe` packs all that a player knows.


# %%
class Inspection(FactoredGame):
    """The smuggler (player 0) stays or crosses; the inspector (player 1), who does not see it, sleeps or watches."""

    state = np.dtype(
        [(name, np.int8) for name in ("mover", "night", "crossed", "watched", "past")]
    )

    def __init__(self, nights=3, watches=1):
        self.nights, self.watches = nights, watches
        self.spec = GameSpec(
            name="inspection", num_players=2, num_actions=2, packed_size=3, shapes={"flat": (3,)}, slots={"action": 2},
            endings=("running", "over"), max_plies=2 * nights, max_return=1.0,
        )  # fmt: skip

    def initial(self, batch):
        return np.zeros(batch, self.state)

    def left(self, states):  # `past` has a bit for each night with a watch
        return self.watches - np.bitwise_count(states["past"])

    def chance(self, states):  # never asked: there is no luck in this game
        return np.ones((len(states), 1))

    def legal(self, states):
        running = states["mover"] != OVER
        return np.stack(
            [running, running & ((states["mover"] == 0) | (self.left(states) > 0))],
            axis=1,
        )

    def apply(self, states, choices):
        second = states["mover"] == 1
        states["crossed"] = np.where(second, states["crossed"], choices)
        states["watched"] = np.where(second, choices, 0)
        states["past"] |= states["watched"] << states["night"]
        states["night"] += second
        over = second & ((states["crossed"] == 1) | (states["night"] == self.nights))
        states["mover"] = np.where(over, OVER, np.where(second, 0, 1))

    def public(
        self, states
    ):  # in the morning: a watch or none, and whether the game is over
        morning = states["mover"] != 1
        return np.where(
            morning, 1 + 2 * states["watched"] + (states["mover"] == OVER), 0
        ).astype(np.int64)

    def private(self, states, player):  # nothing but the player's own moves
        return np.zeros(len(states), np.int64)

    def utilities(self, states):
        caught = np.where(states["watched"] == 1, -1.0, 1.0)
        value = np.where(
            (states["mover"] == OVER) & (states["crossed"] == 1), caught, 0.0
        )
        return np.stack([value, -value], axis=1)

    def observe(self, states, players):
        return np.stack([players, states["night"], states["past"]], axis=1).astype(
            np.uint8
        )

    def encode(self, packed, encoding="flat"):
        return packed.astype(np.float32)

    def describe(self, state, view=None):
        return f"night {state['night'] + 1} of {self.nights}, {self.left(state)} watches left"

    def describe_action(self, action):
        return ("stay or sleep", "cross or watch")[action]


# %% [markdown]
# ## Look at it
#
# The class has an environment of PettingZoo already. A game played at random:

# %%
env = Inspection().env(render_mode="ansi")
env.reset(seed=1)
rng = np.random.default_rng(1)
for agent in env.agent_iter():
    observation, reward, terminated, truncated, _ = env.last()
    if terminated or truncated:
        print(f"{agent}: {reward:+.0f}")
        env.step(None)
        continue
    print(env.render())
    env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))

# %% [markdown]
# ## Solve it, and compare it with the theory
#
# With n nights and w watches the smuggler's value is C(n - 1, w) / (C(n, 0) + ... + C(n, w)). The rules above know
# nothing of this formula.

# %%
values = {}
for nights in range(1, 6):
    for watches in range(nights + 1):
        solution = dancfr.solve(Inspection(nights, watches), algorithm="lp")
        known = comb(nights - 1, watches) / sum(
            comb(nights, k) for k in range(watches + 1)
        )
        assert abs(solution.value - known) < 1e-9, (nights, watches)
        values[watches, nights] = solution.value
table = pd.Series(values).unstack().rename_axis(index="watches", columns="nights")
table.round(3)

# %% [markdown]
# ## Approach the equilibrium step by step
#
# A linear program is exact, and CFR+ comes close; on a larger game it would be the only choice.

# %%
game = Inspection(nights=6, watches=3)
solution = dancfr.solve(game, iterations=1000, progress=False)
assert solution.exploitability < 1e-2
ax = solution.plot()

# %% [markdown]
# ## Play it
#
# The solution is an agent, and so is any object with the two methods of the notebook `matches`. It cannot be beaten,
# but it does not beat random play either: over both seats it wins 0 on average, up to chance. An equilibrium makes
# the other indifferent here, and so it punishes nothing.

# %%
match = dancfr.play(solution.agent(), against="random", game=game, games=10_000, seed=1)
assert abs(match.mean_return) < 4 * match.result.return_error
match

# %% [markdown]
# A best response to random play does punish it:

# %%
random = dancfr.exploitability("random", game)
assert random.exploitability > 0.3
random

# %% [markdown]
# Trainings make their game by name, also in other processes. For these, and for the page in the browser, the class
# goes into a small package that registers it: `docs/tutorials/own-game.md` shows the ten lines.
