"""Consulting agents in the course of games: checks that hold for every insight, and hidden parts that are exchanged."""

import json
from typing import Any

import numpy as np
import pytest

from dancfr.agents.by_name import make_agent
from dancfr.agents.insight import Insight, consult
from envs.cheat.cards import pack, unpack
from envs.cheat.turns import ANSWERING
from envs.game import ListedGame, States

ZERO = np.zeros(1, np.int64)

WIDE = {"history": True, "ply_limit": 300}


def options_of(name: str) -> dict[str, Any]:
    return WIDE if name == "geister" else {}


def step(game: Any, states: States, action: Any, rng: np.random.Generator) -> None:
    given = (rng,) if not isinstance(game, ListedGame) else ()
    game.step(states, np.asarray(action).reshape(1), *given)


def decisions(game: Any, agent: Any, plies: int, seed: int = 0) -> list[tuple[States, list[tuple[States, Any]]]]:
    """The decisions of one game in which the agent plays seat 0 and `random` the others: position and earlier ones."""
    rng, other = np.random.default_rng(seed), make_agent("random", game)
    for player in (agent, other):
        player.begin(game, 1, rng)
    states, met, found = game.reset(1, rng), {p: [] for p in range(game.spec.num_players)}, []
    for _ in range(plies):
        if game.finished(states)[0]:
            break
        mover = int(game.to_move(states)[0])
        found.append((states.copy(), list(met[mover])))
        action = (agent if mover == 0 else other).act(states, ZERO, rng)[0]
        met[mover].append((states.copy(), action))
        step(game, states, action, rng)
    return found


def number_of_actions(game: Any, states: States) -> int:
    legal = game.legal(states)
    return len(legal.rows) if isinstance(game, ListedGame) else int(legal.sum())


def check(found: Insight, game: Any, states: States) -> None:
    """Checks that hold for every insight."""
    count = number_of_actions(game, states)
    for part in (found.policy, found.prior):
        if part is not None:
            assert len(part) == count
            assert min(part) >= 0
            assert sum(part) == pytest.approx(1, abs=1e-6)
    assert found.policy is not None
    assert (found.draws is not None) == (found.source == "draws")
    for listed in (found.values, found.tries):
        assert listed is None or len(listed) == count
    assert (found.values is None) == (found.values_are is None)
    assert (found.value is None) == (found.value_from is None)
    assert found.value is None or abs(found.value) <= game.spec.max_return
    beliefs = found.beliefs or {}
    if beliefs.get("about") == "ghosts":
        assert all(red is None or 0 <= red <= 1 for red in beliefs["red"])
    if beliefs.get("about") == "cards":
        for other in beliefs["others"]:
            assert min(other["ranks"]) >= 0
            assert sum(other["ranks"]) == pytest.approx(other["cards"])
    if beliefs.get("about") == "hands":
        assert sum(beliefs["hands"].values()) == pytest.approx(1)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False)) == found.to_json()


def exchanged(game: Any, states: States, history: list[tuple[States, Any]], seed: int) -> Any:
    """The same position and decisions to the player to move, with other ghosts or cards where it cannot see them."""
    changed = [states.copy(), *(before.copy() for before, _ in history)]
    player, rng = game.to_move(states), np.random.default_rng(seed)
    other = 1 - int(player[0])
    if game.spec.name in ("geister", "mini-geister"):
        chosen = rng.choice(np.flatnonzero(game.possible(states, player)[0]), 1)
        for each in changed:
            game.arrange(each, player, chosen)
    elif game.spec.name == "guandan":
        for each in changed:
            game.redeal(each, player, rng.integers(0, 2**64, 1, np.uint64))
    elif game.spec.name in ("kuhn", "leduc"):
        cards = states["cards"][0]
        taken = {int(cards[0]), int(cards[1]), int(states["board"][0]) if game.spec.name == "leduc" else -1}
        free = [card for card in range(3 if game.spec.name == "kuhn" else 6) if card not in taken]
        card = rng.choice(free)
        for each in changed:
            each["cards"][0, other] = card
    elif game.spec.name in ("cheat", "mini-cheat") and states["phase"][0] == ANSWERING:
        _exchange_discard(game, changed[0], other, rng)
    return changed[0], [(before, action) for before, (_, action) in zip(changed[1:], history, strict=True)]


def _exchange_discard(game: Any, states: States, other: int, rng: np.random.Generator) -> None:
    """Lets the other player of Cheat have discarded other cards of its hand."""
    before, hand, put = (
        int(word) for word in (states["discard"][0], states["hand"][0, other], states["put"][0, other])
    )
    pool = np.repeat(np.arange(game.ranks), unpack(np.array(hand + before, np.uint64), game.ranks))
    laid = rng.choice(pool, int(unpack(states["discard"], game.ranks).sum()), replace=False)
    discard = int(pack(np.bincount(laid, minlength=game.ranks)))
    states["discard"][0] = discard
    states["hand"][0, other], states["put"][0, other] = hand + before - discard, put + discard - before


def examine(game: Any, agent: Any, plies: int, every: int) -> int:
    """Consults an agent at some of its decisions; returns in how many something was hidden and exchanged."""
    hidden = 0
    for states, history in decisions(game, agent, plies)[::every]:
        found = consult(agent, game, states, history, np.random.default_rng(1), draws=32)
        check(found, game, states)
        seen, remembered = exchanged(game, states, history, 2)
        hidden += (seen != states).any()
        again = consult(agent, game, seen, remembered, np.random.default_rng(1), draws=32)
        assert again == found, "the same for the same seed, whatever is hidden"
    return hidden
