"""Self-play of a policy gradient: whole games in lock step, with advantages of the learning players' decisions.

Any seat of a game may be taken by an opponent: a frozen agent, or a rival, which plays by nets that are sent with those
of the learner. Rivals may learn, too; the decisions of other opponents give no samples.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import count
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.explained import Explained
from actors.rows import Rows, take_records
from actors.trajectory_tasks import (
    LEARNER,
    NOISE,
    Rival,
    TrajectoryTask,
    TrajectoryWeights,
    draw_noise,
    results_of,
    seats_of,
)
from actors.warm_up import WarmUp
from envs.agent import Agent
from envs.constant_sum import half_of_sum
from envs.game import Game, IllegalAction, Packed, States, outcomes_of
from envs.players import RandomAgent
from learners.advantages import estimate_advantages
from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.agent import PolicyAgent
from learners.policy_gradient.critic import CriticInference, other_views, policy_alone
from learners.policy_gradient.settings import NoiseSettings
from learners.regret_matching import apply_threshold, draw_actions
from learners.samples import pack_mask, trajectory_dtype

_LEARNER_NAME = ""
"""Name of the learner's nets among those that are held; rivals have others."""


class NotZeroSum(Explained):
    """The returns of a game do not add up to a constant, so that a best response does not bound exploitability."""

    wrong_use = True


class BadReturns(Explained):
    """The returns of a game are not finite, or larger than its spec allows."""


class BadMove(Explained):
    """A frozen opponent chose an action that is not legal."""


Decide = Callable[[States, NDArray[np.int8], NDArray[np.int64], np.random.Generator], NDArray[np.int64]]
"""Chooses actions from states, players to move, numbers of the games, and a source of draws."""

Block = dict[str, NDArray[Any]]
"""`{"net0": trajectory_dtype[n], ...}`, by net of the learner and name of a rival that learns"""


class _Held(NamedTuple):
    """Nets of a party as they play."""

    version: int
    agent: PolicyAgent
    critics: list[CriticInference]


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
                "party": (np.int8, ()),
                **({"others": (np.uint8, self._dtype["others"].shape)} if critic else {}),
            }
        )
        self._held: dict[str, _Held] = {}
        self._rivals: tuple[Rival, ...] = ()

    def play(self, task: TrajectoryTask, weights: TrajectoryWeights) -> tuple[dict[str, float], Block]:
        """Plays a chunk; returns its statistics and samples, see `Block`."""
        started, spent = perf_counter(), process_time()
        self._take(weights)
        seats = seats_of(task)
        self._rows.clear()
        seed = np.random.SeedSequence(task.seed)
        decisions, returns, endings = self._play_games(seats, seed, partial(self.decide_for, LEARNER), self._noise)
        rewards = self._rewards(seats, returns, endings)
        blocks = self._samples(rewards)
        stats = {
            "games": float(task.games),
            "decisions": float(decisions),
            "samples": float((self._rows["party"] == LEARNER).sum()),
            "seconds": perf_counter() - started,
            "cpu": process_time() - spent,
        }
        return stats | results_of(seats, returns, rewards), blocks

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
            policy = apply_threshold(self._policy(LEARNER).agent.evaluate(packed, legal, movers)[0], weights.threshold)
            return draw_actions(policy, legal, rng.random(len(states), dtype=np.float32))[0]

        returns = self._play_games(seats_of(task), np.random.SeedSequence(task.seed), decide)[1]
        return (returns, process_time() - spent), None

    def _take(self, weights: TrajectoryWeights) -> None:
        """Loads the nets that are not loaded already."""
        self._hold(_LEARNER_NAME, weights.version, weights.network, weights.nets)
        self._rivals = weights.rivals
        for rival in weights.rivals:
            self._hold(rival.name, rival.version, weights.network, rival.nets)

    def _hold(self, name: str, version: int, network: NetworkSettings, nets: tuple[Weights, ...]) -> None:
        if name in self._held and self._held[name].version == version:
            return
        own, critics = [policy_alone(net) for net in nets], []
        if nets[0].keys() != own[0].keys():  # nets that are only measured have no critic
            critics = [CriticInference(self.game, network, net, self._device) for net in nets]
        agent = PolicyAgent(self.game, network, own, name or "learner", device=self._device)
        self._held[name] = _Held(version, agent, critics)

    def _rival(self, party: int) -> Rival:
        """The rival that a party is."""
        return self._rivals[party - len(self._opponents)]

    def _policy(self, party: int) -> _Held:
        """The nets of the learner or of a rival."""
        return self._held[_LEARNER_NAME if party == LEARNER else self._rival(party).name]

    def _play_games(
        self, seats: NDArray[np.int8], seed: np.random.SeedSequence, decide: Decide, noise: NoiseSettings | None = None
    ) -> tuple[int, NDArray[np.float32], NDArray[np.int8]]:
        """Plays all games of a chunk.

        Args:
            seats: Party in each seat of each game, `int8[games, players]`.
            seed: Seed of the chunk.
            decide: Chooses the learner's actions.
            noise: Random actions; None for none.

        Returns:
            Decisions of all parties, random actions not counted; the returns, `float32[games, players]`; and how the
            games ended, `int8[games]`.
        """
        game, batch = self.game, len(seats)
        chance, own, theirs, blind = np.random.default_rng(seed).spawn(4)
        random_plies, random_rate = draw_noise(noise, seats, blind)
        parties = {party: self._party(party) for party in np.unique(seats).tolist() if party != LEARNER}
        if noise is not None:
            parties[NOISE] = self._uniform
        for agent in parties.values():
            agent.begin(game, batch, theirs)
        states, places = game.reset(batch, chance), np.arange(batch)
        returns, decisions = np.zeros((batch, game.spec.num_players), np.float32), 0
        endings = np.zeros(batch, np.int8)
        for ply in count():
            over = game.finished(states)  # also before the first decision, if chance ends a game there
            if over.any():
                ended, going = np.flatnonzero(over), np.flatnonzero(~over)
                last = take_records(states, ended)
                returns[places[ended]], endings[places[ended]] = self._returns(last), game.endings(last)
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
        return decisions, returns, endings

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

    def _rewards(
        self, seats: NDArray[np.int8], returns: NDArray[np.float32], endings: NDArray[np.int8]
    ) -> NDArray[np.float32]:
        """The worth of the games to those who learn from them, `float32[games, players]`, see `Rival.wins`."""
        rewards = returns.copy()
        if not any(rival.wins for rival in self._rivals):
            return rewards
        outcomes = outcomes_of(returns, self.game.spec.max_return)
        for party, rival in enumerate(self._rivals, len(self._opponents)):
            for ending, worth in rival.wins.items():
                won = (seats == party) & (outcomes > 0) & (endings == ending)[:, None]
                rewards[won] = worth * self.game.spec.max_return
        return rewards

    def _party(self, number: int) -> Agent:
        if number < len(self._opponents):
            frozen = self._opponents[number]
            assert frozen is not None
            return frozen
        agent = self._policy(number).agent
        return _Learning(self, number) if self._rival(number).learns else agent

    def decide_for(
        self, party: int, states: States, movers: NDArray[np.int8], places: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draws actions of a party that learns, `int64[n]`, and appends the decisions to the rows."""
        packed, legal = self.game.observe(states, movers), self.game.legal(states)
        held = self._policy(party)
        policy, value = held.agent.evaluate(packed, legal, movers)
        actions, probability = draw_actions(policy, legal, rng.random(len(states), dtype=np.float32))
        kept = self._rows.append(len(states))
        kept["infostate"][:] = packed
        kept["legal"][:] = pack_mask(legal)
        kept["action"][:] = actions
        kept["log_probability"][:] = np.log(probability)
        if self._critic:
            kept["others"][:] = other_views(self.game, states, movers)
            value = _criticise(held.critics, packed, kept["others"], movers)
        kept["value"][:] = value
        kept["game"][:] = places
        kept["player"][:] = movers
        kept["party"][:] = party
        return actions

    @cached_property
    def _shift(self) -> float:
        """Half of the constant that returns add up to, where `_returns` has not taken it away."""
        return 0.0 if self._zero_sum else half_of_sum(self.game)

    def _samples(self, rewards: NDArray[np.float32]) -> Block:
        """The rows as records, by net and rival. Advantages and targets are in units of the game's largest return, so
        that the same settings suit games for chips and games that are won or lost. They are of rewards less half of
        the constant that returns add up to: it would be discounted, and counted among what is at stake."""
        rows = self._rows
        advantage = np.empty(rows.length, np.float32)
        unit = np.float32(self.game.spec.max_return)
        player, value, party = rows["player"], rows["value"] / unit, rows["party"]
        rewards = (rewards - np.float32(self._shift)) / unit
        estimate_advantages(rows["game"], player, value, rewards, self.discount, self.trace, advantage)
        block = np.empty(rows.length, self._dtype)
        for name in ("infostate", "legal", "action", "log_probability", *(("others",) if self._critic else ())):
            block[name] = rows[name]
        block["advantage"], block["target"] = advantage, advantage + value
        learner = self._policy(LEARNER)
        block["version"] = learner.version
        blocks = {}
        for number, rival in enumerate(self._rivals, len(self._opponents)):
            if rival.learns:
                at = party == number
                block["version"][at] = rival.version
                blocks[rival.name] = block[at]
        if blocks:
            own = party == LEARNER
            block, player = block[own], player[own]
        nets = len(learner.agent.weights)
        if nets == 1:
            return {"net0": block, **blocks}
        return {f"net{net}": block[player == net] for net in range(nets)} | blocks


class _Learning:
    """A rival that learns, as an agent; satisfies `envs.agent.Agent`."""

    def __init__(self, player: TrajectoryPlayer, party: int) -> None:
        self.name = "rival"
        self._player, self._number = player, party

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """See `Agent.begin`."""

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Agent.act`."""
        return self._player.decide_for(self._number, states, self._player.game.to_move(states), games, rng)


def _criticise(
    critics: Sequence[CriticInference], packed: Packed, others: Packed, movers: NDArray[np.int8]
) -> NDArray[np.float32]:
    """The critics' values of states, `float32[n]`."""
    if len(critics) == 1:
        return critics[0](packed, others)
    values = np.empty(len(packed), np.float32)
    for player, critic in enumerate(critics):
        at = np.flatnonzero(movers == player)
        if len(at):
            values[at] = critic(packed[at], others[at])
    return values
