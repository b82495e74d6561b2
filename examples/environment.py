"""Steps through a game of Geister as a PettingZoo environment, with random legal actions."""

import numpy as np

import dancfr

env = dancfr.make_game("geister", ply_limit=40).env(render_mode="ansi")
rng = np.random.default_rng(1)
env.reset(seed=1)
for agent in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    if terminated or truncated:
        print(f"{agent}: {reward:+.0f}, {info['ending']}")
        env.step(None)
        continue
    env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
print(env.render())
env.close()
