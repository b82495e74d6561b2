"""Small games of the `Game` seam, given as explicit trees: everything about them can be computed exactly.

Players get a private card each, then move in public: Kuhn poker, and random games with what it lacks (ragged legal
actions, a player who moves twice in a row, games of different length, unequal chances).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from envs.game import GameSpec, IllegalAction, Packed, States

STATE = np.dtype([("node", np.int32)])
History = tuple[int, ...]
Moves = Callable[[History], tuple[int, tuple[int, ...]] | None]
"""Who moves after a public history and with which legal actions; None where the game has ended."""


@dataclass(frozen=True)
class TreeGame:
    """A two-player zero-sum game as a table of its `N` nodes, parents before children. Satisfies `envs.game.Game`.

    Attributes:
        name: Name of the game.
        chance: Probability of each root; roots are the first nodes.
        player: Who moves, `int8[N]`; -1 at the ends.
        children: `int32[N, A]`, -1 where an action is not legal.
        payoff: Return of player 0 at the ends, `float32[N]`.
        observation: Infostate of each player, `int16[N, 2]`, numbered over both players together.
    """

    name: str
    chance: NDArray[np.float64]
    player: NDArray[np.int8]
    children: NDArray[np.int32]
    payoff: NDArray[np.float32]
    observation: NDArray[np.int16]
    spec: GameSpec = field(init=False, repr=False)

    def __post_init__(self) -> None:
        actions = self.children.shape[1]
        spec = GameSpec(
            name=self.name,
            num_players=2,
            num_actions=actions,
            packed_size=2,
            shapes={"flat": (self.infostates,)},
            slots={"action": actions, "dense": actions, "sum": 2 * actions},
            endings=("running", "over"),
            max_plies=len(self.player),
            max_return=float(np.abs(self.payoff).max()),
        )
        object.__setattr__(self, "spec", spec)

    @property
    def infostates(self) -> int:
        """Number of infostates of both players."""
        return int(self.observation.max()) + 1

    @property
    def legal_at(self) -> NDArray[np.bool_]:
        """Legal actions of the mover by infostate, `bool[infostates, A]`; all False where no player moves."""
        legal = np.zeros((self.infostates, self.children.shape[1]), np.bool_)
        decisions = np.flatnonzero(self.player >= 0)
        own = self.observation[decisions, self.player[decisions]]
        legal[own] = self.children[decisions] >= 0
        return legal

    def reset(self, batch: int, rng: np.random.Generator) -> States:
        states = np.empty(batch, STATE)
        states["node"] = rng.choice(len(self.chance), size=batch, p=self.chance)
        return states

    def to_move(self, states: States) -> NDArray[np.int8]:
        return self.player[states["node"]]

    def legal(self, states: States) -> NDArray[np.bool_]:
        return self.children[states["node"]] >= 0

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        own = self.observation[states["node"], players]
        return own.astype("<u2").view(np.uint8).reshape(-1, 2)

    def step(self, states: States, actions: NDArray[np.integer], rng: np.random.Generator) -> None:
        running = self.player[states["node"]] >= 0
        following = self.children[states["node"], actions]
        if (following[running] < 0).any():
            raise IllegalAction(f"action {actions[running][following[running] < 0][0]} is not legal")
        states["node"] = np.where(running, following, states["node"])

    def finished(self, states: States) -> NDArray[np.bool_]:
        return self.player[states["node"]] < 0

    def returns(self, states: States) -> NDArray[np.float32]:
        first = self.payoff[states["node"]]
        return np.stack([first, -first], axis=1)

    def endings(self, states: States) -> NDArray[np.int8]:
        return self.finished(states).astype(np.int8)

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        out = np.zeros((len(packed), self.infostates), np.float32)
        out[np.arange(len(packed)), unpack(packed)] = 1
        return out

    def output_slots(self, packed: Packed, layout: str, other: Packed | None = None) -> NDArray[np.int16]:
        """``action``: its own number; ``dense``: its number among the legal ones, counted from the last; ``sum``: its
        own number, and for all but the first action one after those for its number among the legal ones."""
        actions = self.children.shape[1]
        own = np.tile(np.arange(actions, dtype=np.int16)[None, :, None], (len(packed), 1, 1))
        if layout == "action":
            return own
        legal = self.legal_at[unpack(packed)]
        number = np.cumsum(legal[:, ::-1], axis=1)[:, ::-1] - 1
        dense = np.where(legal, number, -1).astype(np.int16)[:, :, None]
        if layout == "dense":
            return dense
        shared = np.where((dense < 0) | (own == 0), np.int16(-1), dense + np.int16(actions))
        return np.concatenate([own, shared], axis=2)


def unpack(packed: Packed) -> NDArray[np.int64]:
    """Numbers of packed infostates."""
    return np.ascontiguousarray(packed).view("<u2").ravel().astype(np.int64)


def pack(infostates: NDArray[np.integer]) -> Packed:
    """Reverse of `unpack`."""
    return np.asarray(infostates).astype("<u2").view(np.uint8).reshape(-1, 2)


def build(
    name: str,
    deals: dict[tuple[int, int], float],
    actions: int,
    moves: Moves,
    payoff: Callable[[History, tuple[int, int]], float],
) -> TreeGame:
    """Lays out the tree of a game in which the cards are private and all moves public."""
    nodes: list[tuple[tuple[int, int], History]] = [(deal, ()) for deal in deals]
    player, children, returns, observation = [], [], [], []
    numbers: dict[tuple[int, int, History], int] = {}
    for deal, history in nodes:  # grows while it is walked
        turn = moves(history)
        row = np.full(actions, -1)
        for action in turn[1] if turn else ():
            row[action] = len(nodes)
            nodes.append((deal, (*history, action)))
        player.append(turn[0] if turn else -1)
        children.append(row)
        returns.append(0.0 if turn else payoff(history, deal))
        seen = [(p, deal[p], history) for p in (0, 1)]
        observation.append([numbers.setdefault(one, len(numbers)) if turn else 0 for one in seen])
    return TreeGame(
        name,
        np.array(list(deals.values())),
        np.array(player, np.int8),
        np.array(children, np.int32),
        np.array(returns, np.float32),
        np.array(observation, np.int16),
    )


def kuhn() -> TreeGame:
    """Kuhn poker: cards 0-2, action 0 passes, action 1 bets; the value to player 0 is -1/18."""
    deals = {(a, b): 1 / 6 for a in range(3) for b in range(3) if a != b}

    def moves(history: History) -> tuple[int, tuple[int, ...]] | None:
        over = history in ((0, 0), (0, 1, 0), (0, 1, 1), (1, 0), (1, 1))
        return None if over else (len(history) % 2, (0, 1))

    def payoff(history: History, deal: tuple[int, int]) -> float:
        if history == (1, 0):
            return 1.0
        if history == (0, 1, 0):
            return -1.0
        stake = 1.0 if history == (0, 0) else 2.0
        return stake if deal[0] > deal[1] else -stake

    return build("kuhn", deals, 2, moves, payoff)


def sudden_kuhn() -> TreeGame:
    """Kuhn poker after a chance move that ends one game in four before anyone decides; player 0 then wins 1."""
    rest = kuhn()
    return TreeGame(
        "sudden-kuhn",
        np.array([0.25, *(0.75 * rest.chance)]),
        np.array([-1, *rest.player], np.int8),
        np.concatenate([np.full((1, 2), -1), rest.children + (rest.children >= 0)]).astype(np.int32),
        np.array([1.0, *rest.payoff], np.float32),
        np.concatenate([np.zeros((1, 2)), rest.observation]).astype(np.int16),
    )


def random_game(seed: int, depth: int = 4, actions: int = 3) -> TreeGame:
    """A game whose movers, legal actions, lengths, chances and payoffs are drawn from `seed`."""
    chances = np.random.default_rng(seed).dirichlet(np.full(4, 5.0))
    deals = {(a, b): float(chances[2 * a + b]) for a in (0, 1) for b in (0, 1)}

    def draw(*words: int) -> np.random.Generator:
        return np.random.default_rng((seed, *words))

    def moves(history: History) -> tuple[int, tuple[int, ...]] | None:
        rng = draw(1, len(history), *history)
        if len(history) == depth or (history and rng.random() < 0.15):
            return None
        legal = rng.permutation(actions)[: rng.integers(1 if history else 2, actions + 1)]
        return int(rng.integers(2)), tuple(sorted(legal.tolist()))

    def payoff(history: History, deal: tuple[int, int]) -> float:
        return float(draw(2, *deal, *history).normal())

    return build(f"random-{seed}", deals, actions, moves, payoff)
