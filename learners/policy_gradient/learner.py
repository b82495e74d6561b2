"""The learner of a policy gradient: PPO with an entropy bonus, a magnet, and a price of the secrets that play shows.

`B` rows of a minibatch, `A` actions.
"""

import copy
import math
from collections.abc import Iterable
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from envs.capabilities import DisguisedGame
from envs.game import Game, Packed
from learners.networks.inference import encoder
from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.critic import split_views
from learners.policy_gradient.network import policy_net
from learners.policy_gradient.outputs import slots_and_needed
from learners.policy_gradient.settings import PolicyTrainingSettings
from learners.ppo import ppo_loss
from learners.samples import unpack_mask
from learners.storage import ForeignState, arrays_under
from learners.training import NetLearner, Trainer

_TALLIES = ("policy_loss", "value_loss", "entropy", "clipped", "divergence", "magnet", "shown", "critic_loss")

_ILLEGAL = -1e9
_DISGUISES = 1
"""Last word of the seed of the disguises."""


class PolicyLearner(NetLearner):
    """A policy net with its training and its magnet.

    Args:
        game: Unpacks and encodes infostates.
        network: The architecture.
        training: Optimiser, minibatches, and so on.
        device: Where to train; the CPU by default.
        seed: Seed of the initial weights.
        start: Weights to begin with, from `ValueNet.inference_weights`; None: fresh ones.

    Raises:
        ValueError: the game lacks what the network needs, or `start` is of another network.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        training: PolicyTrainingSettings,
        *,
        device: torch.device | None = None,
        seed: int = 0,
        start: Weights | None = None,
    ) -> None:
        self.game, self.network, self.training, self.seed = game, network, training, seed
        self._encode = encoder(game, network)
        self._critic = training.critic == "all"
        build = partial(policy_net, network, game.spec, self._critic)
        self.trainer = Trainer(build, training, device or torch.device("cpu"), seed)
        if start is not None:
            self.trainer.start_from(start)
        self._spread: float | None = None  # root mean square of the values that the first fit learned
        self._magnet: nn.Module | None = None
        if training.magnet:
            self._magnet = copy.deepcopy(self.trainer.net).requires_grad_(False)

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `trajectory_dtype` rows, minibatch by minibatch; see `ppo_loss`.

        Returns:
            Means over the ``rows`` trained on: ``loss``; ``policy_loss``; ``value_loss``, the squared error of the
            values; ``entropy``, in nats; ``clipped``, the share of rows without gradient of the policy;
            ``divergence``, KL(policy that played, policy), estimated; ``magnet``, KL(policy, magnet); ``shown``,
            KL(policy, mean policy over what the player might hold), if it has a weight; ``age``, how many
            iterations before this one the weights were sent that played; ``explained``, the share of the targets'
            variance that the values explain; with a critic, ``critic_loss`` and ``critic_explained``, the same of it.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        trainer, training = self.trainer, self.training
        trainer.set_learning_rate(training.at("learning_rate", iteration, trainer.done))
        trainer.begin_fit()
        tallies = torch.zeros(len(_TALLIES), dtype=torch.float64, device=trainer.device)
        rows, age, moments = 0, 0.0, np.zeros(2)
        rng = np.random.default_rng((self.seed, iteration, trainer.ranks.rank, _DISGUISES))
        for part, weight in trainer.parts(blocks):
            trainer.step([partial(self._loss, part, iteration, tallies, rng)], weight)
            age += iteration * len(part) - part["version"].sum(dtype=np.float64)
            target = part["target"].astype(np.float64)
            moments += target.sum(), np.square(target).sum()
            rows += len(part)
        if self._magnet is not None:
            self._pull(self._magnet)
        sums = trainer.ranks.sum(torch.cat([tallies, tallies.new_tensor([rows, age, *moments])])).tolist()
        count = max(sums[-4], 1)
        square = sums[-1] / count
        if self._spread is None and sums[-4]:  # an iteration may have no samples
            self._spread = math.sqrt(square)
        means = dict(zip(_TALLIES, (total / count for total in sums[:-4]), strict=True))
        variance = square - (sums[-2] / count) ** 2
        loss = means["policy_loss"] + training.value_weight * means["value_loss"]
        trainer.check_loss(loss, "lower it")
        explained = {"explained": means["value_loss"], "critic_explained": means["critic_loss"]}
        means |= {name: 1 - error / variance if variance > 0 else 0.0 for name, error in explained.items()}
        if not self._critic:
            del means["critic_loss"], means["critic_explained"]
        if not training.hide:
            del means["shown"]
        return {"rows": int(sums[-4]), "loss": loss, **means, "age": sums[-3] / count}

    def _loss(self, part: NDArray[np.void], iteration: int, tallies: Tensor, rng: np.random.Generator) -> Tensor:
        """Loss of a minibatch, the mean over its rows; adds to the tallies."""
        trainer, training = self.trainer, self.training
        packed = np.ascontiguousarray(part["infostate"])
        legal = unpack_mask(np.ascontiguousarray(part["legal"]), self.game.spec.num_actions)
        others, to = part["others"] if self._critic else None, trainer.tensor
        inputs = self._inputs(packed, legal, others)
        with trainer.autocast():
            outputs = trainer.model(*inputs).float()
        allowed = to(legal)
        actions = self.game.spec.num_actions
        logs, values = log_policy(outputs[:, :actions], allowed), outputs[:, actions]
        action, advantage, target, played = (
            to(np.ascontiguousarray(part[name])) for name in ("action", "advantage", "target", "log_probability")
        )
        if training.normalise:
            advantage = advantage / trainer.ranks.mean(advantage.square()).sqrt().clamp(min=1e-6)
        moved = logs.gather(1, action.long()[:, None])[:, 0] - played
        policy_loss, clipped = ppo_loss(moved, advantage, training.ratio_clip)
        value_loss = (values - target).square()
        probabilities = logs.exp()
        entropy = -(probabilities * logs).sum(1)
        loss = policy_loss + training.value_weight * value_loss - self._temperature("entropy", iteration) * entropy
        pull = torch.zeros_like(entropy)
        if self._magnet is not None:
            with torch.no_grad():
                anchor = log_policy(self._magnet(*inputs).float()[:, :actions], allowed)
            pull = (probabilities * (logs - anchor)).sum(1)
            loss = loss + self._temperature("magnet", iteration) * pull
        shown = torch.zeros_like(entropy)
        if training.hide:
            mean = self._mean_policy(packed, legal, others, probabilities.detach(), rng)
            shown = (probabilities * (logs - mean.clamp(min=1e-12).log())).sum(1)
            loss = loss + self._temperature("hide", iteration) * shown
        critic_loss = torch.zeros_like(entropy)
        if self._critic:
            critic_loss = (outputs[:, actions + 1] - target).square()
            loss = loss + training.value_weight * critic_loss
        with torch.no_grad():
            divergence = moved.exp() - 1 - moved
            sums = policy_loss, value_loss, entropy, clipped, divergence, pull, shown, critic_loss
            tallies += torch.stack([one.detach().double().sum() for one in sums])
        found: Tensor = loss.mean()
        return found

    def _temperature(self, name: Literal["entropy", "magnet", "hide"], iteration: int) -> float:
        """A scheduled weight in units of the largest return, the unit of values."""
        unit = 1.0 if self.training.unit == "largest" or self._spread is None else self._spread
        return unit * self.training.at(name, iteration, self.trainer.done)

    def _inputs(self, packed: Packed, legal: NDArray[np.bool_], others: NDArray[np.uint8] | None) -> tuple[Any, ...]:
        """Returns the inputs of the net for infostates, `uint8[B, P]`, and for a critic those of the other players."""
        slots, needed = slots_and_needed(self.game, self.network, packed, legal)
        seen = [packed] if others is None else split_views(packed, others)
        net, to = self.trainer.net, self.trainer.tensor
        return net.tensors([self._encode(view) for view in seen]), to(slots), to(needed)

    def _mean_policy(
        self, packed: Packed, legal: NDArray[np.bool_], others: NDArray[np.uint8] | None, own: Tensor,
        rng: np.random.Generator,
    ) -> Tensor:  # fmt: skip
        """Returns the mean of the policy `own` and of those with other secrets of the player, `[B, A]`.

        It is a constant: the gradient of the divergence from it then is that of the information between secrets and
        actions. Actions are those that are legal with the player's secrets.
        """
        assert isinstance(self.game, DisguisedGame)
        allowed, total, net = self.trainer.tensor(legal), own, self.trainer.net
        net.eval()  # the running moments of a normalisation are those of what was played
        for _ in range(self.training.disguises):
            inputs = self._inputs(self.game.disguise(packed, rng), legal, others)
            with torch.no_grad(), self.trainer.autocast():
                outputs = net(*inputs).float()
            total = total + log_policy(outputs[:, : legal.shape[1]], allowed).exp()
        net.train()
        return total / (1 + self.training.disguises)

    def _pull(self, magnet: nn.Module) -> None:
        """Moves the magnet towards the newest weights."""
        with torch.no_grad():
            for held, new in zip(magnet.parameters(), self.trainer.net.parameters(), strict=True):
                held.lerp_(new, self.training.magnet_rate)

    def state_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """For a checkpoint: net, optimiser, spread and magnet."""
        arrays, meta = super().state_arrays()
        meta["spread"] = self._spread
        if self._magnet is not None:
            state = self._magnet.state_dict()
            arrays |= {f"magnet.{name}": value.cpu().numpy().copy() for name, value in state.items()}
        return arrays, meta

    def load_state_arrays(self, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
        """From a checkpoint.

        Raises:
            ForeignState: the arrays are of another network, or lack the magnet.
        """
        super().load_state_arrays(arrays, meta)
        self._spread = meta.get("spread")  # a checkpoint of version 0.3 has none
        if self._magnet is not None:
            saved = {name: torch.from_numpy(np.array(a)) for name, a in arrays_under(arrays, "magnet").items()}
            if saved.keys() != self._magnet.state_dict().keys():
                raise ForeignState("the saved state has no magnet: it was trained with training.magnet=0")
            self._magnet.load_state_dict(saved)


def log_policy(logits: Tensor, legal: Tensor) -> Tensor:
    """Logarithms of the policy, `[B, A]`; a large negative number, whose exponential is 0, where not legal."""
    return torch.log_softmax(logits.masked_fill(~legal, _ILLEGAL), dim=1)
