"""A distribution over deals of unseen cards to three hands, exactly: its logarithm of the sum, expectations and draws.

A deal says how many of the free cards of each place go to each hand. Its weight is the number of ways to choose these
cards, times exp of the sum of `scores` of what the hands hold: a hand with c cards of a place has the first
``min(c, STEPS)`` steps of that place, and the last step again for each card beyond. Hands have a given size. So with
scores of 0 all deals of the cards are alike likely, and a step is the logarithm of how much more probable a further
card of the place is than among uniform deals.

Sums run over the places; between two of them a partial deal is known by the numbers of cards that the first two hands
have so far, as the third has the rest. `B` decisions.
"""

import numpy as np

from envs.compiled import fast, kernel
from envs.guandan.beliefs.knowledge import MOST, OTHERS, PLACES, place_of_card
from envs.guandan.inputs.deals import following, redeal_into, redeal_often, unit
from envs.guandan.inputs.prospects import unseen_cards
from envs.guandan.rules.cards import card_words, count_of
from envs.guandan.rules.state import SEATS, mixed

STEPS = 4
SIDE = 29
"""Hands have at most 28 cards."""

_FACTORIALS = np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0])


@kernel
def new_layers():
    """Scratch of the other functions: sums of the weights of partial deals, before each place and after the last."""
    return np.zeros((PLACES + 1, SIDE, SIDE))


@kernel
def new_factors():
    """Scratch: the factor of each count of each place in each hand."""
    return np.zeros((PLACES, OTHERS, MOST + 1))


@kernel
def step_of(count):
    """Returns the step of the n-th card of a place in a hand."""
    return STEPS - 1 if count > STEPS else count - 1


@kernel
def write_factors(free, known, most, scores, factors):
    """Writes the factors of one decision, each divided by the largest of its hand and place.

    Returns:
        The logarithm of what the factors of a deal have been divided by in all.
    """
    divided = 0.0
    for place in range(PLACES):
        for hand in range(OTHERS):
            held, total, top = np.int64(known[hand, place]), 0.0, -np.inf
            last = min(np.int64(free[place]), np.int64(most[hand, place]) - held)
            for count in range(last + 1):
                if count > 0:
                    total += scores[hand, place, step_of(held + count)]
                factors[place, hand, count] = total - np.log(_FACTORIALS[count])
                top = max(top, factors[place, hand, count])
            for count in range(last + 1):
                factors[place, hand, count] = np.exp(factors[place, hand, count] - top)
            factors[place, hand, last + 1 :] = 0
            divided += top
        divided += np.log(_FACTORIALS[free[place]])
    return divided


@kernel
def second_hands(left, j, k, room):
    """Returns the range of the cards that the second hand may have of `left` cards that it shares with the third.

    The two hands have room for them besides the `j` and `k` cards of a place.
    """
    return max(0, left - (room[2] - k)), min(left, room[1] - j) + 1


@fast
def sum_forwards(free, room, factors, layers):
    """Fills the layers: entry [p, i, j] sums partial deals of the places before p with i and j cards in two hands.

    Returns:
        The logarithm of the sum over all deals, whose factors are those of `write_factors`. Layers are scaled.
    """
    layers[0, : room[0] + 1, : room[1] + 1] = 0
    layers[0, 0, 0] = 1
    scale, before = 0.0, np.int64(0)
    for place in range(PLACES):
        count, here, after = np.int64(free[place]), layers[place], layers[place + 1]
        after[: room[0] + 1, : room[1] + 1] = 0
        for i in range(count + 1):
            for j in range(count - i + 1):
                k = count - i - j
                factor = factors[place, 0, i] * factors[place, 1, j] * factors[place, 2, k]
                if factor == 0:
                    continue
                for a in range(min(before, room[0] - i) + 1):
                    first, end = second_hands(before - a, j, k, room)
                    for b in range(first, end):
                        after[a + i, b + j] += factor * here[a, b]
        before += count
        top = 0.0
        for a in range(room[0] + 1):
            for b in range(room[1] + 1):
                top = max(top, after[a, b])
        scale += np.log(top)
        for a in range(room[0] + 1):
            for b in range(room[1] + 1):
                after[a, b] /= top
    return scale + np.log(layers[PLACES, room[0], room[1]])


@fast
def expect(free, room, factors, layers, behind, chances):
    """Writes the probability of each number of free cards of each place in each hand.

    Args:
        free, room: See `Knowledge`, as `int64`.
        factors: From `write_factors`.
        layers: From `sum_forwards`.
        behind: Scratch, `[2, SIDE, SIDE]`.
        chances: `float64[3, 16, MOST + 1]`; written.
    """
    chances[:] = 0
    later = behind[0]
    later[: room[0] + 1, : room[1] + 1] = 0
    later[room[0], room[1]] = 1
    before = np.int64(0)
    for place in range(PLACES):
        before += free[place]
    for step in range(PLACES):
        place = PLACES - 1 - step
        later, sums = behind[step % 2], behind[(step + 1) % 2]
        count, here = np.int64(free[place]), layers[place]
        before -= count
        sums[: room[0] + 1, : room[1] + 1] = 0
        whole = 0.0
        for i in range(count + 1):
            for j in range(count - i + 1):
                k = count - i - j
                factor = factors[place, 0, i] * factors[place, 1, j] * factors[place, 2, k]
                if factor == 0:
                    continue
                weight = 0.0
                for a in range(min(before, room[0] - i) + 1):
                    first, end = second_hands(before - a, j, k, room)
                    for b in range(first, end):
                        one = factor * later[a + i, b + j]
                        sums[a, b] += one
                        weight += here[a, b] * one
                chances[0, place, i] += weight
                chances[1, place, j] += weight
                chances[2, place, k] += weight
                whole += weight
        top = 0.0
        for a in range(min(before, room[0]) + 1):
            for b in range(min(before, room[1]) + 1):
                top = max(top, sums[a, b])
        for hand in range(OTHERS):
            for n in range(count + 1):
                chances[hand, place, n] /= whole
        for a in range(min(before, room[0]) + 1):
            for b in range(min(before, room[1]) + 1):
                sums[a, b] /= top


@kernel
def score_deals(free, room, known, most, scores, held, logs, gradients):
    """Writes the logarithm of the probability of the true deals, and its gradient by the scores.

    Args:
        free, room, known, most: See `Knowledge`.
        scores: `float64[B, 3, 16, STEPS]`.
        held: The true hands by place, known cards included, `uint8[B, 3, 16]`.
        logs: Of the probability that each of the free cards is where it is, `float64[B]`; written.
        gradients: `float64[B, 3, 16, STEPS]`; written.
    """
    layers, factors, behind = new_layers(), new_factors(), np.zeros((2, SIDE, SIDE))
    chances = np.zeros((OTHERS, PLACES, MOST + 1))
    for b in range(free.shape[0]):
        cards, space = free[b].astype(np.int64), room[b].astype(np.int64)
        divided = write_factors(free[b], known[b], most[b], scores[b], factors)
        logs[b] = -(sum_forwards(cards, space, factors, layers) + divided)
        expect(cards, space, factors, layers, behind, chances)
        for hand in range(OTHERS):
            for place in range(PLACES):
                least = np.int64(known[b, hand, place])
                for step in range(STEPS):
                    gradients[b, hand, place, step] = 0
                for count in range(1, cards[place] + 1):
                    step = step_of(least + count)
                    if least + count <= held[b, hand, place]:
                        logs[b] += scores[b, hand, place, step]
                        gradients[b, hand, place, step] += 1
                    for more in range(count, cards[place] + 1):
                        gradients[b, hand, place, step] -= chances[hand, place, more]


@kernel
def write_chances(free, room, known, most, scores, chances):
    """Writes the probability of each number of free cards of each place in each hand.

    Args:
        free, room, known, most, scores: See `score_deals`.
        chances: `float64[B, 3, 16, MOST + 1]`; written.
    """
    layers, factors, behind = new_layers(), new_factors(), np.zeros((2, SIDE, SIDE))
    for b in range(free.shape[0]):
        cards, space = free[b].astype(np.int64), room[b].astype(np.int64)
        write_factors(free[b], known[b], most[b], scores[b], factors)
        sum_forwards(cards, space, factors, layers)
        expect(cards, space, factors, layers, behind, chances[b])


@kernel
def _path(place, i, j, count, a, b, before, room, factors, layers):
    """The weight of deals that end with a and b cards in two hands, i and j of them from this place."""
    third = before - (a - i) - (b - j)
    if i > a or j > b or third < 0 or third + count - i - j > room[2]:
        return 0.0
    return factors[place, 0, i] * factors[place, 1, j] * factors[place, 2, count - i - j] * layers[place, a - i, b - j]


@kernel
def draw_counts(free, room, factors, layers, seed, counts):
    """Draws a deal, the free cards of each place in each hand, from the layers of `sum_forwards`, last place first.

    Args:
        free, room, factors, layers: See `expect`.
        seed: State of a generator, see `inputs.deals.following`.
        counts: `int64[3, 16]`; written.

    Returns:
        The new state of the generator.
    """
    a, b, before = room[0], room[1], free.sum()
    for step in range(PLACES):
        place = PLACES - 1 - step
        count = free[place]
        before -= count
        whole = 0.0
        for i in range(count + 1):
            for j in range(count - i + 1):
                whole += _path(place, i, j, count, a, b, before, room, factors, layers)
        seed = following(seed)
        left, found_i, found_j = whole * unit(seed), 0, 0
        for i in range(count + 1):
            for j in range(count - i + 1):
                path = _path(place, i, j, count, a, b, before, room, factors, layers)
                if path > 0 and left >= 0:
                    found_i, found_j = i, j
                    left -= path
        counts[0, place], counts[1, place], counts[2, place] = found_i, found_j, count - found_i - found_j
        a, b = a - found_i, b - found_j
    return seed


@kernel
def prepare(knowledge, scores, b, factors, layers):
    """Prepares draws of the deals of decision b, see `draw_hands`.

    Returns:
        Whether any deal agrees with all plays; in the view of a client that has missed some, none may.
    """
    free, room = knowledge.free[b].astype(np.int64), knowledge.room[b].astype(np.int64)
    write_factors(knowledge.free[b], knowledge.known[b], knowledge.most[b], scores[b], factors)
    return free.sum() == room.sum() and np.isfinite(sum_forwards(free, room, factors, layers))


@kernel
def draw_hands(state, me, knowledge, b, factors, layers, scratch, seed, low, high):
    """Draws a deal of the cards that a player does not see; within a place the free cards are dealt at random.

    Args:
        state: Of the table.
        me: Whose view is kept.
        knowledge: Of the players of all tables, see `knowledge.learn`.
        b: Index of this table.
        factors, layers: From `prepare`.
        scratch: See `new_scratch`.
        seed: State of a generator.
        low, high: Hands, words of multisets by seat, `uint64[4]`; those of the others are written.

    Returns:
        The new state of the generator.
    """
    counts, cards = scratch
    level = np.int64(state.level)
    free, room = knowledge.free[b].astype(np.int64), knowledge.room[b].astype(np.int64)
    left_low, left_high = unseen_cards(state, me)  # before the hands, which may be those of the state, are written
    seed = draw_counts(free, room, factors, layers, seed, counts)
    for other in range(OTHERS):
        seat = (me + 1 + other) % SEATS
        low[seat], high[seat] = knowledge.low[b, other], knowledge.high[b, other]
        left_low -= knowledge.low[b, other]
        left_high -= knowledge.high[b, other]
    for place in range(PLACES):
        n = np.int64(0)
        for index in range(54):
            if place_of_card(index, level) == place:
                for _ in range(count_of(left_low, left_high, index)):
                    cards[n] = index
                    n += 1
        for other in range(OTHERS):
            seat = (me + 1 + other) % SEATS
            for _ in range(counts[other, place]):
                seed = following(seed)
                k = np.int64((seed >> np.uint64(33)) % np.uint64(n))
                card_low, card_high = card_words(cards[k])
                low[seat] += card_low
                high[seat] += card_high
                n -= 1
                cards[k] = cards[n]
    return seed


@kernel
def new_scratch():
    """Scratch of `draw_hands`: the cards of each place in each hand, and those of a place that are not dealt yet."""
    return np.zeros((OTHERS, PLACES), np.int64), np.zeros(MOST, np.int64)


@kernel
def deal_into(states, players, knowledge, scores, seeds):
    """Deals the cards that `players`, `int64[B]`, do not see to the others, in place.

    Each deal is drawn from the distribution of its scores, or, if none agrees with all plays, as by `inputs.deals`.

    Args:
        states: `[B]` records.
        players: Whose view is kept.
        knowledge: Of the players, see `knowledge.learn`.
        scores: `float64[B, 3, 16, STEPS]`.
        seeds: Of the deals, `uint64[B]`.
    """
    layers, factors, scratch = new_layers(), new_factors(), new_scratch()
    for b in range(states.shape[0]):
        state = states[b]
        if prepare(knowledge, scores, b, factors, layers):
            seed = mixed(seeds[b])  # otherwise consecutive seeds would draw in step
            draw_hands(state, players[b], knowledge, b, factors, layers, scratch, seed, state.low, state.high)
        else:
            redeal_into(states[b : b + 1], players[b : b + 1], seeds[b : b + 1])


@kernel
def deal_often(states, players, knowledge, scores, seeds, low, high):
    """Draws many deals of each table, as `deal_into` draws one.

    Args:
        states, players, knowledge, scores: See `deal_into`.
        seeds: One for all deals of a table, `uint64[B]`.
        low, high: Hands by deal and seat, words of multisets, `uint64[B, D, 4]`; those of the others are written.
    """
    layers, factors, scratch = new_layers(), new_factors(), new_scratch()
    for b in range(states.shape[0]):
        if not prepare(knowledge, scores, b, factors, layers):
            redeal_often(states[b : b + 1], players[b : b + 1], seeds[b : b + 1], low[b : b + 1], high[b : b + 1])
            continue
        seed = seeds[b]
        for d in range(low.shape[1]):
            seed = draw_hands(
                states[b], players[b], knowledge, b, factors, layers, scratch, seed, low[b, d], high[b, d]
            )
