"""Optimisers that torch lacks."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


class TensorFlowRmsProp(torch.optim.Optimizer):
    """RMSProp as `tf.compat.v1.train.RMSPropOptimizer` of TensorFlow 1.15 computes it, without momentum.

    With m the running mean of a weight's squared gradient g, an update is

        m <- decay * m + (1 - decay) * g^2,    w <- w - lr * g / sqrt(m + eps).

    m starts at 1, and eps is under the root. `torch.optim.RMSprop` starts m at 0, adds eps to the root and has a decay
    of 0.99: there, the first updates are of up to 10 * lr a weight, however small the gradients. Here they are of
    lr * g, and gradients far below sqrt(eps) never have more than lr * g / sqrt(eps).

    Args:
        parameters: Weights to train.
        lr: Learning rate.
        eps: Term that is added to m under the root.
        decay: Share of m that an update keeps.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, eps: float, decay: float = 0.9) -> None:
        super().__init__(parameters, {"lr": lr, "eps": eps, "decay": decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Updates the weights by their gradients. A closure is refused, as nothing here evaluates a loss again."""
        if closure is not None:
            raise ValueError("TensorFlowRmsProp takes no closure")
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            if not weights:
                continue
            gradients = [weight.grad for weight in weights]
            squares = [self._square(weight) for weight in weights]
            torch._foreach_mul_(squares, group["decay"])
            torch._foreach_addcmul_(squares, gradients, gradients, value=1 - group["decay"])
            roots = torch._foreach_add(squares, group["eps"])
            torch._foreach_sqrt_(roots)
            torch._foreach_addcdiv_(weights, gradients, roots, value=-group["lr"])

    def _square(self, weight: nn.Parameter) -> Tensor:
        """Returns the running mean of the weight's squared gradient."""
        state = self.state[weight]
        if "square_avg" not in state:
            state["square_avg"] = torch.ones_like(weight, memory_format=torch.preserve_format)
        square: Tensor = state["square_avg"]
        return square
