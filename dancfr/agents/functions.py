"""`dancfr.policy_agent`: a function as an agent, so that the policy of any trainer plays and is measured here."""

import inspect
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.given import require_rules
from dancfr.arguments import checked
from dancfr.errors import UsageError, one_line
from dancfr.evaluation.arena import AgentError
from dancfr.games.registry import make_game
from dancfr.games.view import numbered_game, view_of
from envs.agent import Named
from envs.capabilities import TOLERANCE
from envs.game import Game, GameBase, Packed, States
from envs.tree import Tree
from learners.regret_matching import draw_actions

Policy = Callable[[NDArray[np.float32], NDArray[np.bool_]], NDArray[np.floating]]
"""A function of infostates, `float32[B, *S]`, and of their legal actions, `bool[B, A]`. It returns the probability of
each action, `[B, A]`: 0 where it is illegal, and 1 in all."""

BLOCK = 1 << 14
"""Number of infostates in one call of a policy."""


@checked
def policy_agent(
    policy: Policy | Sequence[Policy], game: str | GameBase, *, encoding: str | None = None, name: str = "policy"
) -> "FunctionAgent":
    """Makes an agent of a function, such as the policy that another library has trained in an environment of a game.

    The agent plays wherever agents are taken as objects: in `play`, `tournament` and `best_response`, in
    `exploitability` on a game that has a tree, and as the opponent of a Gymnasium environment.

    Args:
        policy: A function of infostates, `float32[B, *S]`, and legal actions, `bool[B, A]`, that returns the
            probability of each action, `[B, A]`; or one for each player. Infostates and actions are those that the
            game's PettingZoo and Gymnasium environments show as ``observation`` and ``action_mask``.
        game: Name of the game with which the policy was trained, or the game itself, with its options.
        encoding: One of `game.spec.shapes`; None: that of the game's PettingZoo environment.
        name: Name of the agent in results and messages.

    Raises:
        UsageError: the game does not exist or lists its actions, the encoding does not exist, the number of functions
            is not that of players, or a function does not take two arguments.
    """
    rules = make_game(game) if isinstance(game, str) else game
    numbered = numbered_game(rules.spec.name, rules, "a policy numbers them")
    policies = (policy,) if callable(policy) else tuple(policy)
    players = numbered.spec.num_players
    if not callable(policy) and len(policies) != players:
        raise UsageError(f"{name}: give one policy, or one for each of {players} players, got {len(policies)}")
    for each in policies:
        _require_signature(each, name)
    return FunctionAgent(policies, numbered, view_of(numbered, encoding).encoding, name)


WRAPPED = "call it in a function, as docs/tutorials/other-trainers.md does"


def _named(policy: Policy) -> str:
    """Returns the name of a function in messages."""
    return str(getattr(policy, "__name__", type(policy).__name__))


def _require_signature(policy: Policy, name: str) -> None:
    """Raises UsageError if a function cannot be called with infostates and legal actions."""
    try:
        signature = inspect.signature(policy)
    except (TypeError, ValueError):  # of some functions in C, which do not tell
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise UsageError(
            f"{name}: {_named(policy)}{signature} cannot be called as {_named(policy)}(infostates, legal), with arrays "
            "float32[B, ...] and bool[B, A]: a policy returns the probability of each action, [B, A]"
        ) from None


class FunctionAgent(Named):
    """Draws actions from the probabilities that functions return; satisfies `envs.agent.Agent`. It has no memory.

    Args:
        policies: The policy of all players, or of each player.
        game: The game for which they were made.
        encoding: Encoding of the infostates that they are given.
        name: Name in messages.

    Attributes:
        made_for: The game, see `dancfr.agents.given`.
    """

    def __init__(self, policies: Sequence[Policy], game: Game, encoding: str, name: str) -> None:
        self.name, self.encoding = name, encoding
        self._policies = tuple(policies)
        self.made_for = self._game = game

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """See `Agent.begin`.

        Raises:
            UsageError: the rules of the game are not those for which the agent was made.
        """
        require_rules(self, game)
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Agent.act`.

        Raises:
            AgentError: a policy failed, or returned something other than probabilities of legal actions.
        """
        found = self.probabilities(states, games).astype(np.float32)
        draws = rng.random(len(states), dtype=np.float32)
        return draw_actions(found, self._game.legal(states), draws)[0]

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `envs.agent.StatesPolicy`; raises the errors of `act`."""
        mover = self._game.to_move(states)
        return self._evaluate(self._game, self._game.observe(states, mover), self._game.legal(states), mover)

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """The policy of all players at every infoset of a game tree, `float64[S]`; raises the errors of `act`."""
        return tree.to_policy(self._evaluate(self.made_for, tree.observed, tree.legal(), tree.player))

    def _evaluate(
        self, game: Game, packed: Packed, legal: NDArray[np.bool_], players: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """Probabilities `[B, A]` at packed infostates of `players[b]`."""
        found = np.zeros(legal.shape)
        for number, policy in enumerate(self._policies):
            mine = np.arange(len(packed)) if len(self._policies) == 1 else np.flatnonzero(players == number)
            for start in range(0, len(mine), BLOCK):
                rows = mine[start : start + BLOCK]
                answer = self._answer(policy, game.encode(packed[rows], self.encoding), legal[rows])
                found[rows] = self._checked(answer, legal[rows])
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _answer(self, policy: Policy, infostates: NDArray[np.float32], legal: NDArray[np.bool_]) -> object:
        """Calls a policy; whatever someone else's function raises becomes an error that names it, in one line."""
        try:
            return policy(infostates, legal)
        except Exception as error:
            given = f"infostates float32{list(infostates.shape)} and legal actions bool{list(legal.shape)}"
            net = f", and a net takes tensors: {WRAPPED}" if hasattr(policy, "forward") else ""
            raise AgentError(
                f"agent {self.name}: {_named(policy)} raised {one_line(error)}; it was given arrays of "
                f"NumPy, {given}{net}"
            ) from error

    def _checked(self, answer: object, legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Returns the answer of a policy, without rounding errors below 0."""
        wanted = f"probabilities of the shape {list(legal.shape)}"
        try:
            found = np.asarray(answer, np.float64)
        except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: of a tensor with a gradient
            raise AgentError(f"agent {self.name} returned {type(answer).__name__}, not {wanted}: {error}") from None
        if found.shape != legal.shape:
            raise AgentError(f"agent {self.name} returned an array of the shape {list(found.shape)}, not {wanted}")
        if not (found >= -TOLERANCE).all():  # also false for nan
            raise AgentError(f"agent {self.name} returned {found.min():g} as a probability: are these scores?")
        outside = np.where(legal, 0, found).max()
        if outside > TOLERANCE:
            raise AgentError(
                f"agent {self.name} plays an illegal action with probability {outside:g}: multiply by the mask and "
                "divide by the sum"
            )
        shares = np.where(legal, found, 0).clip(0)
        total = shares.sum(axis=1)
        if not (sound := np.abs(total - 1) <= TOLERANCE).all():
            raise AgentError(f"agent {self.name} returned probabilities whose sum is {total[~sound][0]:g}, not 1")
        return shares


__all__ = ["FunctionAgent", "Policy", "policy_agent"]
