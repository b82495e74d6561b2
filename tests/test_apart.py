"""The device of `tests.apart` is as strict as a GPU."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

apart = pytest.importorskip("tests.apart", exc_type=ImportError)  # torch may be too old for it

WAITING = {
    "item": lambda x: x.sum().item(),
    "a copy to the host": lambda x: x.cpu(),
    "a mask": lambda x: x[x > 0],
    "positions": lambda x: x.nonzero(),
    "a condition": lambda x: bool((x > 0).all()),
    "a list": lambda x: x.tolist(),
}


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[torch.device]:
    with apart.device_apart(monkeypatch):
        yield torch.device(apart.NAME)


def test_it_computes(device: torch.device) -> None:
    net = torch.nn.Linear(3, 1).to(device)
    x = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]], device=device)
    optimiser = torch.optim.Adam(net.parameters(), fused=True)
    losses = []
    for _ in range(50):
        optimiser.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
    assert net.weight.device.type == net.weight.grad.device.type == apart.NAME
    y = torch.zeros(4, device=device)
    y[1:3] += 2  # through a view
    np.testing.assert_array_equal(y.cpu().numpy(), [0, 2, 2, 0])


def test_two_devices_do_not_mix(device: torch.device) -> None:
    x = torch.ones(3, device=device)
    for other in (torch.ones(3), torch.arange(3)):
        with pytest.raises(apart.TwoDevices):
            x + other
    with pytest.raises(apart.TwoDevices):
        x[torch.tensor([0, 2])]
    with pytest.raises(RuntimeError, match="numpy"):
        x.numpy()
    assert (x + torch.tensor(1.0)).device.type == apart.NAME  # a number may be on the host


@pytest.mark.parametrize("what", WAITING)
def test_what_waits_is_counted(what: str, device: torch.device) -> None:
    x = torch.ones(3, device=device)
    before = len(apart.waits())
    WAITING[what](x)
    assert len(apart.waits()) > before


def test_other_work_does_not_wait(device: torch.device) -> None:
    pinned = torch.ones(3).pin_memory()
    before = len(apart.waits())
    x = pinned.to(device, non_blocking=True)
    x = torch.zeros(3, device=device).scatter_add_(0, torch.arange(3, device=device), x)
    torch.where(x > 0, x, -x).sum().repeat(3)
    assert len(apart.waits()) == before
    torch.ones(3).to(device, non_blocking=True)  # not pinned
    assert len(apart.waits()) == before + 1
