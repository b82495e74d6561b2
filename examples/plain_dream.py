"""DREAM in one file, to be read beside the paper: Steinberger, Lerer and Brown 2020, Algorithm 1.

One game at a time, a loop for each step of the algorithm; `dancfr train leduc-dream` does that in compiled batches.
`python examples/plain_dream.py [GAME]` trains for a minute or two on Kuhn poker, or longer on another small game.
"""

import sys
from collections import deque
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

import dancfr
from learners.cfr.sequence_form import sequence_form

ITERATIONS, GAMES, EPSILON = 60, 300, 0.5
ADVANTAGES, TRANSITIONS = 100_000, 10_000  # sizes of the buffers
STEPS, BATCH = 150, 256


@dataclass
class Decision:
    """A decision in a sampled game."""

    player: int
    infostate: np.ndarray  # as the player's net sees it
    history: np.ndarray  # what both players know, as the baseline sees it
    legal: np.ndarray
    policy: np.ndarray
    action: int
    chance: float  # xi, the probability with which the action was sampled


def make_net(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs))


def predict(net, x):
    with torch.no_grad():
        return net(torch.as_tensor(x)).numpy()


def regret_matching(advantages, legal):
    """Plays in proportion to positive advantages; where there are none, the best action."""
    positive = np.maximum(advantages, 0) * legal
    if positive.sum() > 0:
        return positive / positive.sum()
    return np.eye(len(legal))[np.argmax(np.where(legal, advantages, -np.inf))]


def play(game, nets, traverser, rng):
    """Samples a game: the traverser explores, its opponent plays its policy. Returns its decisions and the returns."""
    states, decisions = game.reset(1, rng), []
    while not game.finished(states)[0]:
        player = int(game.to_move(states)[0])
        legal = game.legal(states)[0]
        own, other = (
            game.encode(game.observe(states, np.array([seat], np.int8)), "flat")[0] for seat in (player, 1 - player)
        )
        uniform = legal / legal.sum()
        policy = uniform if nets[player] is None else regret_matching(predict(nets[player], own), legal)
        xi = EPSILON * uniform + (1 - EPSILON) * policy if player == traverser else policy
        action = int(rng.choice(len(legal), p=xi / xi.sum()))
        decisions.append(Decision(player, own, np.concatenate([own, other]), legal, policy, action, xi[action]))
        game.step(states, np.array([action]), rng)
    return decisions, game.returns(states)[0]


def sampled_advantages(decisions, value, traverser, baselines):
    """Goes back over a game whose return to the traverser is `value`; yields its decisions with advantages of actions.

    The values of a node are those of the baseline. That of the sampled action is corrected by the value that followed,
    and the correction divided by the probability of the sample: the mean over samples is the true value, whatever the
    baseline.
    """
    for at, decision in zip(reversed(decisions), reversed(baselines), strict=True):
        sign = 1 if at.player == traverser else -1  # the baseline's values are those of the player to move
        values = sign * decision * at.legal
        values[at.action] += (value - values[at.action]) / at.chance
        value = at.policy @ values
        if at.player == traverser:
            yield at, (values - value) * at.legal


def fit(net, inputs, targets, weights, masks, rng):
    """Fits outputs to targets where the mask is set, by weighted squared errors."""
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    inputs, targets, weights, masks = (
        torch.as_tensor(np.asarray(each), dtype=torch.float32) for each in (inputs, targets, weights, masks)
    )
    for _ in range(STEPS):
        at = torch.from_numpy(rng.integers(0, len(inputs), BATCH))
        loss = (weights[at, None] * masks[at] * (net(inputs[at]) - targets[at]) ** 2).sum(1).mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()


def fit_baseline(net, transitions, actions, rng):
    """Expected SARSA: Q(h, a) becomes the return, or the mean of Q at the next decision under the policy there."""
    targets, masks = np.zeros((2, len(transitions), actions), np.float32)
    following = np.stack([history if after is None else after.history for history, _, after, _ in transitions])
    ahead = predict(net, following)
    for row, (_, decision, after, reward) in enumerate(transitions):
        if after is not None:
            sign = 1 if after.player == decision.player else -1
            reward = sign * (after.policy @ (ahead[row] * after.legal))
        targets[row, decision.action], masks[row, decision.action] = reward, 1
    inputs = np.stack([history for history, *_ in transitions])
    fit(net, inputs, targets, np.ones(len(inputs)), masks, rng)


def add_to_reservoir(reservoir, row, seen, rng):
    """Keeps a uniform sample of all rows (Vitter's algorithm R)."""
    if len(reservoir) < ADVANTAGES:
        reservoir.append(row)
    elif (place := rng.integers(seen)) < ADVANTAGES:
        reservoir[place] = row


def average_policy(tree, game, nets):
    """The average of the policies of all iterations, weighted by t and by the player's own reach, on the game tree."""
    form = sequence_form(tree)
    plans = [[], []]
    infostates = game.encode(tree.observed, "flat")
    for of_both in zip(*nets, strict=True):
        rows = np.stack([predict(net, infostates) for net in of_both])[tree.player, np.arange(len(tree.player))]
        policy = np.stack([regret_matching(*row) for row in zip(rows, tree.legal(), strict=True)])
        for player, plan in enumerate(form.plans(tree.to_slots(policy))):
            plans[player].append(plan)
    weights = np.arange(1, len(nets[0]) + 1)
    return form.policy(tuple(np.average(each, axis=0, weights=weights) for each in plans))


class Average:
    """The average policy as an agent that `dancfr.exploitability` evaluates."""

    def __init__(self, game, nets):
        self.game, self.nets = game, nets

    def tree_policy(self, tree):
        return average_policy(tree, self.game, self.nets)


def dream(game, iterations=ITERATIONS, games=GAMES, seed=1):
    """Trains, and returns the advantage nets of all iterations, a list for each player."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    actions = game.spec.num_actions
    inputs = game.spec.shapes["flat"][0]
    nets = [[], []]
    baselines = [make_net(2 * inputs, actions) for _ in range(2)]
    reservoirs, seen = [[], []], [0, 0]
    transitions = [deque(maxlen=TRANSITIONS) for _ in range(2)]
    for t in range(1, iterations + 1):
        newest = [own[-1] if own else None for own in nets]
        for traverser in range(2):
            for _ in range(games):
                decisions, returns = play(game, newest, traverser, rng)
                histories = np.stack([decision.history for decision in decisions])
                values = predict(baselines[traverser], histories)
                for decision, advantage in sampled_advantages(decisions, returns[traverser], traverser, values):
                    seen[traverser] += 1
                    row = decision.infostate, advantage, t, decision.legal
                    add_to_reservoir(reservoirs[traverser], row, seen[traverser], rng)
                for decision, after in zip(decisions, [*decisions[1:], None], strict=True):
                    transitions[traverser].append((decision.history, decision, after, returns[decision.player]))
            fit_baseline(baselines[traverser], transitions[traverser], actions, rng)
        for player in range(2):  # a fresh net each iteration, on the samples of all iterations
            net = make_net(inputs, actions)
            infostates, advantages, ts, legal = (np.stack(column) for column in zip(*reservoirs[player], strict=True))
            fit(net, infostates, advantages, 2 * ts / t, legal, rng)
            nets[player].append(net)
        if t % 10 == 0:
            found = dancfr.exploitability(Average(game, nets), game)
            print(f"iteration {t}: NashConv {found.nash_conv:.3f}", flush=True)
    return nets


if __name__ == "__main__":
    torch.set_num_threads(1)
    dream(dancfr.make_game(sys.argv[1] if len(sys.argv) > 1 else "kuhn"))
