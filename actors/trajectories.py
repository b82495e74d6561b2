"""Self-play of a policy gradient: whole games in lock step, with advantages of the learning players' decisions.

Any seat of a game may be taken by an opponent: a frozen agent, or a former net. The decisions of opponents give no
samples.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.explained import Explained
from actors.rows import Rows, take_records
from actors.warm_up import WarmUp
from envs.agent import Agent
from envs.game import Game, IllegalAction, Packed, States
from envs.players import RandomAgent
from learners.advantages import estimate_advantages
from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.agent import PolicyAgent
from learners.policy_gradient.critic import CriticInference, other_views, policy_alone
from learners.policy_gradient.settings import NoiseSettings
from learners.regret_matching import apply_threshold, draw_actions
from learners.samples import pack_mask, trajectory_dtype

LEARNER = 0
"""The party that learns; frozen opponents are 1, 2, ..., and the former net follows them."""
NOISE = -1
"""The party that plays in place of others where actions are random, see `NoiseSettings`."""


class NotZeroSum(Explained):
    """The returns of a game do not add up to a constant, so that a best response does not bound exploitability."""

    wrong_use = True


class BadReturns(Explained):
    """The returns of a game are not finite, or larger than its spec allows."""


class BadMove(Explained):
    """A frozen opponent chose an action that is not legal."""


@dataclass(frozen=True)
class TrajectoryTask:
    """A chunk of games. The same task and weights always give the same samples.

    Attributes:
        seed: Entropy of the random generators, (run seed, iteration, chunk).
        tables: Number of games, and the party in each of their seats, see `LEARNER`.
    """

    seed: tuple[int, ...]
    tables: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def games(self) -> int:
        """Number of games in all."""
        return sum(games for games, _ in self.tables)


@dataclass(frozen=True)
class TrajectoryWeights:
    """The nets that play.

    Attributes:
        version: Number that no other nets of the run have; 0 for new nets.
        network: Settings of the nets.
        nets: Weights of the net of all players, or of each player's net.
        former: Version and nets of a former policy as an opponent, if there is one.
        threshold: Measured games leave out actions with less than this fraction of the highest probability.
    """

    version: int
    network: NetworkSettings
    nets: tuple[Weights, ...]
    former: tuple[int, tuple[Weights, ...]] | None = None
    threshold: float = 0.0


Decide = Callable[[States, NDArray[np.int8], NDArray[np.int64], np.random.Generator], NDArray[np.int64]]
"""Chooses actions from states, players to move, numbers of the games, and a source of draws."""

Block = dict[str, NDArray[Any]]
"""`{"net0": trajectory_dtype[n], ...}`, by net"""


class TrajectoryPlayer(WarmUp):
    """Plays chunks of games; reuses its buffers between chunks.

    Args:
        game: Batched game.
        discount: Gamma, see `PolicyTrainingSettings`.
        trace: Lambda.
        opponents: Frozen agents.
        zero_sum: Refuse games whose returns do not add up to a constant, and subtract half of it from each.
        noise: Random actions in the games of `play`.
        critic: Estimate advantages by a critic that sees what all players see, see `PolicyTrainingSettings`.
        device: Device of the nets.
    """

    def __init__(
        self,
        game: Game,
        discount: float,
        trace: float,
        opponents: Sequence[Agent] = (),
        zero_sum: bool = False,
        noise: NoiseSettings | None = None,
        critic: bool = False,
        device: str = "cpu",
    ) -> None:
        self.game = game
        self._zero_sum = zero_sum
        self._sum: float | None = None  # of the returns of the first game
        self._noise = noise if noise is not None and (noise.openings or noise.tremble) else None
        self.discount, self.trace = discount, trace
        self._opponents: list[Agent | None] = [None, *opponents]
        self._uniform = RandomAgent()
        self._dtype = trajectory_dtype(game.spec, critic)
        self._critic = critic
        self._device = device
        self._rows = Rows(
            {
                "infostate": (np.uint8, (game.spec.packed_size,)),
                "legal": (np.uint8, self._dtype["legal"].shape),
                "action": (np.int16, ()),
                "log_probability": (np.float32, ()),
                "value": (np.float32, ()),
                "game": (np.int32, ()),
                "player": (np.int8, ()),
                **({"others": (np.uint8, self._dtype["others"].shape)} if critic else {}),
            }
        )
        self._version = -1
        self._learner: PolicyAgent
        self._critics: list[CriticInference]
        self._former: tuple[int, PolicyAgent] | None = None

    def play(self, task: TrajectoryTask, weights: TrajectoryWeights) -> tuple[dict[str, float], Block]:
        """Plays a chunk; returns its statistics and samples, see `Block`."""
        started, spent = perf_counter(), process_time()
        self._take(weights)
        seats = _seats(task)
        self._rows.clear()
        seed = np.random.SeedSequence(task.seed)
        decisions, returns = self._play_games(seats, seed, self._decide, self._noise)
        blocks = self._samples(returns, weights.version)
        stats = {
            "games": float(task.games),
            "decisions": float(decisions),
            "samples": float(self._rows.length),
            "seconds": perf_counter() - started,
            "cpu": process_time() - spent,
        }
        return stats | _results(seats, returns), blocks

    def measure(
        self, task: TrajectoryTask, weights: TrajectoryWeights
    ) -> tuple[tuple[NDArray[np.float32], float], None]:
        """Plays a chunk with the threshold of the weights.

        Returns:
            What the games brought, `float32[games, players]`, and the CPU seconds that they took.
        """
        spent = process_time()
        self._take(weights)

        def decide(
            states: States, movers: NDArray[np.int8], _: NDArray[np.int64], rng: np.random.Generator
        ) -> NDArray[np.int64]:
            packed, legal = self.game.observe(states, movers), self.game.legal(states)
            policy = apply_threshold(self._learner.evaluate(packed, legal, movers)[0], weights.threshold)
            return draw_actions(policy, legal, rng.random(len(states), dtype=np.float32))[0]

        returns = self._play_games(_seats(task), np.random.SeedSequence(task.seed), decide)[1]
        return (returns, process_time() - spent), None

    def _take(self, weights: TrajectoryWeights) -> None:
        """Loads the nets, unless they are loaded already."""
        if weights.version != self._version:
            own = [policy_alone(net) for net in weights.nets]
            self._learner = PolicyAgent(self.game, weights.network, own, "learner", device=self._device)
            if weights.nets[0].keys() != own[0].keys():  # nets that are only measured have no critic
                self._critics = [CriticInference(self.game, weights.network, net, self._device) for net in weights.nets]
            self._version = weights.version
        former = weights.former
        if former is not None and (self._former is None or self._former[0] != former[0]):
            self._former = (
                former[0],
                PolicyAgent(self.game, weights.network, former[1], f"net {former[0]}", device=self._device),
            )

    def _play_games(
        self, seats: NDArray[np.int8], seed: np.random.SeedSequence, decide: Decide, noise: NoiseSettings | None = None
    ) -> tuple[int, NDArray[np.float32]]:
        """Plays all games of a chunk.

        Args:
            seats: Party in each seat of each game, `int8[games, players]`.
            seed: Seed of the chunk.
            decide: Chooses the learner's actions.
            noise: Random actions; None for none.

        Returns:
            Decisions of all parties, random actions not counted, and the returns, `float32[games, players]`.
        """
        game, batch = self.game, len(seats)
        chance, own, theirs, blind = np.random.default_rng(seed).spawn(4)
        random_plies, random_rate = _noise(noise, seats, blind)
        parties = {party: self._party(party) for party in np.unique(seats).tolist() if party != LEARNER}
        if noise is not None:
            parties[NOISE] = self._uniform
        for agent in parties.values():
            agent.begin(game, batch, theirs)
        states, places = game.reset(batch, chance), np.arange(batch)
        returns, decisions = np.zeros((batch, game.spec.num_players), np.float32), 0
        for ply in count():
            over = game.finished(states)  # after a step, or before the first decision
            if over.any():
                ended, going = np.flatnonzero(over), np.flatnonzero(~over)
                returns[places[ended]] = self._returns(take_records(states, ended))
                states, places = take_records(states, going), places[going]
            if not len(states):
                break
            movers = game.to_move(states)
            party = seats[places, movers]
            if noise is not None:
                at_random = (random_plies[places] > ply) | (blind.random(len(states)) < random_rate[places, movers])
                party = np.where(at_random, NOISE, party)
            actions = np.empty(len(states), np.int64)
            decisions += int((party != NOISE).sum())
            for number, agent in parties.items():
                asked = np.flatnonzero(party == number)
                if len(asked):
                    actions[asked] = agent.act(take_records(states, asked), places[asked], theirs)
            asked = np.flatnonzero(party == LEARNER)
            if len(asked) == len(states):
                actions = decide(states, movers, places, own)
            elif len(asked):
                actions[asked] = decide(take_records(states, asked), movers[asked], places[asked], own)
            try:
                game.step(states, actions, chance)
            except IllegalAction as error:  # the learner draws legal actions only
                if not parties:  # so the game lists actions that it refuses
                    raise
                names = " or ".join(agent.name for agent in parties.values())
                raise BadMove(f"agent {names}: {error}") from None
        return decisions, returns

    def _returns(self, states: States) -> NDArray[np.float32]:
        """Returns of each player in games that have ended; with a constant sum, less half of it."""
        returns, spec = self.game.returns(states), self.game.spec
        most = np.abs(returns).max()
        if not most <= 1.0001 * spec.max_return:  # also if it is not a number
            raise BadReturns(
                f"a game of {spec.name} returned {most:g}, but its max_return is {spec.max_return:g}: set the option "
                "or the constant of this name"
            )
        if not self._zero_sum:
            return returns
        sums, tolerance = returns.sum(axis=1), 1e-4 * spec.max_return
        if self._sum is None:
            self._sum = float(sums[0])
        other = float(sums[np.abs(sums - self._sum).argmax()])
        if abs(other - self._sum) > tolerance:
            raise NotZeroSum(
                f"the returns of {spec.name} add up to {self._sum:g} in one game and to {other:g} in another: "
                "a response bounds exploitability only where every game has the same sum"
            )
        return returns - np.where(np.abs(sums) > tolerance, sums / 2, 0)[:, None]  # of each game, in any worker

    def _party(self, number: int) -> Agent:
        agent = self._opponents[number] if number < len(self._opponents) else self._former and self._former[1]
        assert agent is not None  # the driver seats former nets only where it sends one
        return agent

    def _decide(
        self, states: States, movers: NDArray[np.int8], places: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draws the learner's actions, `int64[n]`, and appends the decisions to the rows."""
        packed, legal = self.game.observe(states, movers), self.game.legal(states)
        policy, value = self._learner.evaluate(packed, legal, movers)
        actions, probability = draw_actions(policy, legal, rng.random(len(states), dtype=np.float32))
        kept = self._rows.append(len(states))
        kept["infostate"][:] = packed
        kept["legal"][:] = pack_mask(legal)
        kept["action"][:] = actions
        kept["log_probability"][:] = np.log(probability)
        if self._critic:
            kept["others"][:] = other_views(self.game, states, movers)
            value = self._criticise(packed, kept["others"], movers)
        kept["value"][:] = value
        kept["game"][:] = places
        kept["player"][:] = movers
        return actions

    def _criticise(self, packed: Packed, others: Packed, movers: NDArray[np.int8]) -> NDArray[np.float32]:
        """The critics' values of states, `float32[n]`."""
        if len(self._critics) == 1:
            return self._critics[0](packed, others)
        values = np.empty(len(packed), np.float32)
        for player, critic in enumerate(self._critics):
            at = np.flatnonzero(movers == player)
            if len(at):
                values[at] = critic(packed[at], others[at])
        return values

    def _samples(self, returns: NDArray[np.float32], version: int) -> Block:
        """The rows as records, by net. Advantages and targets are in units of the game's largest return, so that the
        same settings suit games for chips and games that are won or lost."""
        rows = self._rows
        advantage = np.empty(rows.length, np.float32)
        unit = np.float32(self.game.spec.max_return)
        player, value = rows["player"], rows["value"] / unit
        estimate_advantages(rows["game"], player, value, returns / unit, self.discount, self.trace, advantage)
        block = np.empty(rows.length, self._dtype)
        for name in ("infostate", "legal", "action", "log_probability", *(("others",) if self._critic else ())):
            block[name] = rows[name]
        block["advantage"], block["target"], block["version"] = advantage, advantage + value, version
        nets = len(self._learner.weights)
        if nets == 1:
            return {"net0": block}
        return {f"net{net}": block[player == net] for net in range(nets)}


def _noise(
    noise: NoiseSettings | None, seats: NDArray[np.int8], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Number of random plies that each game begins with, `int64[games]`, and the probability of a random action of each
    player after these, `float64[games, players]`."""
    if noise is None:
        return np.zeros(len(seats), np.int64), np.zeros(seats.shape)
    plies = rng.integers(1, noise.opening_plies, len(seats), endpoint=True)
    opened = rng.random(len(seats)) < noise.openings
    rate = noise.tremble_rate * rng.random(seats.shape)
    trembles = (rng.random(seats.shape) < noise.tremble) & (seats == LEARNER)
    return np.where(opened, plies, 0), np.where(trembles, rate, 0.0)


def _seats(task: TrajectoryTask) -> NDArray[np.int8]:
    """Party in each seat of each game, `int8[games, players]`."""
    return np.concatenate([np.tile(np.array(each, np.int8), (games, 1)) for games, each in task.tables])


def _results(seats: NDArray[np.int8], returns: NDArray[np.float32]) -> dict[str, float]:
    """Games against each opponent, and the sum of the learner's returns in them: ``games/1``, ``return/1``, ..."""
    results = {}
    for party in np.unique(seats[seats != LEARNER]).tolist():
        games = (seats == party).any(axis=1)
        results[f"games/{party}"] = float(games.sum())
        results[f"return/{party}"] = float(returns[games][seats[games] == LEARNER].sum())
    return results
