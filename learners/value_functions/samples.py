"""Training samples of a value function: policies of the trunk, random or visited by a depth-limited solver, and the
values of the histories at the limit below them. Each of `K` policies makes `S` samples, one for each public state."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.samples import range_value_dtype
from learners.value_functions.bottom import solve_bottom
from learners.value_functions.network import rows_of
from learners.value_functions.parts import Pair, Split
from learners.value_functions.settings import ValueSolving
from learners.value_functions.solver import DepthLimitedSolver, ValueFunction
from learners.value_functions.trunks import normalise, plans_of, random_policies, ranges_of


def random_plans(split: Split, batch: int, settings: ValueSolving, rng: np.random.Generator) -> Pair:
    """Realization plans of random policies, `float32[Q, K]` of each player."""
    return plans_of(split.trunk, random_policies(split, batch, rng, settings.pure))


def asked_plans(
    split: Split, function: ValueFunction, batch: int, settings: ValueSolving, rng: np.random.Generator
) -> Pair:
    """Realization plans of policies that DL-CFR+ visits with a value function, `float32[Q, K]` of each player.

    They are taken at random iterations of runs of DL-CFR+ that start from uniform or random policies (after Brown,
    Bakhtin, Lerer and Gong 2020).
    """
    start = random_policies(split, settings.starts, rng, settings.pure)
    solver = DepthLimitedSolver(split, function)
    uniform = [policy[:, 0] for policy in solver.current_policies()]
    for player in (0, 1):
        start[player][:, 0] = uniform[player]
    solver = DepthLimitedSolver(split, function, start=start)
    when = np.sort(rng.integers(0, settings.asked_iterations, batch))
    which = rng.integers(0, settings.starts, batch)
    plans: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
    for begin in np.unique(when).tolist():
        solver.run(begin - solver.iteration)
        for player in (0, 1):
            plans[player].append(solver.plans[player][:, which[when == begin]])
    first, second = (np.concatenate(found, axis=1).astype(np.float32) for found in plans)
    return first, second


def solve_samples(
    split: Split, plans: Pair, settings: ValueSolving, rng: np.random.Generator
) -> tuple[NDArray[np.void], float]:
    """Solves the bottom below the policies with these plans.

    Returns:
        Rows of `range_value_dtype`, `[S * K]`, policy by policy, and the largest gain of a best response at any
        history, as a share of the largest return.
    """
    encoding, batch = split.encoding, plans[0].shape[1]
    ranges, sums = normalise(split, ranges_of(split, plans), rng)
    solved = solve_bottom(split, ranges, settings.iterations, settings.tolerance)
    rows = np.empty((encoding.num_public, batch), range_value_dtype(encoding.width))
    rows["public"] = np.arange(encoding.num_public)[:, None]
    rows["ranges"] = rows_of(encoding, ranges).reshape(encoding.num_public, batch, -1)
    rows["values"] = rows_of(encoding, solved.values).reshape(encoding.num_public, batch, -1)
    rows["sums"] = np.stack(sums, axis=2)
    return np.ascontiguousarray(rows.T).reshape(-1), solved.gap() / (split.tree.max_utility or 1.0)


def inputs_and_values(
    rows: NDArray[np.void], split_at: int, normalised: bool
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Ranges and counterfactual values of rows of `range_value_dtype`, `float32[B, W]` each.

    Args:
        rows: Rows, `[B]`.
        split_at: Places of the first player.
        normalised: Whether ranges sum to 1, as in the rows; otherwise they are probabilities by the player's own
            actions alone, and the values are those for such ranges of the other player. Where a player never gets to a
            public state its range is then 0, and its values are those for the range drawn in its place.
    """
    ranges, values = np.ascontiguousarray(rows["ranges"]), np.ascontiguousarray(rows["values"])
    if normalised:
        return ranges, values
    return ranges * reaches(rows, split_at), values * reaches(rows, split_at, of_other=True)


def reaches(rows: NDArray[np.void], split_at: int, of_other: bool = False) -> NDArray[np.float32]:
    """The sum of the range of each place's player, or of the other one, in the public state, `float32[B, W]`.

    Chance is left out, so that it may exceed 1 where a player has several hands.
    """
    sums = rows["sums"][:, ::-1] if of_other else rows["sums"]
    return np.repeat(sums.astype(np.float32), [split_at, rows["ranges"].shape[1] - split_at], axis=1)


def typical_value(split: Split, normalised: bool = True) -> float:
    """Root mean square of counterfactual values below random policies: the unit of a net's outputs.

    Args:
        split: The game.
        normalised: Whether ranges sum to 1.
    """
    settings = ValueSolving(iterations=100, tolerance=None)
    rng = np.random.default_rng(0)
    rows, _ = solve_samples(split, random_plans(split, 16, settings, rng), settings, rng)
    _, values = inputs_and_values(rows, split.encoding.widths[0], normalised)
    values = values[split.encoding.mask()[rows["public"]]]
    return max(float(np.sqrt((values.astype(np.float64) ** 2).mean())), 1e-12 * (split.tree.max_utility or 1.0))


__all__ = ["asked_plans", "inputs_and_values", "random_plans", "reaches", "solve_samples", "typical_value"]
