"""Evaluation of a run during training, on an actor of its own."""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from actors.explained import Explained
from dancfr.evaluation.arena import play
from dancfr.evaluation.bots import make_bot
from dancfr.evaluation.reading import read_play
from envs.agent import Agent
from envs.capabilities import ExactGame
from envs.game import GameBase

if TYPE_CHECKING:
    from learners.cfr.players_form import PlayersForm
    from learners.cfr.sequence_form import SequenceForm

Row = dict[str, Any]

READ = 1
"""Last word of the seed of the games in which a policy is read."""


class Policies(Protocol):
    """The policies of a run that are evaluated; each method implements its own."""

    def add(self, iteration: int, *nets: Any) -> None:
        """Adds the nets or tables that the method has learnt by the end of an iteration."""
        ...

    def agents(self, iteration: int) -> Mapping[str, Callable[[], Agent]]:
        """Returns a factory for the agent of each policy, by the policy's name.

        Raises:
            ValueError: the policies of this iteration are not available.
        """
        ...


class Evaluations(Protocol):
    """The evaluation actor of a run; `EvaluationServer` is that of most methods."""

    def add(self, iteration: int, *nets: Any) -> None:
        """See `Policies.add`."""
        ...

    def evaluate(self, iteration: int, games: int, seed: tuple[int, ...]) -> list[Row]:
        """Evaluates the policies after an iteration; returns rows for `metrics.jsonl`."""
        ...


class NewestNets:
    """`Policies` that keep the nets of the newest iteration only; subclasses implement `agents`."""

    def __init__(self) -> None:
        self.iteration = 0
        self.nets: Any = None

    def add(self, iteration: int, nets: Any) -> None:
        """Replaces the nets by those of an iteration."""
        self.iteration, self.nets = iteration, nets

    def require(self, iteration: int) -> Any:
        """Returns the newest nets.

        Raises:
            ValueError: the nets belong to another iteration.
        """
        if self.iteration != iteration:
            raise ValueError(f"cannot evaluate iteration {iteration}: the newest nets are of {self.iteration}")
        return self.nets


class NoTree(Explained):
    """The exploitability of a game was requested whose tree cannot be made."""

    wrong_use = True


class EvaluationServer:
    """Plays matches of a run's policies against bots, and computes exact exploitability on the game tree.

    Args:
        policies: Policies of the method.
        game: Game of the matches, with the length of evaluation games.
        opponents: Names of bots.
        exact: Whether to compute the exploitability of every policy, which requires a game with a tree.
        tree_game: Game whose tree is used for exploitability, i.e. the game of the training; None: `game`.
        readable: Whether to read the policies in games against each opponent, see `dancfr.evaluation.reading`.

    Raises:
        NoTree: exploitability is wanted, and the game has no tree, or too large a one.
    """

    def __init__(
        self,
        policies: Policies,
        game: GameBase,
        opponents: Sequence[str],
        exact: bool = False,
        tree_game: GameBase | None = None,
        readable: bool = False,
    ) -> None:
        self._policies, self._game, self._opponents, self._readable = policies, game, opponents, readable
        self._exact = _exact(game if tree_game is None else tree_game) if exact else None

    def add(self, iteration: int, *nets: Any) -> None:
        """See `Policies.add`."""
        self._policies.add(iteration, *nets)

    def evaluate(self, iteration: int, games: int, seed: tuple[int, ...]) -> list[Row]:
        """Plays each policy against each opponent and computes exploitability; returns rows for `metrics.jsonl`.

        Raises:
            ValueError: see `Policies.agents`.
        """
        agents = self._policies.agents(iteration)
        rows = match_rows(self._game, agents, self._opponents, iteration, games, seed, self._readable)
        if self._exact is not None:
            rows += [exact_row(self._exact, iteration, policy, make()) for policy, make in agents.items()]
        return rows


def _exact(game: GameBase) -> "SequenceForm | PlayersForm | ExactGame":
    """Returns the game itself if it evaluates policies without its tree, else the form of its tree.

    Raises:
        NoTree: the game has no tree, or too large a one.
    """
    from envs.openspiel import OpenSpielGame, openspiel_tree
    from envs.tree import compile_tree
    from learners.cfr.players_form import exact_form

    try:
        if isinstance(game, ExactGame):
            game.num_infosets(0)
            return game
        make: Any = openspiel_tree if isinstance(game, OpenSpielGame) else compile_tree
        return exact_form(make(game, general=True))
    except (TypeError, ValueError) as error:
        raise NoTree(f"evaluation.exploitability=true requires the tree of the game, but {error}") from None


def exact_row(exact: "SequenceForm | PlayersForm | ExactGame", iteration: int, policy: str, agent: Agent) -> Row:
    """Computes value and exploitability of an agent that plays all sides; returns a row for `metrics.jsonl`.

    Args:
        exact: Form of the game's tree, or the game if it evaluates policies without it.
        iteration: Iteration of the run.
        policy: Name of the policy.
        agent: An `envs.tree.TreePolicy`, or an `envs.agent.StatesPolicy` where the game is walked over.
    """
    from envs.tree import TreePolicy
    from learners.cfr.players_form import evaluate_form
    from learners.cfr.whole_policy import evaluate_agent

    started = perf_counter()
    if isinstance(exact, ExactGame):
        found = evaluate_agent(exact, agent, threads=1).as_dict()
    else:
        assert isinstance(agent, TreePolicy)
        found = evaluate_form(exact, agent.tree_policy(exact.tree)).as_dict()
    row = {"kind": "exploitability", "iteration": iteration, "policy": policy}
    return row | found | {"time/exploitability_s": perf_counter() - started}


def match_rows(
    game: GameBase,
    agents: Mapping[str, Callable[[], Agent]],
    opponents: Sequence[str],
    iteration: int,
    games: int,
    seed: tuple[int, ...],
    readable: bool = False,
) -> list[Row]:
    """Plays a match of each policy against each opponent; returns rows for `metrics.jsonl`.

    Args:
        game: Rules of the matches.
        agents: Factory for the agent of each policy, by the policy's name.
        opponents: Names of bots.
        iteration: Iteration of the run.
        games: Number of games per match.
        seed: Entropy, to which each match appends the indices of its policy and opponent.
        readable: Whether to read each policy in as many games against each opponent.
    """
    rows: list[Row] = []
    start = perf_counter()
    for number, (policy, make) in enumerate(agents.items()):
        agent = make()
        for place, opponent in enumerate(opponents):
            rng = np.random.default_rng(np.random.SeedSequence((*seed, number, place)))
            result = play(game, (agent, make_bot(opponent, game)), games, rng)
            row = {"kind": "evaluation", "iteration": iteration, "policy": policy, "opponent": opponent}
            rows.append(row | result.as_dict())
            if readable:
                rows[-1] |= reading_of(game, agent, opponent, games, (*seed, number, place))
    for row in rows:
        row["time/evaluation_s"] = perf_counter() - start
    return rows


def reading_of(game: GameBase, agent: Agent, opponent: str, games: int, seed: tuple[int, ...]) -> Row:
    """Reads an agent in games against a bot; returns the share read right, and that by chance, by ply.

    Args:
        game: Rules of the games.
        agent: The agent.
        opponent: Name of the bot.
        games: Games to fit readers on, and games to test them on.
        seed: Entropy of the games; they are others than those of a match with the same.
    """
    rng = np.random.default_rng(np.random.SeedSequence((*seed, READ)))
    found = read_play(game, (agent, make_bot(opponent, game)), games, rng)
    shares = {f"read/{each.ply}": each.accuracy for each in found.plies}
    return shares | {f"read_by_chance/{each.ply}": each.chance for each in found.plies}
