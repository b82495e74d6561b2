"""`dancfr export`: the nets of an agent as ONNX, for programs without this package."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.by_name import game_of, game_options_of, make_agent
from dancfr.agents.folders import new_folder
from dancfr.errors import RunError, UsageError, naming_extras
from dancfr.games.registry import make_game
from dancfr.runs.folder import write_json
from envs.game import Game, numbered
from envs.players import choose_uniform
from learners.networks.settings import Weights
from learners.policy_gradient.agent import PolicyAgent, SeatedAgents
from learners.policy_gradient.mixture import PolicyMixture

ABOUT = "agent.json"
CHECKED = 16
"""Games of random play whose infostates the exported nets are checked on."""
CLOSE = 1e-5
"""Largest difference of a probability, and of a value in units of the largest return, from our own inference."""


def export(agent: str, folder: Path) -> dict[str, Any]:
    """Writes each policy net of an agent as an ONNX graph (`learners.networks.onnx_graph.policy_graph`), and `ABOUT`,
    which names the game as the agent was trained on it, the encoding, and of a mixture the probability of each net.

    Every graph is computed by ONNX's reference implementation on infostates of random games, and compared with the
    agent's own policy.

    Args:
        agent: Name, see `dancfr.agents.by_name`.
        folder: Folder to write, new or empty.

    Returns:
        ``nets``, the files and their probabilities; ``difference``, the largest from the agent's own inference; and
        what `ABOUT` has.

    Raises:
        UsageError: the agent does not play by policy nets over numbered actions, the folder is not empty, or the
            package onnx is missing.
        RunError: the folder cannot be written, or a graph does not compute what the agent does.
    """
    with naming_extras():
        import onnx
        from onnx.reference import ReferenceEvaluator

        from learners.networks.onnx_graph import policy_graph

    name = game_of((agent,), None)
    options = game_options_of(agent, name)
    rules = make_game(name, **options)
    parts = _parts(agent, make_agent(agent, rules))
    game, network = numbered(rules), parts[0].policy.network
    packed, legal, players = random_infostates(game, CHECKED)
    x = game.encode(packed, network.encoding)
    slots = game.output_slots(packed, network.outputs).astype(np.int64)
    shape, unit = game.spec.shapes[network.encoding], game.spec.max_return
    written, difference = [], 0.0
    with new_folder(folder) as aside:
        for number, part in enumerate(parts):
            model = policy_graph(network, part.weights, shape, legal.shape[1], slots.shape[2], unit)
            at = np.ones(len(x), bool) if part.player is None else players == part.player
            given = {"x": x[at], "slots": slots[at], "legal": legal[at]}
            found: Any = ReferenceEvaluator(model).run(None, given)
            policy, values = part.policy.evaluate(packed[at], legal[at], players[at])
            difference = max(
                difference, float(np.abs(found[0] - policy).max()), float(np.abs(found[1] - values).max()) / unit
            )
            file = f"net{number}.onnx"
            onnx.save(model, str(aside / file))
            written.append({"file": file, "player": part.player, "probability": part.probability})
        if difference > CLOSE:
            raise RunError(f"{agent}: an exported net differs from the agent by {difference:.2g}: nothing was written")
        about = {
            "agent": agent,
            "game": name,
            "game_options": options,
            "encoding": network.encoding,
            "shape": list(shape),
            "outputs": network.outputs,
            "actions": legal.shape[1],
            "threshold": parts[0].policy.threshold,
            "nets": written,
        }
        write_json(aside / ABOUT, about)
    return {"folder": str(folder), "difference": difference, "infostates": len(x), **about}


@dataclass(frozen=True)
class _Part:
    """A net of an agent: of one player, or of all if `player` is None; and how often it is drawn."""

    policy: PolicyAgent
    weights: Weights
    player: int | None
    probability: float


def _parts(name: str, agent: object) -> list[_Part]:
    """Returns the nets of an agent.

    Raises:
        UsageError: it does not play by policy nets.
    """
    policies: list[tuple[Any, int | None, float]] = [(agent, None, 1.0)]
    if isinstance(agent, PolicyMixture):
        policies = [(each, None, float(p)) for each, p in zip(agent.agents, agent.probability, strict=True)]
    elif isinstance(agent, SeatedAgents):
        policies = [(each, player, 1.0) for player, each in enumerate(agent.agents)]
    if not all(isinstance(policy, PolicyAgent) for policy, _, _ in policies):
        raise UsageError(
            f"{name} does not play by policy nets over numbered actions: dancfr export takes runs of policy-gradient "
            "and best-response, and what they have been packed into"
        )
    return [
        _Part(policy, weights, player if seat is None and len(policy.weights) > 1 else seat, probability)
        for policy, seat, probability in policies
        for player, weights in enumerate(policy.weights)
    ]


def random_infostates(game: Game, games: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.int8]]:
    """Returns the infostates of all decisions of random games, `uint8[B, P]`, their legal actions and their players."""
    rng = np.random.default_rng(0)
    states = game.reset(games, rng)
    found = []
    while len(going := np.flatnonzero(~game.finished(states))):
        states = states[going]
        legal, mover = game.legal(states), game.to_move(states)
        found.append((game.observe(states, mover), legal, mover))
        game.step(states, choose_uniform(legal, rng.random(len(states), dtype=np.float32)), rng)
    packed, legal, players = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return packed, legal, players
