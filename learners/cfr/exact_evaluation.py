"""Exact best responses, exploitability and NashConv of any policy, on the sequence form of a tree."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners.cfr.checks import check_policy
from learners.cfr.sequence_form import SequenceForm
from learners.cfr.vector import respond
from learners.html import html_table

Floats = NDArray[np.float64]


def gains_table(values: Sequence[float], best: Sequence[float], gains: Sequence[float], caption: str) -> str:
    """Returns a table of HTML with a row for each player: value of the policy, of the best response, and gain."""
    rows = [
        (player, *(f"{number:+.6g}" for number in numbers))
        for player, numbers in enumerate(zip(values, best, gains, strict=True))
    ]
    return html_table(("player", "all play this", "answering best", "gain"), rows, caption)


def beside(uniform: float | None) -> str:
    """Names the exploitability of uniform play, if it is known, in brackets after that of a policy."""
    return "" if uniform is None else f" (of uniform play {uniform:.4g})"


class Evaluation(NamedTuple):
    """Value and exploitability of a policy of both players, in the game's own unit.

    Attributes:
        value: Expected return of player 0 if both play the policy.
        best_responses: Return of each player who answers best to the other's policy.
        max_utility: Largest absolute return of the game, less `shift`.
        shift: Half of what the returns of both players sum to, see `Tree`.
        rules: What the game is called in texts, such as ``kuhn, cards=4``; may be empty.
        uniform: Exploitability of uniform play, a yardstick; None if it was not computed.
    """

    value: float
    best_responses: tuple[float, float]
    max_utility: float
    shift: float = 0.0
    rules: str = ""
    uniform: float | None = None

    @property
    def gains(self) -> tuple[float, float]:
        """Gain of each player from answering best; 0 at an equilibrium."""
        first, second = self.best_responses
        return first - self.value, second + self.value - 2 * self.shift

    @property
    def nash_conv(self) -> float:
        """Sum of the gains, at least 0 (rounding could make it negative)."""
        return max(sum(self.best_responses) - 2 * self.shift, 0.0)

    @property
    def exploitability(self) -> float:
        """Half of NashConv: the mean of the gains."""
        return self.nash_conv / 2

    def __repr__(self) -> str:
        first, second = self.gains
        rules = f"{self.rules}: " if self.rules else ""
        return (
            f"Evaluation({rules}value {self.value:+.6g}, exploitability {self.exploitability:.6g}"
            f"{beside(self.uniform)}, NashConv {self.nash_conv:.6g}, gains {first:.6g} and {second:.6g})"
        )

    def _repr_html_(self) -> str:
        return gains_table((self.value, 2 * self.shift - self.value), self.best_responses, self.gains, repr(self))

    def as_dict(self) -> dict[str, Any]:
        """The evaluation as plain values; those under ``normalised`` are divided by the largest return."""
        unit = self.max_utility or 1.0  # where all returns are 0, so are these
        return {
            "value": self.value,
            "exploitability": self.exploitability,
            "nash_conv": self.nash_conv,
            "gains": list(self.gains),
            "normalised": {
                "exploitability": self.exploitability / unit,
                "nash_conv": self.nash_conv / unit,
            },
            "max_utility": self.max_utility,
            "returns_sum": 2 * self.shift,
            **({} if self.uniform is None else {"uniform_exploitability": self.uniform}),
        }


def evaluate_policy(form: SequenceForm, policy: Floats) -> Evaluation:
    """Evaluates both players' policies, `float64[S]`, on a whole game.

    Raises:
        ValueError: the policy is not a distribution at some infoset.
    """
    check_policy(form.tree, policy)
    first, second = form.plans(policy)
    shift = form.tree.shift
    values = [_respond(form, player, plan)[0] + shift for player, plan in ((0, second), (1, first))]
    value = float(first @ (form.payoff @ second)) + shift
    return Evaluation(value, (values[0], values[1]), form.tree.max_utility, shift)


def best_response(form: SequenceForm, policy: Floats, player: int) -> tuple[float, Floats]:
    """Computes the return of `player` who answers best to the other's part of `policy`, and such an answer.

    The answer is pure: `float64[S]` of 0 and 1 at the player's own infosets, the other's part of `policy` elsewhere.

    Raises:
        ValueError: the policy is not a distribution at some infoset.
    """
    check_policy(form.tree, policy)
    value, chosen = _respond(form, player, form.plans(policy)[1 - player])
    value += form.tree.shift
    answer = policy.copy()
    form.players[player].to_slots(chosen, answer)
    return value, answer


def _respond(form: SequenceForm, player: int, plan: Floats) -> tuple[float, Floats]:
    """Return of a player who answers best to the other's plan, and the answer by sequence, `float64[Q]`."""
    values = form.gradient(player, plan)[:, None]
    chosen = np.empty_like(values)
    respond(form.players[player], values, chosen)
    return float(values[0, 0]), chosen[:, 0]


__all__ = ["Evaluation", "best_response", "evaluate_policy"]
