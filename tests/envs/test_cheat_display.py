"""The messages to the page of Cheat: the player's own cards and revealed ones, never another player's cards."""

from collections.abc import Iterator

import numpy as np
import pytest

from dancfr.serve.browser.displays import display_of
from dancfr.serve.position import Position
from envs.cheat import Cheat, rules
from envs.cheat.cards import pack, unpack
from envs.cheat.display import CheatDisplay
from envs.game import States

GAMES = {
    "cheat": Cheat(),
    "sets": Cheat(ranks=4, copies=3, max_discard=3, discards="sets"),
    "mini": Cheat(ranks=3, copies=2, dealt=2, max_discard=2, discards="sets"),
    "four": Cheat(players=4, ranks=6, copies=4),
    "six": Cheat(players=6, health=0, ply_limit=300),
}


def moves_of(game: Cheat, seed: int) -> Iterator[tuple[States, int, States]]:
    """The first moves of a random game in which challenges are rarer than passes: before, action, after."""
    rng, played = np.random.default_rng(seed), Position(game, seed)
    while not played.over and played.ply < 80:
        before, action = played.states, int(rng.choice(played.actions))
        if action == rules.CHALLENGE and rng.random() < 0.5:
            action = rules.PASS
        played.play(action)
        yield before, action, played.states


def exchanged(game: Cheat, before: States, action: int, viewer: int, rng: np.random.Generator) -> tuple[States, int]:
    """The same game for a viewer, but with other cards in the hands of the others, and the mover's move there.

    Every heap keeps its size. The cards that a challenge by this action shows, or gives to the viewer, stay.
    """
    other = before.copy()
    state = other[0]
    challenged = state["phase"] == rules.ANSWERING and action == rules.CHALLENGE
    fixed_pile = challenged and viewer in (_loser(before), int(state["discarder"]))
    picking = state["phase"] == rules.DISCARDING and state["discarder"] != viewer
    heaps: list[tuple[str, int | None]] = []
    for player in range(game.players):
        if player != viewer:
            heaps += [("hand", player)] + ([] if fixed_pile else [("put", player)])
    heaps += [("discard", None)] if picking else []
    shown = unpack(state["discard"], game.ranks) if challenged and not fixed_pile else np.zeros(game.ranks, np.uint8)
    counts = [unpack(_heap(state, heap), game.ranks).astype(np.int64) for heap in heaps]
    held = int(state["discarder"])
    if shown.any():
        counts[heaps.index(("put", held))] -= shown
    held_by_others = np.concatenate([np.repeat(np.arange(game.ranks), count) for count in counts])
    cards = rng.permutation(np.concatenate([held_by_others, _out_of_play(game, before)]))
    at = 0
    for heap, count in zip(heaps, counts, strict=True):
        size = int(count.sum())
        dealt = np.bincount(cards[at : at + size], minlength=game.ranks)
        at += size
        if shown.any() and heap == ("put", held):
            dealt = dealt + shown
        _set_heap(state, heap, pack(dealt))
    if state["phase"] == rules.ANSWERING and not challenged and held != viewer:
        laid = rng.permutation(np.repeat(np.arange(game.ranks), unpack(state["put"][held], game.ranks)))
        state["discard"] = pack(np.bincount(laid[: state["claimed"]], minlength=game.ranks))
    if picking:
        state["lowest"] = 0
    return other, _same_move(game, other, before, action, viewer, rng)


def _out_of_play(game: Cheat, states: States) -> np.ndarray:
    """The ranks, counted from the current one, of the cards that no player has."""
    state = states[0]
    heaps = [*state["hand"], *state["put"]] + ([state["discard"]] if state["phase"] == rules.DISCARDING else [])
    used = sum(unpack(heap, game.ranks).astype(np.int64) for heap in heaps)
    return np.repeat(np.arange(game.ranks), game.copies - used)


def _loser(states: States) -> int:
    honest = int(states[0]["discard"]) >> 4 == 0
    return int(states[0]["mover"] if honest else states[0]["discarder"])


def _heap(state: np.void, heap: tuple[str, int | None]) -> np.uint64:
    name, player = heap
    found: np.uint64 = state[name] if player is None else state[name][player]
    return found


def _set_heap(state: np.void, heap: tuple[str, int | None], cards: np.uint64) -> None:
    name, player = heap
    if player is None:
        state[name] = cards
    else:
        state[name][player] = cards


def _same_move(game: Cheat, other: States, before: States, action: int, viewer: int, rng: np.random.Generator) -> int:
    """A move that looks to the viewer as the real one does."""
    if before[0]["phase"] == rules.ANSWERING or before[0]["mover"] == viewer or (game.picking and action == rules.STOP):
        return action
    legal = np.flatnonzero(game.legal(other)[0])
    if game.picking:
        return int(rng.choice(legal[legal != rules.STOP]))
    sizes = unpack(game.sets, game.ranks).sum(1)
    return int(rng.choice(legal[sizes[legal - rules.SET] == sizes[action - rules.SET]]))


@pytest.mark.parametrize("name", GAMES)
def test_no_hidden_card_changes_what_a_player_gets(name: str) -> None:
    game, rng = GAMES[name], np.random.default_rng(1)
    display = display_of(game)
    differing = 0
    for seed in range(8 if game.players == 2 else 2):
        for before, action, after in moves_of(game, seed):
            for viewer in range(game.players):
                other, same = exchanged(game, before, action, viewer, rng)
                changed = other.copy()
                game.step(changed, np.array([same]))
                differing += bool((other != before).any())
                assert display.scene(before[0], viewer) == display.scene(other[0], viewer)
                assert display.event(before[0], action, after[0], viewer) == display.event(
                    other[0], same, changed[0], viewer
                )
    assert differing > 10


@pytest.mark.parametrize("name", GAMES)
def test_choices_are_those_of_the_rules(name: str) -> None:
    game = GAMES[name]
    display = CheatDisplay(game)
    for before, action, after in moves_of(game, 2):
        choices, mover, rank = display.choices(before), int(before[0]["mover"]), int(before[0]["rank"])
        actions = np.flatnonzero(game.legal(before)[0])
        assert len(choices) == len(actions)
        assert len({choice["label"] for choice in choices}) == len(choices)
        choice = choices[list(actions).index(action)]
        event = display.event(before[0], action, after[0], mover)
        if choice["kind"] in ("lay", "pick"):
            held = display.scene(before[0], mover)["players"][mover]["hand"]["cards"]
            left = display.scene(after[0], mover)["players"][mover]["hand"]["cards"]
            assert sorted([*left, *choice.get("cards", [choice.get("card")])]) == held
        if event["kind"] == "lay":
            assert (event["rank"], event["count"]) == (rank, len(event["cards"]))


@pytest.mark.parametrize("name", GAMES)
def test_a_challenge_shows_the_discard_to_all(name: str) -> None:
    game = GAMES[name]
    display = CheatDisplay(game)
    seen = []
    for seed in range(4):
        for before, action, after in moves_of(game, seed):
            events = [display.event(before[0], action, after[0], viewer) for viewer in (*range(game.players), None)]
            if before[0]["phase"] != rules.ANSWERING or action != rules.CHALLENGE:
                continue
            event = events[0]
            assert all(each == event for each in events)
            assert event["true"] == (set(event["cards"]) == {event["rank"]})
            assert event["taker"] == int(before[0]["discarder" if not event["true"] else "mover"])
            grown = [
                display.scene(states[0], None)["players"][event["taker"]]["hand"]["size"] for states in (before, after)
            ]
            assert grown[1] - grown[0] == event["size"]
            seen.append(event["true"])
    assert False in seen


def test_picked_cards_are_in_the_hand_for_the_others() -> None:
    game = GAMES["cheat"]
    display, played = CheatDisplay(game), Position(game, 4)
    mover, before = played.mover, played.states
    played.play(played.actions[-1])
    own, other = (display.scene(played.states[0], viewer)["players"][mover] for viewer in (mover, 1 - mover))
    assert (own["picked"]["size"], own["hand"]["size"]) == (1, 25)
    assert (other["picked"]["size"], other["hand"]) == (0, {"size": 26, "cards": None})
    action = int(np.flatnonzero(game.legal(before)[0])[-1])
    assert display.event(before[0], action, played.states[0], 1 - mover) == {
        "label": "picks a card",
        "kind": "pick",
        "card": None,
        "hidden": True,
    }
