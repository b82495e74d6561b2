"""Geister by belief states: belief trackers and depth-limited external sampling (paper 002)."""
