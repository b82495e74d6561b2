"""Exact best responses to a frozen agent in Mini Geister."""
