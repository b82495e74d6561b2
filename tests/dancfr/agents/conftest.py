"""Fixtures of tests of agents: a stand-in of the Hugging Face hub."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dancfr.agents.hub.fetch import fetched
from tests.dancfr.agents.hub_server import TOKEN, HubServer


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub with an empty cache and a user who may write."""
    constants = pytest.importorskip("huggingface_hub.constants")
    from huggingface_hub import file_download

    server = HubServer()
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    for module in (constants, file_download):  # in old versions, the second one has the address under a name of its own
        place = f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(module, "HUGGINGFACE_CO_URL_TEMPLATE", place, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)  # old versions lack it
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    fetched.cache_clear()
    yield server
    fetched.cache_clear()
    server.stop()
