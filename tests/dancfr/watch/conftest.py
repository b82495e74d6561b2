"""A stand-in of the server of W&B for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wandb_server import KEY, Server, serving


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    for name in ("WANDB_MODE", "WANDB_PROJECT", "WANDB_ENTITY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "wandb-home"))
    with serving() as stand_in:
        monkeypatch.setenv("WANDB_BASE_URL", stand_in.address)
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        yield stand_in
    assert not stand_in.unknown, "the client made calls that the stand-in does not know"
