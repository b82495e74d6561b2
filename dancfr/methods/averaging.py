"""Running averages of weights, for the policies that are played and stored."""

import numpy as np

from learners.networks.settings import Weights


def average_weights(average: Weights, weights: Weights, n: int, power: float) -> Weights:
    """The running average with the weights of the n-th fit taken in: the k-th weigh k to the power, exactly if that is
    1 and closely otherwise (Shamir and Zhang 2013); with power 0 the last weights alone."""
    if power == 0:
        return weights
    share = np.float32((power + 1) / (n + power))
    return {name: average[name] + share * (new - average[name]) for name, new in weights.items()}
