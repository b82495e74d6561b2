"""Settings of the fits of advantage nets."""

from typing import Literal

Bootstrap = Literal["none", "dcfr+", "pdcfr+"]
"""How a net comes to the advantages of former iterations; see `learners.deep_cfr.bootstrapped`."""

Importance = Literal["none", "clipped", "full"]
"""Weights 1 / x^xi(s) of the advantage samples; see `learners.deep_cfr.advantage.AdvantageLearner`."""
