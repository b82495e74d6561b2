"""Exact NashConv in games of any number of players and any returns: the sequence form by terminal nodes.

`P` players, `E` terminal nodes, `Q` sequences of a player, `S` slots.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.extensive import OVER
from envs.tree import Tree
from learners.cfr.checks import check_policy
from learners.cfr.exact_evaluation import Evaluation, evaluate_policy, gains_table
from learners.cfr.sequence_form import SequenceForm, chance_reach, last_sequences, realization_plan, sequence_form
from learners.cfr.treeplex import Treeplex, make_treeplex
from learners.cfr.vector import respond

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PlayersEvaluation:
    """Values and best responses of a policy of all players, in the game's own unit.

    Attributes:
        values: Expected return of each player if all play the policy.
        best_responses: Return of each player who answers best to the others' policies.
        max_utility: Largest absolute return of the game.
        rules: What the game is called in texts, such as ``kuhn, cards=4``; may be empty.
        uniform: Exploitability of uniform play, a yardstick; None if it was not computed.
    """

    values: tuple[float, ...]
    best_responses: tuple[float, ...]
    max_utility: float
    rules: str = ""
    uniform: float | None = None

    @property
    def value(self) -> float:
        """Expected return of player 0 if all play the policy."""
        return self.values[0]

    @property
    def gains(self) -> tuple[float, ...]:
        """Gain of each player from answering best while the others do not change; 0 at a Nash equilibrium."""
        return tuple(best - value for best, value in zip(self.best_responses, self.values, strict=True))

    @property
    def nash_conv(self) -> float:
        """Sum of the gains, at least 0 (rounding could make it negative)."""
        return max(sum(self.gains), 0.0)

    @property
    def exploitability(self) -> float:
        """NashConv divided by the number of players: the mean of the gains."""
        return self.nash_conv / len(self.values)

    def __repr__(self) -> str:
        values, gains = (", ".join(f"{each:.6g}" for each in numbers) for numbers in (self.values, self.gains))
        rules = f"{self.rules}: " if self.rules else ""
        return f"PlayersEvaluation({rules}values {values}; NashConv {self.nash_conv:.6g}, gains {gains})"

    def _repr_html_(self) -> str:
        return gains_table(self.values, self.best_responses, self.gains, repr(self))

    def as_dict(self) -> dict[str, Any]:
        """The evaluation as plain values, with the keys of `Evaluation.as_dict` that have a meaning here."""
        unit = self.max_utility or 1.0
        return {
            "value": self.value,
            "values": list(self.values),
            "exploitability": self.exploitability,
            "nash_conv": self.nash_conv,
            "gains": list(self.gains),
            "normalised": {"exploitability": self.exploitability / unit, "nash_conv": self.nash_conv / unit},
            "max_utility": self.max_utility,
            **({} if self.uniform is None else {"uniform_exploitability": self.uniform}),
        }


@dataclass(frozen=True, eq=False)
class PlayersForm:
    """A tree by the sequences that lead to its ends.

    Attributes:
        tree: The tree, with `payoffs`.
        players: Decisions of each player.
        last: Last sequence of each player at each end, `int32[E, P]`.
        payoffs: Chance times return of each player at each end, `float64[E, P]`.
    """

    tree: Tree
    players: tuple[Treeplex, ...]
    last: NDArray[np.int32]
    payoffs: Floats

    def plans(self, policy: Floats) -> list[Floats]:
        """Realization plan of each player of a policy, `float64[S]`: the product of the player's own probabilities
        along each sequence, `float64[Q]`."""
        return [realization_plan(t, t.from_slots(policy)[:, None])[:, 0] for t in self.players]

    def evaluate(self, policy: Floats) -> PlayersEvaluation:
        """Evaluates the policies of all players, `float64[S]`.

        Raises:
            ValueError: the policy is not a distribution at some infoset.
        """
        check_policy(self.tree, policy)
        reach = np.stack([plan[self.last[:, p]] for p, plan in enumerate(self.plans(policy))], axis=1)
        values = (reach.prod(axis=1)[:, None] * self.payoffs).sum(axis=0)
        best = tuple(self._answer(player, reach) for player in range(len(self.players)))
        return PlayersEvaluation(tuple(values.tolist()), best, self.tree.max_utility)

    def _answer(self, player: int, reach: Floats) -> float:
        """Return of a player who answers best to the others; `reach` is each player's own at each end, `[E, P]`."""
        treeplex = self.players[player]
        weight = np.delete(reach, player, axis=1).prod(axis=1) * self.payoffs[:, player]
        values = np.bincount(self.last[:, player], weight, treeplex.num_sequences)[:, None]
        respond(treeplex, values, np.empty_like(values))
        return float(values[0, 0])


def players_form(tree: Tree) -> PlayersForm:
    """The form of a whole tree that was built as a general one.

    Raises:
        ValueError: the tree has no `payoffs`.
    """
    if tree.payoffs is None:
        raise ValueError(f"the tree of {tree.name} has returns of a constant sum: use sequence_form")
    players = tuple(make_treeplex(tree, player) for player in range(tree.num_players))
    root = np.zeros(1, np.int32)
    ends = np.flatnonzero(tree.mover == OVER)
    last = last_sequences(tree, players, root, np.zeros((1, len(players)), np.int32))
    return PlayersForm(tree, players, last[ends], chance_reach(tree)[ends, None] * tree.payoffs[ends])


def exact_form(tree: Tree) -> SequenceForm | PlayersForm:
    """The form of a whole tree for `evaluate_form`."""
    return sequence_form(tree) if tree.payoffs is None else players_form(tree)


def evaluate_form(form: SequenceForm | PlayersForm, policy: Floats) -> Evaluation | PlayersEvaluation:
    """Evaluates a policy of all players, `float64[S]`, on a whole game.

    Raises:
        ValueError: the policy is not a distribution at some infoset.
    """
    return form.evaluate(policy) if isinstance(form, PlayersForm) else evaluate_policy(form, policy)


__all__ = ["PlayersEvaluation", "PlayersForm", "evaluate_form", "exact_form", "players_form"]
