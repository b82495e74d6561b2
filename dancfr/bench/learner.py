"""The learners on real samples, beside a large matrix product."""

from typing import Any

import numpy as np

from actors.traversal import DreamTraverser, TraversalTask, TraversalWeights
from dancfr.bench.timing import matrix_flops, noise, rate, result, seconds_each
from dancfr.presets import PRESETS
from envs.geister import Geister
from learners.dream.advantage import AdvantageLearner
from learners.dream.baseline import BaselineLearner
from learners.networks.modules import ValueNet

BATCHES = 4


def measure(seconds: float) -> dict[str, Any]:
    """Rows/s of an advantage fit with the paper's net and batch; `geister-quick` and the baselines in the detail.

    The limit turns the FLOP/s of a large float32 matrix product into rows/s: three times the multiplications of a
    forward pass a row, two operations each.
    """
    paper, quick = _measure("geister-dream", seconds / 2), _measure("geister-quick", seconds / 2)
    return result(
        "dream-learner",
        paper["advantage_rows_per_second"],
        "rows/s",
        paper["limit_rows_per_second"],
        paper["advantage_rows_per_second"] / paper["limit_rows_per_second"],
        {"limit": "FLOP/s of a 1024x1024 matrix product", "paper": paper, "quick": quick},
    )


def _measure(preset: str, seconds: float) -> dict[str, Any]:
    config: Any = PRESETS[preset].config
    game = Geister()
    traverser = DreamTraverser(game, config.network, config.baseline_network, config.sampling)
    _, block = traverser.traverse(TraversalTask((1,), 1, 0, 512), TraversalWeights(0, (None, None), None))
    batch = config.advantage_training.batch
    rng = np.random.default_rng(1)
    rows = {part: records[rng.integers(0, len(records), BATCHES * batch)] for part, records in block.items()}
    advantage = AdvantageLearner(game, config.network, config.advantage_training)
    baseline = BaselineLearner(game, config.baseline_network, config.baseline_training)
    times = seconds_each(
        {
            "advantage": lambda: advantage.fit([rows["advantages"]], 1),
            "baseline": lambda: baseline.fit([rows["transitions"]], 1),
            "product": matrix_flops(),
        },
        seconds / 3,
    )
    multiplications = multiplications_a_row(ValueNet(config.network, game.spec))
    flops = rate(2 * 1024**3, times["product"])
    speed = rate(BATCHES * batch, times["advantage"])
    return {
        "batch": batch,
        "advantage_rows_per_second": speed,
        "baseline_rows_per_second": rate(BATCHES * batch, times["baseline"]),
        "multiplications_a_row": multiplications,
        "flops": speed * 6 * multiplications,
        "limit_flops": flops,
        "limit_rows_per_second": flops / (6 * multiplications),
        "noise": noise(times["advantage"]),
    }


def multiplications_a_row(net: ValueNet) -> int:
    """Multiplications of one forward pass of one row; the patches of a trunk count for each position."""
    import torch

    total = 0

    def count(layer: Any, inputs: Any, _: Any) -> None:
        nonlocal total
        total += inputs[0].numel() // 2 * layer.out_features  # two rows go through

    hooks = [m.register_forward_hook(count) for m in net.modules() if isinstance(m, torch.nn.Linear)]
    shape = Geister().spec.shapes[net.settings.encoding]
    net(torch.zeros(1, 2, *shape))
    for hook in hooks:
        hook.remove()
    return total
