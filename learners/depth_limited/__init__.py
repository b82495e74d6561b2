"""Belief states and depth-limited external sampling (paper 002)."""
