# ---
# jupyter:
#   dancfr:
#     extras: train,report,notebook
# ---

# %% [markdown]
# # Train from Python, and plot the curve
#
# Trainings start from presets, complete configurations with a name. This notebook trains two methods on Leduc hold'em,
# compares their curves, continues a run, and measures the agent in three ways. It runs in a minute on one core: the
# trainings are far shorter than useful ones.

# %%
import tempfile
from pathlib import Path

import dancfr

temporary = (
    tempfile.TemporaryDirectory()
)  # for runs that you keep, name a folder of your own
folder = Path(temporary.name)

# %% [markdown]
# ## DREAM
#
# Settings that differ from the preset are given by name; `dancfr presets leduc-dream-quick` lists all of them with
# their meaning. `inline=True` trains in this process. Without it a local Ray starts, and uses all cores, with the same
# result.

# %%
settings = {
    "evaluation.every": 1,
    "advantage_training.minibatches": 150,
    "baseline_training.minibatches": 75,
}
options = {"inline": True, "wandb": "off", "progress": False}
dream = dancfr.train(
    "leduc-dream-quick", settings, iterations=6, run_dir=folder / "dream", **options
)
dream

# %% [markdown]
# Leduc hold'em has a tree, so each evaluation is exact: **NashConv** is the sum of what both players gain by answering
# perfectly, in chips. It is 0 at an equilibrium. The *average* of all nets is the agent that DREAM promises to
# improve; the *last* net need not.

# %%
ax = dream.plot()

# %% [markdown]
# A run is a folder, and its record is a table. Any of its keys can be drawn:

# %%
rows = dream.frame("train")
print(
    f"{len(rows)} iterations, {rows['samples/decisions'].iloc[-1]:,} decisions, {rows['elapsed_s'].iloc[-1]:.0f} s"
)
ax = dream.plot("loss/advantage")

# %% [markdown]
# ## Continue
#
# The run may have been stopped by Ctrl-C, by a kill or by its end: with `resume=True` it continues from its last
# checkpoint, to the same nets as without the interruption.

# %%
before = dream.metric("nash_conv", policy="average")[1]
dream = dancfr.train(
    "leduc-dream-quick",
    settings,
    iterations=10,
    run_dir=folder / "dream",
    resume=True,
    **options,
)
after = dream.metric("nash_conv", policy="average")[1]
assert (after[: len(before)] == before).all()
assert len(after) > len(before)

# %% [markdown]
# ## Another method on the same axes
#
# A policy gradient makes other steps, so the curves are drawn over decisions of the sampled games. The frame has all
# that is needed.

# %%
gradient = dancfr.train(
    "leduc-policy-gradient",
    {"evaluation.every": 20},
    samples=400_000,
    run_dir=folder / "gradient",
    **options,
)


def curve(run, policy):
    """NashConv of a policy by the decisions that the training had sampled."""
    decisions = run.frame("train").groupby("iteration")["samples/decisions"].max()
    found = (
        run.frame("exploitability")
        .query("policy == @policy")
        .set_index("iteration")["nash_conv"]
    )
    return found.set_axis(decisions.loc[found.index])


policy = gradient.frame("exploitability")["policy"].iloc[0]
ax = curve(dream, "average").plot(
    marker="o", label="DREAM, average", loglog=True, grid=True
)
curve(gradient, policy).plot(ax=ax, marker=".", label=f"policy gradient, {policy}")
ax.set_ylabel("nash_conv")
_ = ax.legend()

# %%
finals = {
    run.path.name: run.frame("exploitability").groupby("policy")["nash_conv"].last()
    for run in (dream, gradient)
}
for name, values in finals.items():
    print(name, values.round(3).to_dict())
assert finals["dream"]["average"] < before[0] / 2
assert finals["gradient"][policy] < 2

# %% [markdown]
# ## Measure the agent
#
# First against a bot, the weakest test:

# %%
match = dream.play(against="random", games=5000, seed=1)
assert match.mean_return > 0.3
match

# %% [markdown]
# Then exactly, which only small games allow:

# %%
exact = dancfr.exploitability(dream.name())
exact

# %% [markdown]
# And by a best response that is trained against it. This works in large games too, and gives a lower bound: more
# training finds more. Here the bound can be compared with the truth.

# %%
response = dancfr.best_response(dream.name(), games=600_000, eval_games=4000, seed=1)
ax = response.plot()
ax.axhline(exact.exploitability, linestyle="--", color="black", label="exact")
ax.legend()
print(f"{response.exploitability:.3f} of {exact.exploitability:.3f} chips a game found")
assert 0 < response.exploitability <= exact.exploitability

# %% [markdown]
# Tomorrow, or in another program, the folder is enough:

# %%
run = dancfr.load_run(folder / "dream")
assert dancfr.exploitability(run.name()).nash_conv == exact.nash_conv
run
