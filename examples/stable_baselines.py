"""Trains MaskablePPO of sb3-contrib against a frozen agent for Leduc hold'em, then plays and measures its policy here.

docs/tutorials/other-trainers.md explains the file; `pip install sb3-contrib` brings what it needs.
"""

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import dancfr

GAME, DECISIONS = "leduc", 60_000


def policy_of(model):
    """The model as a function of infostates and masks, for `dancfr.policy_agent`."""

    def policy(infostates, legal):
        shown = {"observation": infostates, "action_mask": legal.astype(np.int8)}
        with torch.no_grad():
            found = model.policy.get_distribution(model.policy.obs_to_tensor(shown)[0], legal)
        return found.distribution.probs.numpy()

    return policy


frozen = dancfr.solve(GAME, iterations=5).agent()  # unfinished, so that there is something to win
most = dancfr.exploitability(frozen, GAME).exploitability
envs = make_vec_env("dancfr/Leduc-v0", n_envs=8, seed=1, env_kwargs={"opponent": frozen})
model = MaskablePPO(
    "MultiInputPolicy", envs, learning_rate=lambda left: 2e-3 * left, n_steps=256, batch_size=512, gamma=1.0,
    gae_lambda=1.0, ent_coef=0.05, vf_coef=0.02, seed=1, device="cpu",
)  # fmt: skip
agent = dancfr.policy_agent(policy_of(model), GAME, name="maskable-ppo")
print("before:", dancfr.play(agent, against=frozen, game=GAME, games=10_000, seed=1))
model.learn(DECISIONS)
print("after: ", dancfr.play(agent, against=frozen, game=GAME, games=10_000, seed=1))
print(f"an exact best response wins {most:.3f} chips a game")
print(f"exploitability of the response itself: {dancfr.exploitability(agent, GAME).exploitability:.3f} chips a game")
