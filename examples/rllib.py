"""Trains PPO of Ray's RLlib on Leduc hold'em, both players by one net, then plays and measures its policy here.

docs/tutorials/other-trainers.md explains the file, and which packages it needs.
"""

import logging
import os

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # read by Ray's import: its servers listen on 127.0.0.1 alone

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.tune.registry import register_env

import dancfr

GAME, ITERATIONS = "leduc", 16


class MaskedNet(TorchRLModule, ValueFunctionAPI):
    """Scores of the actions, the least possible ones where they are illegal, and the value of the infostate."""

    def setup(self):
        inputs, width = self.observation_space["observation"].shape[0], self.model_config["width"]
        self.body = torch.nn.Sequential(
            torch.nn.Linear(inputs, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()
        )
        self.actor, self.critic = torch.nn.Linear(width, int(self.action_space.n)), torch.nn.Linear(width, 1)

    def _forward(self, batch, **kwargs):
        shown = batch[Columns.OBS]
        embeddings = self.body(shown["observation"])
        scores = self.actor(embeddings).masked_fill(shown["action_mask"] == 0, torch.finfo(torch.float32).min)
        return {Columns.ACTION_DIST_INPUTS: scores, Columns.EMBEDDINGS: embeddings}

    def compute_values(self, batch, embeddings=None):
        if embeddings is None:
            embeddings = self.body(batch[Columns.OBS]["observation"])
        return self.critic(embeddings).squeeze(-1)


def policy_of(module):
    """The module as a function of infostates and masks, for `dancfr.policy_agent`."""

    def policy(infostates, legal):
        shown = {"observation": torch.from_numpy(infostates), "action_mask": torch.from_numpy(legal)}
        scores = module.forward_inference({Columns.OBS: shown})[Columns.ACTION_DIST_INPUTS]
        return scores.softmax(dim=1).numpy()

    return policy


def configuration():
    """PPO whose one module plays both seats of `GAME`, in this process alone."""
    register_env(GAME, lambda options: PettingZooEnv(dancfr.make_game(GAME).env()))
    return (
        PPOConfig()
        .environment(GAME, disable_env_checking=True)  # the check draws actions without looking at the mask
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16, episodes_to_numpy=False)
        .learners(num_learners=0)
        .multi_agent(policies={"both"}, policy_mapping_fn=lambda agent, episode: "both")
        .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedNet, model_config={"width": 128}))
        .training(
            lr=1e-3, gamma=1.0, entropy_coeff=0.1, train_batch_size=4000, minibatch_size=512, num_epochs=4,
            vf_loss_coeff=0.02, vf_clip_param=200.0,  # returns are chips, from -13 to 13
        )
        .debugging(seed=1)
    )  # fmt: skip


def main():
    logging.getLogger("ray").setLevel(logging.ERROR)
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    algorithm = configuration().build_algo()
    agent = dancfr.policy_agent(policy_of(algorithm.get_module("both")), GAME, name="rllib-ppo")
    print(f"before: NashConv {dancfr.exploitability(agent, GAME).nash_conv:.3f} chips")
    for iteration in range(1, ITERATIONS + 1):
        algorithm.train()
        if iteration % 4 == 0:
            found = dancfr.exploitability(agent, GAME)
            print(f"after {iteration * 4000:,} decisions: NashConv {found.nash_conv:.3f} chips", flush=True)
    print(dancfr.play(agent, against="pretrained:leduc", game=GAME, games=10_000, seed=1))
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
