"""Roll-outs of games with listed actions: every seat plays by the net, and a critic values where they end.

`M` roll-outs in lock step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from envs.capabilities import FullView, PlaysOut, full_view
from envs.game import ListedGame, States
from learners.listed.critic import CriticInference

if TYPE_CHECKING:
    from learners.listed.agent import QAgent


def roll_out(
    game: ListedGame,
    agent: QAgent,
    states: States,
    players: NDArray[np.int8],
    actions: NDArray[np.void] | None,
    depth: int,
    trace: float,
    playouts: float,
) -> NDArray[np.float32]:
    """Plays an action in each of M states, continues with the net, and gives the return of the round.

    After `depth` plies stands the value of the critic; an agent without one plays each round to its end. Of the states
    on the way the critic values those alone whose decision needs the net: it was trained on no others, and is wrong
    about a player who has nothing left but to pass. So a roll-out that would end at such a state continues to the
    next decision of the net. With `trace` below 1 the return is the lambda-return of the values on the way, see
    `learners.search.rollouts.roll_out`.

    Args:
        game: The rules.
        agent: Plays all seats.
        states: `[M]` records, in which the roll-outs are played.
        players: Whose return counts, `int8[M]`.
        actions: The first action of each, `[M]` records; None: the states stand as after it.
        depth: Plies after the first action.
        trace: Lambda, from 0 to 1.
        playouts: Share of a play-out in each value, from 0 to 1, if the game `PlaysOut`. Its errors are others than
            those of the critic, so an average of both is nearer to the return than either.

    Returns:
        The returns, with the agent's points for winning, `float32[M]`.
    """
    critic, full = agent.critic, None if agent.critic is None else full_view(game)
    most = np.float32(game.spec.max_return + agent.win_bonus)
    returns, weight = np.zeros(len(states), np.float32), np.ones(len(states), np.float32)
    rows, before, ply = np.arange(len(states)), game.rounds(states), 0
    while len(rows):
        if actions is not None:
            game.step(states, actions)
            over = game.rounds(states) > before[rows]
            if over.any():
                ended = rows[over]
                won = game.round_returns(states[over])[np.arange(len(ended)), players[ended]]
                returns[ended] += weight[ended] * (won + np.float32(agent.win_bonus) * np.sign(won))
                states, rows = states[~over], rows[~over]
                if not len(rows):
                    break
        last = critic is not None and (ply >= depth or trace == 0)  # no weight is left then
        actions, asked = agent.settle(states)[:2] if last else agent.choose(states)
        if critic is not None and full is not None and (last or trace < 1) and len(asked):
            at = rows[asked]
            share = weight[at] * np.float32(1 if last else 1 - trace)
            undecided = states[asked]
            values = _values(game, full, critic, undecided, players[at], most)
            if playouts and isinstance(game, PlaysOut):
                _blend(values, game.play_out(undecided), players[at], np.float32(agent.win_bonus), playouts)
            returns[at] += share * values
            weight[at] *= np.float32(trace)
        if last:
            left = np.ones(len(rows), bool)
            left[asked] = False
            states, rows, actions = states[left], rows[left], actions[left]
        ply += 1
    return returns


def _values(
    game: ListedGame,
    full: FullView,
    critic: CriticInference,
    states: States,
    players: NDArray[np.int8],
    most: np.float32,
) -> NDArray[np.float32]:
    """The critic's values of states to the teams of `players`, at most `most`, `float32[m]`."""
    movers = game.to_move(states)
    values = critic(game.observe(states, movers), full.observe_hidden(states, movers))
    teams = np.array(game.spec.teams or range(game.spec.num_players))
    return np.clip(np.where(teams[movers] == teams[players], values, -values), -most, most)


def _blend(
    values: NDArray[np.float32],
    ends: NDArray[np.float32],
    players: NDArray[np.int8],
    win_bonus: np.float32,
    share: float,
) -> None:
    """Moves values by a share towards the ends of play-outs, returns of all players `float32[m, P]`, where these are
    not NaN."""
    won = ends[np.arange(len(values)), players]
    played = won + win_bonus * np.sign(won)
    values += np.float32(share) * np.where(np.isnan(played), 0, played - values)
