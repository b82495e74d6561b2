"""Settings of the fits of advantage nets."""

from typing import Literal

Importance = Literal["none", "clipped", "full"]
"""Weights 1 / x^xi(s) of the advantage samples; see `learners.deep_cfr.advantage.AdvantageLearner`."""
