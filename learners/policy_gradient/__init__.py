"""Regularised policy gradients: PPO with entropy and a magnet, and the agent of its nets."""
