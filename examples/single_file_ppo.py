"""Learns Leduc hold'em by PPO with masked actions against itself, in one file and in PettingZoo environments.

docs/tutorials/other-trainers.md explains the file.
"""

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import dancfr

GAME = "leduc"
ITERATIONS, GAMES, TABLES, EPOCHS, BATCH = 40, 1024, 256, 4, 512
RATE, CLIP, VALUE, GRADIENT = 1e-3, 0.2, 0.5, 0.5
ENTROPY = 0.3, 0.05  # at the first iteration and at the last one


class Net(nn.Module):
    """Logits of the actions, -inf where they are illegal, and the value of the infostate to its player."""

    def __init__(self, inputs, actions, width=128):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.actor, self.critic = nn.Linear(width, actions), nn.Linear(width, 1)
        nn.init.zeros_(self.actor.weight)
        nn.init.zeros_(self.actor.bias)  # the first policy is uniform

    def forward(self, infostates, legal):
        hidden = self.body(infostates)
        return self.actor(hidden).masked_fill(~legal, -torch.inf), self.critic(hidden).squeeze(1)


def play(envs, net, scale):
    """Plays a game in each environment; returns arrays of all decisions: infostate, mask, action, its log
    probability, value, return."""
    decisions, running = [], list(envs)
    for env in running:
        env.reset()
    while running:
        shown = [env.last()[0] for env in running]
        infostates, legal = (np.stack([each[key] for each in shown]) for key in ("observation", "action_mask"))
        infostates, legal = torch.from_numpy(infostates), torch.from_numpy(legal).bool()
        with torch.no_grad():
            logits, values = net(infostates, legal)
        choice = Categorical(logits=logits)
        actions = choice.sample()
        seats = [(env, env.agent_selection) for env in running]
        decisions.append((seats, infostates, legal, actions, choice.log_prob(actions), values))
        for env, action in zip(running, actions.tolist(), strict=True):
            env.step(action)
        running = [env for env in running if not env.terminations[env.agent_selection]]
    returns = [env.rewards[agent] / scale for seats, *_ in decisions for env, agent in seats]
    columns = [torch.cat(part) for part in zip(*(each[1:] for each in decisions), strict=True)]
    return [*columns, torch.tensor(returns, dtype=torch.float32)]


def update(net, optimizer, decisions, entropy):
    """Takes PPO's steps on the decisions of many games."""
    infostates, legal, actions, before, values, returns = decisions
    advantages = returns - values
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(returns)).split(BATCH):
            logits, found = net(infostates[rows], legal[rows])
            choice = Categorical(logits=logits)
            ratio = (choice.log_prob(actions[rows]) - before[rows]).exp()
            gain = torch.min(ratio * advantages[rows], ratio.clamp(1 - CLIP, 1 + CLIP) * advantages[rows]).mean()
            loss = VALUE * (found - returns[rows]).square().mean() - gain - entropy * choice.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), GRADIENT)
            optimizer.step()


def policy_of(net):
    """The net as a function of infostates and masks, for `dancfr.policy_agent`."""

    def policy(infostates, legal):
        with torch.no_grad():
            logits, _ = net(torch.from_numpy(infostates), torch.from_numpy(legal))
        return logits.softmax(dim=1).numpy()

    return policy


torch.manual_seed(1)
game = dancfr.make_game(GAME)
envs = [game.raw_env() for _ in range(TABLES)]
for seed, env in enumerate(envs):
    env.reset(seed=seed)
net = Net(game.spec.shapes["flat"][0], game.spec.num_actions)
optimizer = torch.optim.Adam(net.parameters(), RATE)
agent = dancfr.policy_agent(policy_of(net), game, name="ppo")
print(f"before: NashConv {dancfr.exploitability(agent, game).nash_conv:.3f} chips")
for iteration in range(1, ITERATIONS + 1):
    left = 1 - (iteration - 1) / ITERATIONS
    optimizer.param_groups[0]["lr"] = RATE * left
    batches = [play(envs, net, game.spec.max_return) for _ in range(GAMES // TABLES)]
    entropy = ENTROPY[1] + (ENTROPY[0] - ENTROPY[1]) * left
    update(net, optimizer, [torch.cat(part) for part in zip(*batches, strict=True)], entropy)
    if iteration % 10 == 0:
        print(f"after {iteration * GAMES:,} games: NashConv {dancfr.exploitability(agent, game).nash_conv:.3f} chips")
print(dancfr.play(agent, against="pretrained:leduc", game=game, games=10_000, seed=1))
