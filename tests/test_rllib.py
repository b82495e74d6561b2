"""RLlib itself trains the module of examples/rllib.py for a few iterations: it learns, plays legally, and is kept."""

from collections.abc import Iterator
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file

import dancfr

EXAMPLE = Path(__file__).parents[1] / "examples" / "rllib.py"
ITERATIONS = 4
"""Of 4,000 decisions each; the example itself has 16."""


def load(path: Path) -> ModuleType:
    """The example as a module, which starts nothing."""
    spec = util.spec_from_file_location("example_of_rllib", path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nash_conv(example: ModuleType, module: Any) -> float:
    agent = dancfr.policy_agent(example.policy_of(module), example.GAME)
    return dancfr.exploitability(agent, example.GAME).nash_conv


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load(EXAMPLE)


@pytest.fixture(scope="module")
def algorithm(example: ModuleType) -> Iterator[Any]:
    """PPO of the example before its first iteration, on the Ray of other tests of this process or one of its own."""
    import ray

    own = not ray.is_initialized()
    if own:
        ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    made = example.configuration().build_algo()
    try:
        yield made
    finally:
        made.stop()
        if own:
            ray.shutdown()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_rllib_learns_by_legal_actions_and_its_net_is_kept(example: ModuleType, algorithm: Any, tmp_path: Path) -> None:
    module = algorithm.get_module("both")
    before = nash_conv(example, module)
    results = [algorithm.train() for _ in range(ITERATIONS)]
    after = nash_conv(example, module)
    assert results[-1]["num_env_steps_sampled_lifetime"] >= 4000 * ITERATIONS
    assert after < before - 1, "an untrained net loses 4.9 chips to its best responses"

    decisions = 0
    for episode in algorithm.env_runner.sample(num_timesteps=2000, random_actions=False):
        for seat in episode.agent_episodes.values():
            actions = seat.get_actions()
            for shown, action in zip(seat.get_observations()[: len(actions)], actions, strict=True):
                assert shown["action_mask"][action]
                decisions += 1
    assert decisions >= 2000

    # RLlib's own checkpoints contain pickles, so a user of it keeps the arrays of the net instead.
    save_file(module.get_state(), tmp_path / "net.safetensors")
    spaces = {"observation_space": module.observation_space, "action_space": module.action_space}
    again = example.MaskedNet(**spaces, model_config=dict(module.model_config))
    assert nash_conv(example, again) > after + 1, "its weights are random"
    again.set_state(load_file(tmp_path / "net.safetensors"))
    assert nash_conv(example, again) == pytest.approx(after, abs=1e-5)
