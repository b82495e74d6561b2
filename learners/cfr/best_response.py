"""Exact best responses, exploitability and NashConv of any policy, on the sequence form of a tree."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from learners.cfr.sequence_form import SequenceForm, multiply_down

Floats = NDArray[np.float64]


class Evaluation(NamedTuple):
    """What a policy of both players is worth, in the game's own unit.

    Attributes:
        value: Expected return of player 0 when both play it.
        best_responses: Return of each player who answers best to the other's policy.
        max_utility: Largest absolute return of the game.
    """

    value: float
    best_responses: tuple[float, float]
    max_utility: float

    @property
    def gains(self) -> tuple[float, float]:
        """What each player could gain by answering best; 0 at an equilibrium."""
        first, second = self.best_responses
        return first - self.value, second + self.value

    @property
    def nash_conv(self) -> float:
        """Sum of the gains, which rounding may not take below 0."""
        return max(sum(self.best_responses), 0.0)

    @property
    def exploitability(self) -> float:
        """Mean of the gains: half of NashConv."""
        return self.nash_conv / 2

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values; under ``normalised`` divided by the largest return."""
        return {
            "value": self.value,
            "exploitability": self.exploitability,
            "nash_conv": self.nash_conv,
            "gains": list(self.gains),
            "normalised": {
                "exploitability": self.exploitability / self.max_utility,
                "nash_conv": self.nash_conv / self.max_utility,
            },
            "max_utility": self.max_utility,
        }


def evaluate_policy(form: SequenceForm, policy: Floats) -> Evaluation:
    """Value, best responses and exploitability of both players' policies, `float64[S]`.

    Raises:
        ValueError: the policy is no distribution at some infoset.
    """
    check_policy(form, policy)
    first, second = form.plans(policy)
    values = [_best_value(form, player, plan) for player, plan in ((0, second), (1, first))]
    return Evaluation(float(first @ (form.payoff @ second)), (values[0], values[1]), form.tree.max_utility)


def best_response(form: SequenceForm, policy: Floats, player: int) -> tuple[float, Floats]:
    """Return of `player` who answers best to the other's part of `policy`, and such an answer.

    The answer is pure: `float64[S]` of 0 and 1 at the player's own infosets, the other's part of `policy` elsewhere.

    Raises:
        ValueError: the policy is no distribution at some infoset.
    """
    check_policy(form, policy)
    plex = form.players[player]
    values = form.gradient(player, form.players[1 - player].plan(policy))
    chosen = np.zeros(plex.num_sequences)
    respond(plex.parent, plex.begin, values, chosen)
    answer = policy.copy()
    plex.policy(chosen, answer)
    return float(values[0]), answer


def check_policy(form: SequenceForm, policy: Floats) -> None:
    """Raises ValueError, naming the first infoset, where `policy` is no distribution."""
    tree = form.tree
    if policy.shape != (tree.num_slots,):
        raise ValueError(f"a policy of {tree.name} has {tree.num_slots} probabilities, not {list(policy.shape)}")
    sums = np.add.reduceat(policy, tree.slots[:-1])
    wrong = (policy < -1e-9) | ~np.isfinite(policy) | (np.abs(sums - 1) > 1e-6)[tree.slot_infoset]
    if wrong.any():
        infoset = int(tree.slot_infoset[np.flatnonzero(wrong)[0]])
        found = policy[tree.slots[infoset] : tree.slots[infoset + 1]]
        raise ValueError(
            f"the policy is no distribution at infoset {infoset} of {tree.name}: {np.round(found, 6).tolist()}"
        )


def _best_value(form: SequenceForm, player: int, plan: Floats) -> float:
    plex = form.players[player]
    values = form.gradient(player, plan)
    respond(plex.parent, plex.begin, values, np.empty(plex.num_sequences))
    return float(values[0])


@kernel
def respond(parent, begin, values, chosen):
    """Best value of every sequence from the ends up; the game's is ``values[0]``.

    Args:
        parent, begin: See `Treeplex`.
        values: What ends right after each sequence is worth, `float64[Q]`; becomes the value of going on best.
        chosen: 1 for the best action of each infoset, the first of equals, else 0; `float64[Q]`.
    """
    chosen[0] = 1.0
    for j in range(parent.shape[0] - 1, -1, -1):
        best = begin[j]
        for q in range(begin[j], begin[j + 1]):
            chosen[q] = 0.0
            if values[q] > values[best]:
                best = q
        chosen[best] = 1.0
        values[parent[j]] += values[best]


__all__ = ["Evaluation", "best_response", "check_policy", "evaluate_policy", "multiply_down", "respond"]
