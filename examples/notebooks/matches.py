# ---
# jupyter:
#   dancfr:
#     extras: report,notebook
# ---

# %% [markdown]
# # Play agents against each other, and read the result
#
# Agents have names: bots of a game (`random`, `heuristic`), agents that come with the program (`pretrained:geister`),
# folders of trainings and files of solutions. An object with two methods is an agent as well. This notebook plays
# matches, looks at their uncertainty, and asks what a win rate does not tell. It runs in a minute.

# %%
import numpy as np
from matplotlib import pyplot as plt

import dancfr

# %% [markdown]
# ## A match
#
# Mini Geister is a board game with hidden colours: you win by leading a blue ghost off the board, by taking all blue
# ghosts of the other, or by losing all your red ones. Half of the games are played in each seat.

# %%
match = dancfr.play(
    "heuristic", against="random", game="mini-geister", games=2000, seed=1
)
assert match.result.wins + match.result.draws + match.result.losses == 2000
match

# %% [markdown]
# The first table counts games by seat, the second one by the way they ended. The 95 % interval says how far the win
# rate may be from that of infinitely many games. It halves when there are four times as many games:

# %%
widths = {}
for games in (125, 500, 2000, 8000):
    low, high = dancfr.play("heuristic", "random", "mini-geister", games, seed=2).ci95
    widths[games] = high - low
    print(f"{games:5,} games: {low:.1%} to {high:.1%}")
assert 3 < widths[125] / widths[2000] < 5

# %% [markdown]
# The same seed gives the same games, so results can be repeated:

# %%
again = dancfr.play(
    "heuristic", against="random", game="mini-geister", games=2000, seed=1
)
assert again.result.categories == match.result.categories

# %% [markdown]
# ## An agent of your own
#
# An agent answers for many games together: `states` has a row for each, and so has the answer.


# %%
class Hasty:
    """Plays the legal action with the highest number, without a look at the board."""

    name = "hasty"

    def begin(self, game, batch, rng):
        self.game = game

    def act(self, states, games, rng):
        legal = self.game.legal(states)
        return legal.shape[1] - 1 - np.argmax(legal[:, ::-1], axis=1)


hasty = dancfr.play(Hasty(), against="random", game="mini-geister", games=2000, seed=1)
assert not hasty.ci95[0] <= 0.5 <= hasty.ci95[1]
print(hasty)

# %% [markdown]
# ## All against all
#
# A tournament plays every pair on the same deals. Ratings put the results into one number per agent: 400 points more
# are ten times as many points against the same opponent.

# %%
tournament = dancfr.tournament(
    ["random", "heuristic", "rush"],
    "mini-geister",
    games=1000,
    seed=1,
    progress=False,
)
tournament

# %% [markdown]
# One number per agent cannot say everything, so the table of all pairs belongs to it. As a frame of pandas it is easily
# drawn:

# %%
frame = tournament.frame()
rates = frame.filter(like="against ")
fig, ax = plt.subplots(figsize=(4, 3.5), layout="constrained")
image = ax.imshow(rates, vmin=0, vmax=1, cmap="RdBu")
ax.set_xticks(range(len(rates)), rates.columns, rotation=30)
ax.set_yticks(range(len(rates)), rates.index)
fig.colorbar(image, label="games won")
assert frame["rating"].is_monotonic_decreasing
assert abs(frame["rating"].sum()) < 1e-6

# %% [markdown]
# ## A win rate is not a return
#
# In poker the stakes differ from game to game. An equilibrium of Leduc hold'em folds weak hands early: it loses many
# small pots and wins the large ones.

# %%
poker = dancfr.play(
    "pretrained:leduc", against="random", game="leduc", games=10_000, seed=1
)
low, high = poker.ci95
print(f"games won: {poker.win_rate:.1%} (95 % interval {low:.1%} to {high:.1%})")
print(f"chips won: {poker.mean_return:+.2f} a game")
assert poker.mean_return > 0.5
assert poker.win_rate < 0.55

# %% [markdown]
# And a win rate says nothing about other opponents. Random play loses here, but how much *could* it lose? On a small
# game, the answer is exact:

# %%
worst = dancfr.exploitability("random", "leduc")
assert worst.exploitability > poker.mean_return
worst

# %% [markdown]
# ## What the play gives away
#
# With `readable=True` a reader is fitted to games of the first agent. It then names the hidden colours in other games.
# The share that it gets right, beyond chance, is what an opponent could know.

# %%
geister = dancfr.play(
    "pretrained:geister",
    against="heuristic",
    game="geister",
    games=300,
    seed=1,
    readable=True,
)
ax = geister.reading.plot()
geister.reading

# %%
last = geister.reading.plies[-1]
assert last.ci95[0] > last.chance, "after some forty plies the colours show"
assert geister.win_rate > 0.8
