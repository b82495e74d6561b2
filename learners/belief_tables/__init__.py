"""Depth-limited external sampling over belief states of Mini Geister, with tables (paper 002)."""
