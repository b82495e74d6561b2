# ---
# jupyter:
#   dancfr:
#     extras: report,notebook
# ---

# %% [markdown]
# # Solve a small game, and check the solution
#
# A game is small enough to be solved exactly if all its positions fit into memory. Then every statement about a
# strategy can be checked: its value, and how much a perfect opponent gains against it. This notebook solves two poker
# games, compares algorithms, reads a strategy, and checks it against theory. It runs in half a minute.

# %%
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import dancfr

# %% [markdown]
# ## Kuhn poker, by a linear program
#
# Three cards, two players, one card each, one chip in the pot from both. Each may pass or bet one chip. Kuhn showed in
# 1950 that the first player loses 1/18 of a chip a game if both play well. A linear program finds such strategies for
# both players together.

# %%
kuhn = dancfr.solve("kuhn", algorithm="lp")
print(kuhn)
assert abs(kuhn.value + 1 / 18) < 1e-9

# %% [markdown]
# **Exploitability** is the mean of what the two players gain when they answer perfectly to the strategy of the other
# one. It is 0 at an equilibrium, up to rounding here.

# %%
exact = dancfr.exploitability(kuhn.agent(), "kuhn")
assert exact.exploitability < 1e-9
exact

# %% [markdown]
# The scale becomes clear beside a player who chooses at random:

# %%
dancfr.exploitability("random", "kuhn")

# %% [markdown]
# ## Read the strategy
#
# There are many equilibria. A linear program finds one at a corner, without bluffs; counterfactual regret minimization
# (CFR) finds one between them. An agent has probabilities for every position. Random games visit all of them;
# `describe` shows a position as the player to move sees it, with the card of the other hidden.

# %%
agent = dancfr.solve("kuhn", algorithm="cfr", iterations=10_000, progress=False).agent()
game, rng = dancfr.make_game("kuhn"), np.random.default_rng(1)
agent.begin(game, 200, rng)
states, seen = game.reset(200, rng), {}
while len(running := np.flatnonzero(~game.finished(states))):
    players = game.to_move(states[running])
    policies = agent.probabilities(states[running], running)
    for state, player, policy in zip(states[running], players, policies, strict=True):
        seen[int(player), game.describe(state, player)] = policy
    game.step(states, rng.integers(2, size=len(states)), rng)

names = [game.describe_action(action) for action in range(2)]
strategy = (
    pd.DataFrame(seen, index=names).T.rename_axis(["player", "position"]).sort_index()
)
strategy.round(3)

# %% [markdown]
# All equilibria bet with the best card three times as often as they bluff with the worst one:

# %%
bluff, value = (
    strategy.loc[(0, f"cards {card} ?: no action yet"), "bet"] for card in "JK"
)
print(
    f"player 0 bets with the lowest card in {bluff:.1%} of the games, and with the highest in {value:.1%}"
)
assert bluff > 0.1
assert abs(value - 3 * bluff) < 0.02

# %% [markdown]
# ## Leduc hold'em, by counterfactual regret minimization
#
# Leduc hold'em has 9,457 nodes, two rounds and a card for both. Linear programs become slow as games grow; CFR improves
# a strategy step by step instead. A solution shows itself as its curve:

# %%
leduc = dancfr.solve("leduc", algorithm="cfr+", iterations=1000, progress=False)
leduc

# %% [markdown]
# `plot` draws the curve and returns its axes, which accept the curves of others. The averages of CFR+ and of
# discounted CFR approach the equilibrium much faster than those of CFR, whose exploitability falls with the root of
# the number of iterations at worst.

# %%
ax = leduc.plot()
others = {
    name: dancfr.solve("leduc", algorithm=name, iterations=1000, progress=False)
    for name in ("cfr", "dcfr")
}
for solution in others.values():
    solution.plot(ax)
assert leduc.exploitability < others["cfr"].exploitability / 10

# %% [markdown]
# The same numbers as a frame of pandas, a column for each algorithm:

# %%
curves = {
    name: found.frame().set_index("iteration")["exploitability"]
    for name, found in others.items()
}
pd.DataFrame({"cfr+": leduc.frame().set_index("iteration")["exploitability"]} | curves)

# %% [markdown]
# ## Check the file, not the program
#
# A solution that is saved is an agent: any command and any function takes its file. The evaluation reads it back and
# computes everything again.

# %%
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "leduc.safetensors"
    leduc.save(file)
    again = dancfr.exploitability(file)
    match = dancfr.play(file, against="random", games=10_000, seed=1)
assert np.isclose(again.exploitability, leduc.exploitability, rtol=1e-6)
again

# %% [markdown]
# Against random play it wins 0.8 chips a game, although it wins only about half of the games. The next notebook,
# `matches`, reads such a result.

# %%
assert match.mean_return > 0.5
match
