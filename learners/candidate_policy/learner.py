"""The learner of a policy over proposed choices: PPO's clipped objective, with a critic that sees everything (DanZero+,
Zhao et al. 2023).

`B` rows of a minibatch with `N` proposals in all, `F` features of a state.
"""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from learners.candidate_policy.network import PolicyWithCritic
from learners.candidate_policy.settings import CandidatePolicyTrainingSettings
from learners.listed.decisions import Notes, encode_full
from learners.listed.learner import ListedLearner
from learners.ppo import ppo_loss
from learners.samples import unpack_actions

_TALLIES = ("policy_loss", "value_loss", "entropy", "clipped", "divergence")


class CandidatePolicyLearner(ListedLearner[CandidatePolicyTrainingSettings]):
    """A Q-network whose values are the logits of a policy, and a critic, with their training."""

    def build(self) -> nn.Module:
        return PolicyWithCritic(self.network, self.training, self.game.spec, self.full.full_inputs)

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `choice_dtype` rows, minibatch by minibatch. Advantages are divided by their root mean
        square over the minibatch.

        Returns:
            ``rows``, the number of rows trained on, and means over these rows: ``loss``; ``policy_loss``, see
            `ppo_loss`; ``value_loss``, the squared error of the critic; ``entropy``, in nats; ``clipped``, the share of
            rows without gradient of the policy; ``divergence``, KL(policy that played, policy), estimated; ``age``, the
            age of the actors' weights in iterations, and ``age_updates``, their age in updates of the weights;
            ``dropped``, the share of rows older than `max_age`, which have no gradient; and ``explained``, the share of
            the variance of the critic's targets that it explains.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        trainer, training = self.trainer, self.training
        trainer.begin_fit()
        trainer.set_learning_rate(training.at("learning_rate", iteration))
        tallies = torch.zeros(len(_TALLIES), dtype=torch.float64, device=trainer.device)
        rows, dropped, age, moments = 0, 0, 0.0, np.zeros(2)
        for part, weight in trainer.parts(blocks):
            fresh = part["version"] >= iteration - (training.max_age or iteration)
            trainer.step(self._pieces(part, fresh, iteration, tallies), weight)
            dropped += len(part) - int(fresh.sum())
            age += iteration * len(part) - part["version"].sum(dtype=np.float64)
            value = part["value"].astype(np.float64)
            moments += value.sum(), np.square(value).sum()
            rows += len(part)
        sums = trainer.ranks.sum(torch.cat([tallies, tallies.new_tensor([rows, dropped, age, *moments])])).tolist()
        count = max(sums[-5], 1)
        means = dict(zip(_TALLIES, (total / count for total in sums[:-5]), strict=True))
        variance = sums[-1] / count - (sums[-2] / count) ** 2
        loss = means["policy_loss"] + training.value_weight * means["value_loss"]
        trainer.check_loss(loss, "lower it")
        return {
            "rows": int(sums[-5]),
            "loss": loss,
            **means,
            "explained": 1 - means["value_loss"] / variance if variance > 0 else 0.0,
            "age": sums[-3] / count,
            "age_updates": sums[-3] / count * training.minibatches,
            "dropped": sums[-4] / count,
        }

    def _pieces(
        self, part: NDArray[np.void], fresh: NDArray[np.bool_], iteration: int, tallies: Tensor
    ) -> list[Callable[[], Tensor]]:
        """Returns functions that compute the summands of a minibatch's loss and add to the tallies."""
        square = self.trainer.ranks.mean(torch.from_numpy(np.square(part["advantage"], dtype=np.float64)))
        scale = 1 / max(float(square) ** 0.5, 1e-6)
        starts = range(0, len(part), self._rows)
        slices = [slice(start, start + self._rows) for start in starts]
        return [partial(self._loss, part[s], fresh[s], scale, len(part), iteration, tallies) for s in slices]

    def _loss(
        self,
        piece: NDArray[np.void],
        fresh: NDArray[np.bool_],
        scale: float,
        rows: int,
        iteration: int,
        tallies: Tensor,
    ) -> Tensor:
        """Computes the summand of some rows in the loss of a minibatch of `rows` rows."""
        trainer, training = self.trainer, self.training
        count = piece["count"].astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(count)])
        owner = np.repeat(np.arange(len(piece)), count)
        with trainer.autocast():
            logits, values = trainer.model(*self._inputs(piece, offsets, owner))
        owners = trainer.tensor(owner)
        logs = log_softmax(logits.float(), owners, len(piece))
        chosen = trainer.tensor(offsets[:-1] + piece["action"])
        played, advantage, target = (
            trainer.tensor(np.ascontiguousarray(piece[name])) for name in ("log_probability", "advantage", "value")
        )
        moved = logs[chosen] - played
        policy_loss, clipped = ppo_loss(moved, advantage * scale, training.ratio_clip)
        value_loss = (values.float() - target).square()
        entropy = -torch.zeros_like(target).index_add(0, owners, logs.exp() * logs)
        loss = policy_loss + training.value_weight * value_loss - training.at("entropy", iteration) * entropy
        with torch.no_grad():
            divergence = moved.exp() - 1 - moved
            sums = policy_loss, value_loss, entropy, clipped, divergence
            tallies += torch.stack([one.detach().double().sum() for one in sums])
        found: Tensor = loss.mul(trainer.tensor(fresh)).sum() / rows
        return found

    def _inputs(self, piece: NDArray[np.void], offsets: NDArray[np.int64], owner: NDArray[np.int64]) -> list[Tensor]:
        """Returns the input of the net: states, owner and features of each proposal, and the critic's input."""
        tensor, game = self.trainer.tensor, self.game
        packed = np.ascontiguousarray(piece["infostate"])
        listed = np.arange(piece["choices"].shape[1]) < piece["count"][:, None]
        actions = unpack_actions(piece["choices"][listed], game.action_dtype)
        notes = Notes(np.ascontiguousarray(piece["state_notes"]), piece["choice_notes"][listed])
        states, (place, value) = self._encode(packed, offsets, actions, notes)
        vectors = torch.zeros(len(actions), self.trainer.net.q.action_inputs, device=self.trainer.device)
        vectors.scatter_add_(1, tensor(place).long(), tensor(value))
        full = encode_full(self.full, packed, np.ascontiguousarray(piece["hidden"]), notes.states)
        return [tensor(states), tensor(owner), vectors, tensor(full)]


def log_softmax(logits: Tensor, owner: Tensor, lists: int) -> Tensor:
    """Logarithms of the policies over several lists, `[N]`.

    Args:
        logits: `[N]`.
        owner: The list of each logit, `int64[N]`.
        lists: Number of lists; none is empty.
    """
    highest = logits.new_full((lists,), -torch.inf).scatter_reduce(0, owner, logits.detach(), "amax")
    moved = logits - highest[owner]
    return moved - torch.zeros_like(highest).index_add(0, owner, moved.exp()).log()[owner]
