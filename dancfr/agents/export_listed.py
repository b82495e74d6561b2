"""Exports Q-nets over listed actions, such as those of GuanDan."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from dancfr.agents.export_result import Written
from envs.game import ListedGame
from envs.ragged import choose_rows
from learners.listed.agent import QAgent
from learners.listed.decisions import net_inputs
from learners.networks.onnx_q_graph import q_graph

TABLES, CHECKED = 16, 1000
"""Games of random play side by side, and the decisions in them, at least, at which an exported net is checked."""


def write_net(folder: Path, agent: QAgent, game: ListedGame) -> Written:
    """Writes the net of an agent, and compares its values with the agent's at decisions of random games."""
    network, encoding = agent.network, agent.network.encoding_of(game.spec)
    model = q_graph(network, agent.weights)
    onnx.save(model, str(folder / "net0.onnx"))
    evaluator, rng = ReferenceEvaluator(model), np.random.default_rng(0)
    states, differences, seen = game.reset(TABLES, rng), [0.0], 0
    agent.begin(game, TABLES, rng)
    while len(states) and seen < CHECKED:
        _, asked, lists, values = agent.decide(states)
        if len(asked):
            found: Any = evaluator.run(None, net_inputs(game, encoding, states[asked], lists))
            differences.append(float(np.abs(found[0] - values).max()) / game.spec.max_return)
        seen += len(asked)
        legal = game.legal(states)
        game.step(states, legal.rows[choose_rows(legal.offsets, rng.random(len(states)))])
        states = states[~game.finished(states)]
    inputs, choice_inputs = network.inputs(game.spec)
    about = {
        "encoding": encoding,
        "shape": [inputs],
        "choice_inputs": choice_inputs,
        "choices": network.choices,
        "scripted": not agent.learn_scripted,
        "values_are": agent.outputs,
        "nets": [{"file": "net0.onnx", "player": None, "probability": 1.0}],
    }
    return Written(about, float(np.max(differences)), seen)
