"""Self-play of Deep Monte-Carlo, many tables in lock step (paper 004, IV-B1, algorithm 1).

A chunk is a number of games with one seed. Every seat plays by the same Q-net: a random choice with probability
epsilon, else the choice of the highest value. Decisions with a single choice need no inference and give no sample. The
return of a round is the target of all decisions in it or, with a critic, the basis of their advantages. Or the net
is a policy, of which every seat draws its choices. In a share of
the games, frozen agents sit in the seats of one team or of a partner; their decisions give no samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from actors.rows import Rows
from actors.seating import LEARNER, draw_seats
from actors.warm_up import WarmUp
from envs.agent import Agent
from envs.game import FullView, Packed, Ragged, RaggedGame, States
from envs.ragged import best_rows, choose_rows, take_lists
from envs.sparse import Sparse
from learners.dmc.critic import CriticInference, without_critic
from learners.dmc.decisions import DecisionEncoder, Notes, settle_without_net
from learners.dmc.proposals import propose_and_draw
from learners.dmc.settings import QNetworkSettings
from learners.networks.q_inference import QForward, QInference
from learners.networks.settings import Weights
from learners.policy_gradient.advantages import estimate_advantages
from learners.samples import choice_dtype, pack_actions, value_dtype

_LATER = ("version", "target", "advantage", "value")
"""Fields of samples that are known at the end of a chunk."""


@dataclass(frozen=True)
class SelfPlayTask:
    """A chunk of games. The same task and weights always give the same samples.

    Attributes:
        seed: Entropy of the random generator, (run seed, iteration, chunk).
        games: Number of games.
        tables: Number of games played at the same time.
        taught: Whether the teacher plays in place of the net.
    """

    seed: tuple[int, ...]
    games: int
    tables: int
    taught: bool = False


@dataclass(frozen=True)
class SelfPlayWeights:
    """Weights of the net of all seats.

    Attributes:
        version: Number of the fit that produced these weights; 0 for a new net.
        net: Weights of the Q-net.
    """

    version: int
    net: Weights


Block = dict[str, NDArray]
"""`{"values": value_dtype[n]}`, or `choice_dtype[n]` of a policy"""


class SelfPlayer(WarmUp):
    """Plays chunks of games; reuses its buffers between chunks.

    Args:
        game: Batched game.
        network: Settings of the Q-net.
        epsilon: Probability of a random choice.
        learn_scripted: Whether the net also decides what the game leaves to a heuristic (`RaggedGame.scripted`).
        device: Device of the net: ``cpu``, by compiled kernels, or ``cuda``.
        rivals: Agents that take the seats of one team, each in a share of the games.
        partners: Agents that take a single seat, each in a share of the games.
        trace: Lambda of advantages by a critic, whose weights are then among those of the net; None has no critic.
        teacher: Agent that plays in place of the net in tasks that say so.
        win_bonus: What is added to the returns of winners, and taken from those of losers, before they are targets.
    """

    def __init__(
        self,
        game: RaggedGame,
        network: QNetworkSettings,
        epsilon: float,
        learn_scripted: bool = False,
        device: str = "cpu",
        rivals: Sequence[tuple[Agent, float]] = (),
        partners: Sequence[tuple[Agent, float]] = (),
        trace: float | None = None,
        teacher: Agent | None = None,
        win_bonus: float = 0.0,
    ) -> None:
        self.game = game
        self.network = network
        self.epsilon = epsilon
        self.learn_scripted = learn_scripted
        self.device = device
        self._encode = DecisionEncoder(game, network.encoding_of(game.spec))
        self._trace = trace
        self._win_bonus = np.float32(win_bonus)
        self._full = cast(FullView, game)  # used with a critic only
        self._dtype = self._record(0 if trace is None else self._full.hidden_size)
        kept = {name: self._dtype[name] for name in self._dtype.names or () if name not in _LATER}
        self._rows = Rows(
            {name: (field.base, field.shape) for name, field in kept.items()}
            | {"round": (np.int32, ()), "player": (np.int8, ())}
            | {"state_notes": (np.dtype(np.float32), (0 if trace is None else self._encode.notes[0],))}
        )
        self._teacher: Any = teacher
        self._taught = False
        self._others: list[Any] = [agent for agent, _ in (*rivals, *partners)]
        self._shares = [share for _, share in rivals], [share for _, share in partners]
        self._teams = game.spec.teams or tuple(range(game.spec.num_players))
        self._version = -1
        self._inference: QForward
        self._critic: CriticInference
        self._decisions = self._evaluated = 0  # of the chunk: decisions, and rows evaluated by the net

    def _record(self, hidden: int) -> np.dtype:
        """Record of a sample, with `hidden` bytes of what its player does not see."""
        return value_dtype(self.game.spec, self.game.action_dtype, hidden)

    def play(self, task: SelfPlayTask, weights: SelfPlayWeights) -> tuple[dict[str, float], Block]:
        """Plays a chunk; returns its statistics and samples, see `Block`."""
        started = perf_counter()
        if weights.version != self._version:
            self._inference, self._version = self._make_inference(without_critic(weights.net)), weights.version
            if self._trace is not None:
                self._critic = CriticInference(self._full, weights.net)
        rng = np.random.default_rng(np.random.SeedSequence(task.seed))
        self._rows.clear()
        self._taught = task.taught
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

    def _tally(self, block: NDArray[np.void]) -> dict[str, float]:
        """Sums over the samples of a chunk, of which the metrics have the means."""
        return {"sum/q_error": float(np.square(block["q"] - block["target"]).sum())}

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
        for agent in [*self._others, *([self._teacher] if task.taught else [])]:
            agent.begin(game, begun, rng)
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
            return self._learner_decides(states, number, rng)
        actions = np.empty(len(states), self.game.action_dtype)
        party = self._seats[np.arange(len(states)), self.game.to_move(states)]
        for each in np.unique(party).tolist():
            at = np.flatnonzero(party == each)
            if each == LEARNER:
                actions[at] = self._learner_decides(states[at], number[at], rng)
            else:
                actions[at] = self._others[each - 1].act(states[at], self._places[at], rng)
        return actions

    def _learner_decides(self, states: States, number: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        """The same where the learner is to move."""
        game = self.game
        self._decisions += len(states)
        choices = self.network.list_choices(game, states)
        chosen, asked = settle_without_net(game, states, choices, self.learn_scripted)
        if not len(asked):
            return choices.rows[chosen]
        lists, source = take_lists(choices, asked)
        movers = game.to_move(states[asked])
        packed = game.observe(states[asked], movers)
        wanted = None
        if self._taught:
            acted = self._teacher.act(states[asked], asked, rng)
            wanted = self.network.stand_ins(game, lists, acted)
        notes = self._encode.appraise(packed, lists.offsets, lists.rows)
        values = self._inference(*self._inputs(packed, lists, notes))
        picked, decided = self._pick(values, lists, notes, wanted, rng)
        chosen[asked] = source[picked]
        kept = self._rows.append(len(asked))
        for name, column in decided.items():
            kept[name][:] = column
        kept["infostate"][:] = packed
        kept["round"][:] = number[asked]
        kept["player"][:] = movers
        if self._trace is not None:
            kept["state_notes"][:] = notes.states
            kept["hidden"][:] = self._full.observe_hidden(states[asked], movers)
        self._evaluated += len(source)
        return choices.rows[chosen]

    def _inputs(
        self, packed: Packed, lists: Ragged, notes: Notes
    ) -> tuple[NDArray[np.float32], NDArray[np.int64], Sparse]:
        """Returns the inputs of the net."""
        features, vectors = self._encode(packed, lists.offsets, lists.rows, notes)
        return features, lists.offsets, vectors

    def _pick(
        self,
        values: NDArray[np.float32],
        lists: Ragged,
        notes: Notes,
        wanted: NDArray[np.int64] | None,
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.int64], dict[str, NDArray]]:
        """Chooses a row of each list epsilon-greedily, `int64[n]`; returns what samples tell of the choice too.

        `wanted` are the rows that a teacher would choose, -1 where it is the net that does.
        """
        picked = best_rows(lists.offsets, values)
        if wanted is not None:
            picked = np.where(wanted >= 0, wanted, picked)
        draws = rng.random((2, len(picked)))
        explore = draws[0] < self.epsilon
        if explore.any():
            picked = np.where(explore, choose_rows(lists.offsets, draws[1]), picked)
        return picked, {"action": pack_actions(lists.rows[picked]), "q": values[picked]}

    def _samples(self, returns: NDArray[np.float32]) -> NDArray[np.void]:
        """Returns the decisions of the chunk with the targets that follow from the returns of rounds, `[n]` records."""
        rows = self._rows
        returns = np.add(returns, self._win_bonus * np.sign(returns), dtype=np.float32)
        block = np.empty(rows.length, self._dtype)
        for name in self._dtype.names or ():
            if name not in _LATER:
                block[name] = rows[name]
        block["version"] = self._version
        if self._trace is None:
            block["target"] = returns[rows["round"], rows["player"]]
            return block
        values = self._critic(rows["infostate"], rows["hidden"], rows["state_notes"])
        advantages = np.empty(rows.length, np.float32)
        estimate_advantages(rows["round"], rows["player"], values, returns, 1.0, self._trace, advantages)
        block["advantage" if "advantage" in (self._dtype.names or ()) else "target"] = advantages
        block["value"] = values + advantages
        return block


class PolicySelfPlayer(SelfPlayer):
    """The same by a policy over the proposals of the net, see `learners.dmc.proposals`.

    Args:
        proposals: Number of choices that the policy is over, at most.
        arguments: Those of `SelfPlayer`, which has a critic.
    """

    def __init__(self, proposals: int, *arguments: Any) -> None:
        self._proposals = proposals
        super().__init__(*arguments)

    def _record(self, hidden: int) -> np.dtype:
        return choice_dtype(self.game.spec, self.game.action_dtype, self._proposals, hidden, self._encode.notes)

    def _tally(self, block: NDArray[np.void]) -> dict[str, float]:
        return {"sum/advantage_square": float(np.square(block["advantage"]).sum())}

    def _pick(
        self,
        values: NDArray[np.float32],
        lists: Ragged,
        notes: Notes,
        wanted: NDArray[np.int64] | None,
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.int64], dict[str, NDArray]]:
        """Draws a row of each list by the policy, whose logits are the values; it has no teacher."""
        proposals, count, drawn, log_probability = propose_and_draw(lists.offsets, values, self._proposals, rng)
        choices = pack_actions(lists.rows[proposals.reshape(-1)]).reshape(*proposals.shape, -1)
        picked = proposals[np.arange(len(drawn)), drawn]
        return picked, {
            "choices": choices,
            "choice_notes": notes.choices[proposals],
            "count": count,
            "action": drawn,
            "log_probability": log_probability,
        }


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
