"""The net that judges the hidden hands of GuanDan. `B` decisions."""

import torch
from torch import Tensor, nn

from envs.guandan.beliefs.evidence import SEAT_INPUTS, TABLE_INPUTS
from envs.guandan.beliefs.knowledge import OTHERS, PLACES
from envs.guandan.beliefs.placements import STEPS
from learners.networks.modules import linear_arrays
from learners.networks.settings import Weights


class HandsNet(nn.Module):
    """Scores of `placements` from the inputs of `evidence`.

    One layer, the same for all three, reads what a seat has shown; two layers read the three together with the table;
    and the scores of a seat follow from its own layer and these.

    Args:
        seat_width: Units of the first layer.
        width: Units of the two layers behind it.
    """

    def __init__(self, seat_width: int, width: int) -> None:
        super().__init__()
        self.seat = nn.Linear(SEAT_INPUTS, seat_width)
        self.table = nn.Linear(OTHERS * seat_width + TABLE_INPUTS, width)
        self.hidden = nn.Linear(width, width)
        self.out = nn.Linear(seat_width + width, PLACES * STEPS)
        with torch.no_grad():
            self.out.weight.mul_(0.1)
            self.out.bias.zero_()

    def forward(self, by_seat: Tensor, by_table: Tensor) -> Tensor:
        """Scores, `float32[B, 3, 16, STEPS]`.

        Args:
            by_seat: `float32[B, 3, SEAT_INPUTS]`.
            by_table: `float32[B, TABLE_INPUTS]`.
        """
        seats = torch.relu(self.seat(by_seat))
        x = torch.relu(self.table(torch.cat([seats.flatten(1), by_table], dim=1)))
        x = torch.relu(self.hidden(x)) + x
        both = torch.cat([seats, x[:, None].expand(-1, OTHERS, -1)], dim=2)
        scores: Tensor = self.out(both).unflatten(2, (PLACES, STEPS))
        return scores

    def inference_weights(self) -> Weights:
        """Arrays for `envs.guandan.beliefs.net.HandsBelief`."""
        found: Weights = {}
        for name in ("seat", "table", "hidden", "out"):
            found |= linear_arrays(name, getattr(self, name))
        return found
