"""The agent that plays a policy by belief state; of each game it remembers the board and both beliefs."""

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named
from envs.compiled import kernel
from envs.game import Game, States
from envs.geister import Geister
from envs.geister.observation import FIRST, OFF, RED, enemies_of, ply_of
from envs.geister.rules import new_states
from learners.belief_tables.solver import check_game
from learners.belief_tables.strategy import BeliefStrategy
from learners.geister_beliefs.belief import UPDATES, BeliefRules, Update, play
from learners.geister_beliefs.tables import LAST, LEGAL, NODE, ROWS_OF_OWN, SIZE, SLOTS, action_of, normalise, row_of


class BeliefAgent(Named):
    """Plays a policy by belief state. Satisfies `envs.agent.Agent`.

    The opponent is assumed to play the same policy (paper 002, IV-A). If moves were played that the agent has not seen,
    its beliefs restart at even odds.

    Args:
        strategy: The policy.
        belief: How beliefs are updated.
        name: Name of the agent in messages.

    Attributes:
        belief: How beliefs are updated.
        table: The policy, `float64[ROWS, 8]`; 0 in rows that the strategy does not list.
    """

    def __init__(self, strategy: BeliefStrategy, belief: Update, name: str = "belief") -> None:
        self.name = name
        self.belief: Update = belief
        self.table = strategy.table()
        self._update = UPDATES[belief]
        self._start = new_states(1, SIZE, np.ones((1, 2), np.uint8))
        self._game: Geister | None = None

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """Raises ValueError unless the game is Mini Geister with colours drawn at the start."""
        check_game(game)
        assert isinstance(game, Geister)
        self._game = game
        self._memory = np.zeros(batch, NODE)
        self._memory["ply"] = -1

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        game = self._begun(self._game)
        packed = game.observe(states, game.to_move(states))
        draws = rng.random(len(states))
        actions = np.empty(len(states), np.int64)
        choose(packed, self._memory, games, self.table, self._rules(game), self._start[0], draws, actions)
        return actions

    def recall(
        self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """See `envs.agent.Recalls`."""
        game = self._begun(self._game)
        packed = game.observe(states, game.to_move(states))
        take_in(packed, self._memory, games, self.table, self._rules(game), self._start[0], actions)

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `envs.agent.StatesPolicy`."""
        return self._look(states, games)[0]

    def red_probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """Probability that each ghost of the opponent is red, by its number, `float64[n, 2]`."""
        _, by_square = self._look(states, games)
        other = 1 - self._begun(self._game).to_move(states)
        squares = states["square"][np.arange(len(states)), other, :2]  # the higher, the lower in the agent's view
        found = np.empty_like(by_square)
        np.put_along_axis(found, np.argsort(-squares.astype(np.int64), axis=1), by_square, axis=1)
        return found

    def _look(self, states: States, games: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns policies and beliefs as `look` does, and leaves the memory as it is."""
        game = self._begun(self._game)
        packed = game.observe(states, game.to_move(states))
        memory, at = self._memory[games], np.arange(len(states))
        policy, red = np.zeros((len(states), game.spec.num_actions)), np.empty((len(states), 2))
        look(packed, memory, at, self.table, self._rules(game), self._start[0], policy, red)
        return policy, red

    def _rules(self, game: Geister) -> BeliefRules:
        return BeliefRules(self._update, int(game.forced_escape), game.ply_limit)


@kernel
def choose(packed, memory, games, table, rules, start, draws, actions):
    """Brings the memory of `n` games up to date, and chooses a move in each.

    Args:
        packed: Infostates of the players to move, `uint8[n, 20]`.
        memory: Each game after the agent's last move, `NODE[batch]`; changed in place.
        games: Indices of the n games in `memory`, `int64[n]`.
        table: The policy, `float64[ROWS, 8]`.
        rules: `BeliefRules`.
        start: The position at the start of a game, a record of `STATE`.
        draws: Uniform draws from [0, 1), `float64[n]`.
        actions: The chosen moves are written here, `int64[n]`.
    """
    policy = np.empty(SLOTS)
    for i in range(len(games)):
        row, node = packed[i], memory[games[i]]
        consider(row, node, table, rules, start, policy)
        left = draws[i]
        chosen = -1
        for slot in range(SLOTS):
            if policy[slot] > 0 and left >= 0:
                chosen = slot
                left -= policy[slot]
        actions[i] = action_of(chosen, row[RED])
        play(node, actions[i], table, rules)


@kernel
def take_in(packed, memory, games, table, rules, start, actions):
    """Brings the memory of `n` games up to date, and plays the moves `actions`, `int64[n]`; see `choose`."""
    policy = np.empty(SLOTS)
    for i in range(len(games)):
        node = memory[games[i]]
        consider(packed[i], node, table, rules, start, policy)
        play(node, actions[i], table, rules)


@kernel
def look(packed, memory, games, table, rules, start, policies, reds):
    """Brings the memory of `n` games up to date, and writes policies and beliefs; for the others see `choose`.

    Args:
        policies: Probability of each move, `float64[n, A]`, zeros before.
        reds: Probability that each of the opponent's ghosts is red, the one on the lowest square in the player's view
            first, `float64[n, 2]`.
    """
    policy = np.empty(SLOTS)
    for i in range(len(games)):
        row, node = packed[i], memory[games[i]]
        consider(row, node, table, rules, start, policy)
        for slot in range(SLOTS):
            if policy[slot] > 0:
                policies[i, action_of(slot, row[RED])] += policy[slot]
        me = 0 if row[FIRST] else 1
        belief = node.belief[me]
        first = 0 if node.square[1 - me, 0] > node.square[1 - me, 1] else 1
        for place in range(2):  # ghost g is red if the other one is the blue ghost
            ghost = first if place == 0 else 1 - first
            reds[i, place] = belief[1 - ghost] / (belief[0] + belief[1])


@kernel
def consider(row, node, table, rules, start, policy):
    """Brings the memory of a game up to date with an infostate, and writes the policy by column, `float64[8]`."""
    me = 0 if row[FIRST] else 1
    ply = np.int64(ply_of(row))
    if ply == me:
        restart(node, start)
    moved = last_move(node, row, me) if node.ply == ply - 1 and ply > 0 else -1
    if moved >= 0:
        play(node, moved, table, rules)
    elif ply > 0:
        place(node, start, row, me, ply)
    node.red[me] = row[RED]
    looked_up = row_of(node, me, row[RED])
    legal = LEGAL[rules.forced_escape, looked_up // ROWS_OF_OWN]
    normalise(table[looked_up], legal, policy)


@kernel
def restart(node, start):
    """Resets a node to the start of a game with even beliefs. Its colours are placeholders."""
    node.occupied[:] = start.occupied
    node.square[:] = start.square
    node.taken[:] = 0
    node.red[:] = 1
    node.ply = 0
    node.to_move = 0
    node.winner = -1
    node.ending = 0
    node.placed = 2
    node.belief[:] = 0.5


@kernel
def last_move(node, row, me):
    """The opponent's move that leads from the remembered position to an infostate, or -1."""
    other = 1 - me
    enemies = np.int64(enemies_of(row))
    for ghost in range(2):
        stayed = LAST - np.int64(node.square[other, 1 - ghost])
        before = np.int64(node.square[other, ghost])
        if (enemies >> stayed) & 1 == 0 or (enemies >> (LAST - before)) & 1 != 0:
            continue
        now = enemies & ~(np.int64(1) << stayed)
        for direction in range(4):
            step = (-SIZE, 1, -1, SIZE)[direction]
            target = before + step
            if 0 <= target <= LAST and now == np.int64(1) << (LAST - target):
                return 4 * ghost + direction
    return -1


@kernel
def place(node, start, row, me, ply):
    """Resets a node to the position that an infostate shows, with even beliefs; the opponent's ghosts in any order."""
    restart(node, start)
    node.ply = ply
    node.to_move = me
    other = 1 - me
    node.occupied[:] = 0
    enemies = np.int64(enemies_of(row))
    ghost = 0
    for square in range(LAST + 1):
        if (enemies >> square) & 1 and ghost < 2:
            node.square[other, ghost] = LAST - square
            node.occupied[other] |= np.uint64(1) << np.uint64(LAST - square)
            ghost += 1
    for ghost in range(2):
        if row[ghost] != OFF:
            node.square[me, ghost] = row[ghost]
            node.occupied[me] |= np.uint64(1) << np.uint64(row[ghost])
