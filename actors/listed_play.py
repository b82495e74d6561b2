"""Self-play in games that list their actions, many tables in lock step.

A chunk is a number of games with one seed. Every seat plays by the same net, which values the choices of a decision;
subclasses define how one of them is picked and which fields a sample has. Decisions with a single choice need no
inference and give no sample. In a share of the games, frozen agents sit in the seats of one team or of a partner; their
decisions give no samples.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from actors.rows import Rows
from actors.seating import LEARNER, draw_seats
from actors.warm_up import WarmUp
from envs.agent import Agent
from envs.capabilities import full_view
from envs.game import ListedGame, Packed, Ragged, States
from envs.ragged import take_lists
from envs.sparse import Sparse
from learners.advantages import estimate_advantages
from learners.listed.critic import CriticInference, without_critic
from learners.listed.decisions import DecisionEncoder, Notes, settle_without_net
from learners.listed.settings import QNetworkSettings
from learners.networks.q_inference import QForward, QInference
from learners.networks.settings import Weights

_LATER = ("version", "target", "advantage", "value")
"""Fields of samples that are known at the end of a chunk."""


@dataclass(frozen=True)
class SelfPlayTask:
    """A chunk of games. The same task and weights always give the same samples.

    Attributes:
        seed: Entropy of the random generator, (run seed, iteration, chunk).
        games: Number of games.
        tables: Number of games played at the same time.
    """

    seed: tuple[int, ...]
    games: int
    tables: int


@dataclass(frozen=True)
class SelfPlayWeights:
    """Weights of the net of all seats.

    Attributes:
        version: Number of the fit that produced these weights; 0 for a new net.
        net: Weights of the Q-net.
    """

    version: int
    net: Weights


Block = dict[str, NDArray[Any]]
"""``{"values": ...}``, the samples as records of the subclass."""


class Asked(NamedTuple):
    """Decisions between several choices, `n` of them with `N` choices in all.

    Attributes:
        states: `[n]` records.
        tables: The table of each state in the batch, `int64[n]`.
        lists: The choices.
        notes: What the game has computed of infostates and choices.
        values: Outputs of the net, `float32[N]`.
    """

    states: States
    tables: NDArray[np.int64]
    lists: Ragged
    notes: Notes
    values: NDArray[np.float32]


class PlayerOptions(TypedDict, total=False):
    """Options that the players of all methods have, with their defaults.

    Attributes:
        learn_scripted: Whether the net also decides what the game leaves to a heuristic (`ListedGame.scripted`); false.
        device: Device of the net: ``cpu``, by compiled kernels, which is the default, or ``cuda``.
        rivals: Agents that take the seats of one team, each in a share of the games; none.
        partners: Agents that take a single seat, each in a share of the games; none.
        win_bonus: What is added to positive returns, and taken from negative ones, before they are targets; 0.
    """

    learn_scripted: bool
    device: str
    rivals: Sequence[tuple[Agent, float]]
    partners: Sequence[tuple[Agent, float]]
    win_bonus: float


class ListedPlayer(WarmUp, ABC):
    """Plays chunks of games; reuses its buffers between chunks.

    Args:
        game: Batched game.
        network: Settings of the Q-net.
        trace: Lambda of advantages by a critic, whose weights are then among those of the net; None has no critic.
        learn_scripted, device, rivals, partners, win_bonus: See `PlayerOptions`.
    """

    def __init__(
        self,
        game: ListedGame,
        network: QNetworkSettings,
        trace: float | None,
        learn_scripted: bool = False,
        device: str = "cpu",
        rivals: Sequence[tuple[Agent, float]] = (),
        partners: Sequence[tuple[Agent, float]] = (),
        win_bonus: float = 0.0,
    ) -> None:
        self.game = game
        self.network = network
        self.learn_scripted = learn_scripted
        self.device = device
        self._encode = DecisionEncoder(game, network.encoding_of(game.spec))
        self._trace = trace
        self._win_bonus = np.float32(win_bonus)
        self._full = None if trace is None else full_view(game)
        self._dtype = self._record(0 if self._full is None else self._full.hidden_size)
        kept = {name: self._dtype[name] for name in self._dtype.names or () if name not in _LATER}
        self._rows = Rows(
            {name: (field.base, field.shape) for name, field in kept.items()}
            | {"round": (np.int32, ()), "player": (np.int8, ())}
            | {"state_notes": (np.dtype(np.float32), (0 if trace is None else self._encode.notes[0],))}
        )
        self._others: list[Agent] = [agent for agent, _ in (*rivals, *partners)]
        self._shares = [share for _, share in rivals], [share for _, share in partners]
        self._teams = game.spec.teams or tuple(range(game.spec.num_players))
        self._version = -1
        self._inference: QForward
        self._critic: CriticInference
        self._decisions = self._evaluated = 0  # of the chunk: decisions, and rows evaluated by the net

    @abstractmethod
    def _record(self, hidden: int) -> np.dtype:
        """Record of a sample, with `hidden` bytes that its player does not see."""

    @abstractmethod
    def _pick(self, asked: Asked, rng: np.random.Generator) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
        """Chooses a row of each list, `int64[n]`; also returns the sample fields that describe the choice."""

    @abstractmethod
    def _aim(self, block: NDArray[np.void], returns: NDArray[np.float32]) -> None:
        """Writes the targets of the samples, which follow from the returns of rounds, `float32[rounds, players]`."""

    @abstractmethod
    def _tally(self, block: NDArray[np.void]) -> dict[str, float]:
        """Sums over the samples of a chunk, of which the metrics have the means."""

    def play(self, task: SelfPlayTask, weights: SelfPlayWeights) -> tuple[dict[str, float], Block]:
        """Plays a chunk; returns its statistics and samples, see `Block`."""
        started = perf_counter()
        if weights.version != self._version:
            self._inference, self._version = self._make_inference(without_critic(weights.net)), weights.version
            if self._full is not None:
                self._critic = CriticInference(self._full, weights.net)
        rng = np.random.default_rng(np.random.SeedSequence(task.seed))
        self._rows.clear()
        self._evaluated = self._decisions = 0
        block = self._samples(self._play_games(task, rng))
        stats = {
            "games": float(task.games),
            "decisions": float(self._decisions),
            "samples": float(len(block)),
            "rows": float(self._evaluated),
            "seconds": perf_counter() - started,
        }
        return stats | self._tally(block), {"values": block}

    def _make_inference(self, net: Weights) -> QForward:
        if self.device == "cpu":
            return QInference(self.network, net)
        from learners.devices import choose_device
        from learners.networks.torch_q_inference import TorchQInference

        return TorchQInference(self.network, net, device=choose_device(self.device))

    def _play_games(self, task: SelfPlayTask, rng: np.random.Generator) -> NDArray[np.float32]:
        """Plays all games of a chunk, `tables` at a time. Rounds are numbered in the order in which they start.

        Returns:
            The return of each round, `float32[rounds, players]`.
        """
        game = self.game
        states = game.reset(min(task.tables, task.games), rng)
        begun = rounds = len(states)
        number, ended = np.arange(begun), np.zeros(begun, np.int64)  # current round, and finished rounds, of each table
        self._seats, self._places = self._seat(begun, rng), np.arange(begun)
        self._begin(task, begun, rng)
        numbers, returns = [], []
        while len(states):
            game.step(states, self._decide(states, number, rng))
            # Store the returns of finished rounds; their tables start the next rounds.
            over = np.flatnonzero(game.rounds(states) > ended)
            if not len(over):
                continue
            numbers.append(number[over])
            returns.append(game.round_returns(states[over]))
            ended[over] += 1
            number[over] = rounds + np.arange(len(over))
            rounds += len(over)
            states, number, ended, begun = self._replace_finished(task, states, number, ended, begun, rng)
        result = np.zeros((rounds, game.spec.num_players), np.float32)
        result[np.concatenate(numbers)] = np.concatenate(returns)
        return result

    def _begin(self, task: SelfPlayTask, tables: int, rng: np.random.Generator) -> None:
        """Begins a chunk with this many tables for the other agents."""
        for agent in self._others:
            agent.begin(self.game, tables, rng)

    def _replace_finished(
        self,
        task: SelfPlayTask,
        states: States,
        number: NDArray[np.int64],
        ended: NDArray[np.int64],
        begun: int,
        rng: np.random.Generator,
    ) -> tuple[States, NDArray[np.int64], NDArray[np.int64], int]:
        """Starts new games at finished tables while games are left; removes the other finished tables."""
        free = np.flatnonzero(self.game.finished(states))
        new = min(len(free), task.games - begun)
        if new:
            states[free[:new]] = self.game.reset(new, rng)
            ended[free[:new]] = 0
            self._seats[free[:new]] = self._seat(new, rng)
        keep = np.ones(len(states), np.bool_)
        keep[free[new:]] = False
        self._seats, self._places = self._seats[keep], self._places[keep]
        return states[keep], number[keep], ended[keep], begun + new

    def _seat(self, games: int, rng: np.random.Generator) -> NDArray[np.int8]:
        """The party in each seat of new games, `int8[games, players]`."""
        if not self._others:  # nothing is drawn, so that runs without other agents stay as they were
            return np.full((games, len(self._teams)), LEARNER, np.int8)
        return draw_seats(games, self._teams, *self._shares, rng)

    def _decide(self, states: States, number: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        """Chooses the actions at all tables, `[B]` records, and appends the decisions of the net to the rows."""
        if not self._others:
            return self._learner_decides(states, number, self._places, rng)
        actions = np.empty(len(states), self.game.action_dtype)
        party = self._seats[np.arange(len(states)), self.game.to_move(states)]
        for each in np.unique(party).tolist():
            at = np.flatnonzero(party == each)
            if each == LEARNER:
                actions[at] = self._learner_decides(states[at], number[at], self._places[at], rng)
            else:
                actions[at] = self._others[each - 1].act(states[at], self._places[at], rng)
        return actions

    def _learner_decides(
        self, states: States, number: NDArray[np.int64], places: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.void]:
        """Chooses actions at the tables where the learner moves."""
        game = self.game
        self._decisions += len(states)
        choices = self.network.list_choices(game, states)
        chosen, asked = settle_without_net(game, states, choices, self.learn_scripted)
        if not len(asked):
            return choices.rows[chosen]
        lists, source = take_lists(choices, asked)
        undecided = states[asked]
        movers = game.to_move(undecided)
        packed = game.observe(undecided, movers)
        notes = self._encode.appraise(packed, lists.offsets, lists.rows)
        values = self._inference(*self._inputs(packed, lists, notes))
        picked, decided = self._pick(Asked(undecided, places[asked], lists, notes, values), rng)
        chosen[asked] = source[picked]
        kept = self._rows.append(len(asked))
        for name, column in decided.items():
            kept[name][:] = column
        kept["infostate"][:] = packed
        kept["round"][:] = number[asked]
        kept["player"][:] = movers
        if self._full is not None:
            kept["state_notes"][:] = notes.states
            kept["hidden"][:] = self._full.observe_hidden(undecided, movers)
        self._evaluated += len(source)
        return choices.rows[chosen]

    def _inputs(
        self, packed: Packed, lists: Ragged, notes: Notes
    ) -> tuple[NDArray[np.float32], NDArray[np.int64], Sparse]:
        """Returns the inputs of the net."""
        features, vectors = self._encode(packed, lists.offsets, lists.rows, notes)
        return features, lists.offsets, vectors

    def _samples(self, returns: NDArray[np.float32]) -> NDArray[np.void]:
        """Returns the decisions of the chunk with the targets that follow from the returns of rounds, `[n]` records."""
        rows = self._rows
        returns = np.add(returns, self._win_bonus * np.sign(returns), dtype=np.float32)
        block = np.empty(rows.length, self._dtype)
        for name in self._dtype.names or ():
            if name not in _LATER:
                block[name] = rows[name]
        block["version"] = self._version
        self._aim(block, returns)
        return block

    def _estimate(self, returns: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The advantages of the chunk's actions by the critic, and its targets, both `float32[n]`."""
        assert self._trace is not None
        rows = self._rows
        values = self._critic(rows["infostate"], rows["hidden"], rows["state_notes"])
        advantages = np.empty(rows.length, np.float32)
        estimate_advantages(rows["round"], rows["player"], values, returns, 1.0, self._trace, advantages)
        return advantages, values + advantages


def merge_stats(stats: list[dict[str, float]], seconds: float) -> dict[str, Any]:
    """Merges the statistics of chunks that took `seconds` together into metrics of the run."""
    total = {key: sum(s[key] for s in stats) for key in stats[0]}
    samples = max(total["samples"], 1)
    return {
        "selfplay/decisions_per_second": total["decisions"] / seconds,
        "selfplay/samples_per_second": total["samples"] / seconds,
        "selfplay/rows_per_sample": total["rows"] / samples,
        "selfplay/decisions_per_game": total["decisions"] / total["games"],
        "selfplay/busy": total["seconds"] / seconds,
        **{f"selfplay/{key[4:]}": value / samples for key, value in total.items() if key.startswith("sum/")},
    }
