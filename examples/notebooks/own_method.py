# ---
# jupyter:
#   dancfr:
#     extras: report,notebook
# ---

# %% [markdown]
# # A method of your own: from regret matching to DREAM
#
# DREAM learns from sampled games, with nets in place of tables. This notebook writes it with tables, on Kuhn poker,
# and measures every step exactly. What remains to DREAM is then only to replace each table by a net; that is
# `examples/plain_dream.py`, to which the last section is the key. It runs in a minute.

# %%
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import dancfr
from dancfr.games.trees import make_tree
from learners.cfr.sequence_form import sequence_form

game = dancfr.make_game("kuhn")
actions = game.spec.num_actions

# %% [markdown]
# ## Regret matching
#
# A table has a number for each action: how much better it would have been, summed over all iterations, than the play.
# The next play is in proportion to the positive numbers.


# %%
def regret_matching(regrets, legal):
    positive = np.maximum(regrets, 0) * legal
    return positive / positive.sum() if positive.sum() > 0 else legal / legal.sum()


print(regret_matching(np.array([1.0, 3.0, -5.0]), np.array([1, 1, 1])))

# %% [markdown]
# ## Sample a game
#
# One player is the *traverser*. It explores: half of its actions are drawn uniformly. Its opponent plays its policy. Of
# each decision we keep what is needed to learn from it afterwards.


# %%
@dataclass
class Decision:
    player: int
    infostate: bytes  # what the player knows: the key of its table
    history: bytes  # what both know together: the key of the baseline
    legal: np.ndarray
    policy: np.ndarray
    action: int
    chance: float  # probability with which the action was drawn
    reach: float  # the product of these probabilities over earlier decisions of the traverser


def new_table():
    return defaultdict(lambda: np.zeros(actions))


def sample(regrets, traverser, rng, exploration=0.5):
    """Samples a game; returns its decisions and the return of the traverser."""
    states, decisions, reach = game.reset(1, rng), [], 1.0
    while not game.finished(states)[0]:
        player = int(game.to_move(states)[0])
        own, other = (
            game.observe(states, np.array([seat], np.int8)).tobytes()
            for seat in (player, 1 - player)
        )
        legal = game.legal(states)[0]
        policy = regret_matching(regrets[own], legal)
        drawn = (
            exploration * legal / legal.sum() + (1 - exploration) * policy
            if player == traverser
            else policy
        )
        action = int(rng.choice(actions, p=drawn))
        decisions.append(
            Decision(
                player, own, own + other, legal, policy, action, drawn[action], reach
            )
        )
        reach *= drawn[action] if player == traverser else 1.0
        game.step(states, np.array([action]), rng)
    return decisions, game.returns(states)[0, traverser]


rng = np.random.default_rng(1)
decisions, value = sample(new_table(), 0, rng)
print(f"{len(decisions)} decisions, return {value:+.0f}")

# %% [markdown]
# ## Go back over it
#
# Only one action was tried at each decision, so the values of the others are unknown. A *baseline* guesses them. Where
# the game continued, the guess is corrected by what followed, and the correction is divided by the probability of the
# sample. The mean over samples is then the true value, whatever the baseline says: a good one only makes the samples
# vary less.


# %%
def learn(decisions, value, traverser, baseline, rate):
    """Yields each decision of the traverser with its sampled regrets, and moves the baseline towards the values."""
    sign = 1 if traverser == 0 else -1  # the baseline has values of player 0
    for at in reversed(decisions):
        guess = baseline[at.history]
        values = sign * guess * at.legal
        values[at.action] += (value - values[at.action]) / at.chance
        guess[at.action] += rate * (sign * value - guess[at.action])
        value = at.policy @ values
        if at.player == traverser:
            yield at, (values - value) * at.legal / at.reach


# %% [markdown]
# Is that so? Both players play uniformly, and we look at the regret of betting in all first decisions together: once
# without a baseline, and once with one that has learned from the same games.

# %%
samples = {}
for name, rate in (("no baseline", 0.0), ("baseline", 0.05)):
    rng, baseline, found = np.random.default_rng(2), new_table(), defaultdict(list)
    for _ in range(10_000):
        for at, regret in learn(*sample(new_table(), 0, rng), 0, baseline, rate):
            if at.reach == 1:
                found[at.infostate[1]].append(regret[1])
    samples[name] = {card: np.array(values) for card, values in found.items()}

summary = pd.DataFrame(
    [
        {
            "card": card,
            "": name,
            "mean": values.mean(),
            "sd": values.std(),
            "error": values.std() / len(values) ** 0.5,
        }
        for name, cards in samples.items()
        for card, values in sorted(cards.items())
    ]
).pivot(index="card", columns="")
summary.round(3)

# %%
gap = (summary["mean", "baseline"] - summary["mean", "no baseline"]).abs()
error = np.hypot(summary["error", "baseline"], summary["error", "no baseline"])
assert (gap < 4 * error).all(), "the means agree"
assert (summary["sd", "baseline"] < summary["sd", "no baseline"]).all(), (
    "and the baseline makes them more certain"
)

# %% [markdown]
# ## The average is the strategy
#
# The play of an iteration jumps about; the average over all iterations approaches the equilibrium. It is weighted by
# the probability with which the player itself comes to a decision. `sequence_form` turns a policy into these weights,
# the *plans*, on the tree of the game. An object with `tree_policy` is all that `dancfr.exploitability` needs.

# %%
tree = make_tree(game)
form, legal = sequence_form(tree), tree.legal()


class Average:
    """The average of the policies so far."""

    def __init__(self):
        self.plans = [0.0, 0.0]

    def add(self, regrets):
        infostates = [row.tobytes() for row in tree.observed]
        rows = [
            regret_matching(regrets[key], allowed)
            for key, allowed in zip(infostates, legal, strict=True)
        ]
        for player, plan in enumerate(form.plans(tree.to_slots(np.stack(rows)))):
            self.plans[player] = self.plans[player] + plan

    def tree_policy(self, tree):
        return form.policy(tuple(self.plans))


# %% [markdown]
# ## Train


# %%
def train(iterations, seed, rate):
    """Returns the exploitability of the average after 1, 2, 4, 8, ... iterations."""
    rng, baseline, regrets, average, curve = (
        np.random.default_rng(seed),
        new_table(),
        new_table(),
        Average(),
        {},
    )
    for t in range(1, iterations + 1):
        average.add(regrets)
        for traverser in range(2):
            for at, regret in learn(
                *sample(regrets, traverser, rng), traverser, baseline, rate
            ):
                regrets[at.infostate] += regret
        if t & (t - 1) == 0:
            curve[t] = dancfr.exploitability(average, game).exploitability
    return curve


SEEDS, ITERATIONS = 3, 2048
curves = {
    name: pd.DataFrame([train(ITERATIONS, seed, rate) for seed in range(SEEDS)])
    for name, rate in (("no baseline", 0.0), ("baseline", 0.05))
}

# %%
fig, ax = plt.subplots(layout="constrained")
for name, frame in curves.items():
    (line,) = ax.loglog(
        frame.columns, frame.mean(), marker="o", label=f"sampled, {name}"
    )
    ax.fill_between(
        frame.columns, frame.min(), frame.max(), color=line.get_color(), alpha=0.2
    )
dancfr.solve(game, "cfr", iterations=ITERATIONS, progress=False).plot(ax)
_ = ax.set_title(
    f"Kuhn poker: mean and range of {SEEDS} seeds; CFR visits the whole tree in each iteration"
)

# %%
last = {name: frame[ITERATIONS].mean() for name, frame in curves.items()}
print(last)
assert last["baseline"] < last["no baseline"], "the baseline helps"
assert last["baseline"] < 0.05, "and the average approaches the equilibrium"

# %% [markdown]
# ## From tables to nets
#
# A table needs a row for every infostate, and large games have too many. DREAM (Steinberger, Lerer and Brown 2020)
# makes each table a net and each sum over iterations a buffer of samples, to which the net is fitted:
#
# | here | `examples/plain_dream.py` | `dancfr train leduc-dream` |
# |---|---|---|
# | `regrets`, a sum | a reservoir, and a net that is fitted to it: `fit` | `learners/deep_cfr/advantage.py` |
# | `baseline`, a running mean | a net fitted by expected SARSA: `fit_baseline` | `learners/dream/baseline.py` |
# | `sample` | `play` | `actors/dream/traversal.py`: many games in lock step |
# | `learn` | `sampled_advantages` | `learners/dream/recursion.py` |
# | `Average` | `average_policy`, over the nets of all iterations | `learners/dream/agent.py` |
#
# Division by `reach` falls away there: a net learns the *mean* of the samples of an infostate, not their sum, so it
# does not matter how often the traverser came to it.
#
# `docs/tutorials/own-method.md` shows the way from such a file to a method that `dancfr train` runs, on a cluster and
# with checkpoints.
