"""Beliefs about the colours of ghosts, as tables on Mini Geister and as arrangements on any board (paper 002)."""
