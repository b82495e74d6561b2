"""Games of a best response against a frozen agent, many in lock step.

A chunk is a number of games in one seat, with one seed. The frozen agent is asked once a ply for all games in which it
is to move, and so is the responder's net. Games are dealt out over a ladder of exploration, from hardly any to a lot
(as the actors of Ape-X are, Horgan et al. 2018), so that no schedule over time is needed.

The target of a decision is what the game brought, as in Deep Monte-Carlo, if the responder played greedily from then
on. Where it explored later, the return is that of a random move; the target is then the value of the best action at the
first such decision, by the net that played (Watkins 1989, Q(lambda) with lambda = 1). In a game of 150 own moves there
would hardly be a return without random moves behind it.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from actors.explained import Explained
from actors.rows import Rows, take_records
from actors.warm_up import WarmUp
from envs.agent import Agent
from envs.game import Game, IllegalAction, Packed, States
from envs.players import choose_uniform
from learners.best_response.agent import QValues
from learners.networks.settings import NetworkSettings, Weights
from learners.samples import response_dtype


class NotZeroSum(Explained):
    """The returns of a game do not add up to 0, so that a best response says nothing of exploitability."""

    wrong_use = True


class BadMove(Explained):
    """The frozen agent chose an action that is not legal."""


@dataclass(frozen=True)
class ResponseTask:
    """One chunk of games. `seed` makes it repeatable: the same task and weights give the same samples.

    Attributes:
        seed: Entropy, (seed of the command, purpose, iteration, chunk).
        seat: Player that the responder is.
        games: Number of games; all are played at a time.
        cut: Targets of decisions before an exploring one are values of the net; else all are returns.
    """

    seed: tuple[int, ...]
    seat: int
    games: int
    cut: bool = True


@dataclass(frozen=True)
class ResponseWeights:
    """What the responder plays by.

    Attributes:
        version: Number that no other weights have.
        nets: The Q-net of each player.
    """

    version: int
    nets: tuple[Weights, ...]


Block = dict[str, NDArray]
"""`{"responses": response_dtype[n]}`"""


class Responder(WarmUp):
    """Plays chunks; one a process. Keeps its memory between chunks.

    Args:
        game: Rules.
        network: Description of the Q-nets.
        opponent: The frozen agent.
        explore, least: `explore` and `explore_least` of `ResponseSettings`.
    """

    def __init__(self, game: Game, network: NetworkSettings, opponent: Agent, explore: float, least: float) -> None:
        self.game, self.network, self.opponent = game, network, opponent
        self._explore, self._least = explore, least
        self._dtype = response_dtype(game.spec)
        self._rows = Rows(
            {
                "infostate": (np.uint8, (game.spec.packed_size,)),
                "action": (np.int16, ()),
                "game": (np.int32, ()),
                "best": (np.float32, ()),
                "explored": (np.bool_, ()),
            }
        )
        self._bounds = [0]  # where the decisions of each ply begin
        self._version = -1
        self._nets: list[QValues] = []

    def play(self, task: ResponseTask, weights: ResponseWeights) -> tuple[dict[str, float], Block]:
        """Plays one chunk with exploration; returns small statistics and the samples."""
        started = perf_counter()
        returns = self._play_games(task, weights, np.geomspace(self._explore, self._least, task.games))
        block = self._samples(returns, task.cut)
        stats = {"games": float(task.games), "samples": float(len(block)), "seconds": perf_counter() - started}
        return stats, {"responses": block}

    def measure(self, task: ResponseTask, weights: ResponseWeights) -> tuple[NDArray[np.float32], None]:
        """Plays one chunk greedily; returns what each game brought, `float32[games]`."""
        return self._play_games(task, weights, np.zeros(task.games)), None

    def _play_games(
        self, task: ResponseTask, weights: ResponseWeights, explore: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """All games of a chunk; keeps the responder's decisions. `explore` is by game; returns are too."""
        if weights.version != self._version:
            self._nets = [QValues(self.game, self.network, net) for net in weights.nets]
            self._version = weights.version
        game, net = self.game, self._nets[task.seat]
        chance, theirs, own = np.random.default_rng(np.random.SeedSequence(task.seed)).spawn(3)
        self._rows.clear()
        self._bounds = [0]
        self.opponent.begin(game, task.games, theirs)
        states, places = game.reset(task.games, chance), np.arange(task.games)
        returns = np.zeros(task.games, np.float32)
        while len(states):
            mine = game.to_move(states) == task.seat
            actions = np.empty(len(states), np.int64)
            if not mine.all():
                asked = np.flatnonzero(~mine)
                actions[asked] = self.opponent.act(take_records(states, asked), places[asked], theirs)
            if mine.any():
                asked = np.flatnonzero(mine)
                actions[asked] = self._decide(take_records(states, asked), places[asked], net, explore, own)
            try:
                game.step(states, actions, chance)
            except IllegalAction as error:
                raise BadMove(f"agent {self.opponent.name}: {error}") from None
            over = game.finished(states)
            if over.any():
                returns[places[over]] = self._ended(take_records(states, np.flatnonzero(over)), task.seat)
                keep = np.flatnonzero(~over)
                states, places = take_records(states, keep), places[keep]
        return returns

    def _ended(self, states: States, seat: int) -> NDArray[np.float32]:
        """What games that have ended brought the responder."""
        returns = self.game.returns(states)
        off = np.abs(returns.sum(axis=1)).max()
        if off > 1e-4 * max(self.game.spec.max_return, 1.0):
            raise NotZeroSum(
                f"the returns of {self.game.spec.name} add up to {off:g} and not to 0: "
                "what a response wins says nothing of exploitability there"
            )
        return returns[:, seat]

    def _decide(
        self,
        states: States,
        places: NDArray[np.int64],
        net: QValues,
        explore: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """The responder's actions, `int64[n]`. Keeps the samples."""
        legal = self.game.legal(states)
        packed: Packed = self.game.observe(states, self.game.to_move(states))
        values = net(packed, legal)
        actions = values.argmax(axis=1)
        best = values[np.arange(len(states)), actions]
        draws = rng.random((2, len(states)))
        roam = draws[0] < explore[places]
        other = np.where(roam, choose_uniform(legal, draws[1]), actions)
        kept = self._rows.append(len(states))
        kept["infostate"][:] = packed
        kept["action"][:] = other
        kept["game"][:] = places
        kept["best"][:] = best
        kept["explored"][:] = other != actions
        self._bounds.append(self._rows.length)
        return other

    def _samples(self, returns: NDArray[np.float32], cut: bool) -> NDArray[np.void]:
        """The chunk's decisions with their targets, `[n]` records. A ply has at most one decision of each game."""
        rows = self._rows
        block = np.empty(rows.length, self._dtype)
        block["infostate"], block["action"] = rows["infostate"], rows["action"]
        ahead = returns.copy()  # by game, of what is behind the ply at hand
        for start, end in reversed(list(zip(self._bounds[:-1], self._bounds[1:], strict=True))):
            games = rows["game"][start:end]
            block["target"][start:end] = ahead[games]
            if cut:
                explored = rows["explored"][start:end]
                ahead[games[explored]] = rows["best"][start:end][explored]
        return block
