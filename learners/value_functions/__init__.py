"""Depth-limited solving with value functions (paper 003): public states and ranges, value solving, the net, DL-CFR+."""
