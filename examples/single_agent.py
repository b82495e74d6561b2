"""Learns dark hex on 3x3 against random play, by policy gradients with masked actions in a Gymnasium environment."""

import gymnasium
import numpy as np

import dancfr  # registers the environments

gymnasium.register_envs(dancfr)
env = gymnasium.make("dancfr/DarkHex3-v0", opponent="random")
rng = np.random.default_rng(1)
weights = np.zeros((env.observation_space["observation"].shape[0], env.action_space.n))


def policy(observation):
    """Probabilities of the actions: a linear softmax over those that the mask allows."""
    scores = observation["observation"] @ weights
    shares = np.exp(scores - scores.max()) * observation["action_mask"]
    return shares / shares.sum()


def play(seed=None):
    """Plays a game; returns the inputs, the probabilities and the action of each decision, and the return."""
    decisions, reward, over = [], 0.0, False
    observation, _ = env.reset(seed=seed)
    while not over:
        chances = policy(observation)
        action = rng.choice(len(chances), p=chances)
        decisions.append((observation["observation"], chances, action))
        observation, reward, over, _, _ = env.step(action)
    return decisions, reward


def win_rate(games):
    return np.mean([play()[1] > 0 for _ in range(games)])


play(seed=1)
print(f"before: {100 * win_rate(500):.0f} % of 500 games won")
baseline = 0.0
for _ in range(4000):
    decisions, reward = play()
    for inputs, chances, action in decisions:
        gradient = -chances
        gradient[action] += 1
        weights += 0.1 * (reward - baseline) * np.outer(inputs, gradient)
    baseline += 0.01 * (reward - baseline)
print(f"after 4,000 games: {100 * win_rate(500):.0f} %")
env.close()
