"""Chance-sampled CFR on Cheat: a walk of the tree below a deal, over a table of infosets (paper 001)."""
