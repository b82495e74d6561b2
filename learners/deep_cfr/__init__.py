"""Nets of advantages and of the average policy, as in Deep CFR (Brown et al. 2019), which several methods fit."""
