"""Tries the parts of this program on a game of OpenSpiel, step by step, in a process of its own."""

import json
import os
import resource
import signal
import tempfile
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyspiel

import dancfr
from dancfr.errors import one_line
from dancfr.games.trees import make_tree
from envs.openspiel import OpenSpielGame
from learners.cfr.players_form import evaluate_form, exact_form
from learners.cfr.sequence_form import SequenceForm
from learners.cfr.solver import make_solver

MOST_NODES = 300_000
"""Nodes of a tree that is made here."""

GAMES = 4
"""Games of the match, and of the iteration of training."""

WAITED = 20
"""How many times its CPU time a step may take on a busy machine, or if it waits for something."""

Found = dict[str, Any]


def describe(name: str) -> Found:
    """Returns the type of a game, before it is loaded."""
    kind = next(each for each in pyspiel.registered_games() if each.short_name == name.partition("(")[0])
    return {
        "returns": _words(kind.utility),
        "moves": _words(kind.dynamics),
        "information": _words(kind.information),
    }


def adapt(name: str) -> Found:
    """Makes the game; returns its sizes and where infostates come from."""
    game = dancfr.make_game(f"openspiel:{name}")
    assert isinstance(game, OpenSpielGame)
    return {
        "players": game.spec.num_players,
        "actions": game.spec.num_actions,
        "returns": _words(game.spiel.get_type().utility),
        "inputs": game.inputs,
        "numbers": next(iter(game.spec.shapes.values()))[0],
        "infosets": "information states" if game.knowledge.stated else "observations and own actions",
    }


def play(name: str) -> Found:
    """Plays a match of two random agents."""
    match = dancfr.play("random", "random", f"openspiel:{name}", GAMES)
    return {"plies": round(match.result.mean_plies, 1)}


def train(name: str) -> Found:
    """Trains an iteration of policy gradients, and evaluates the nets in a match."""
    settings = {"games": GAMES, "chunk": GAMES, "iterations": 1, "evaluation.every": 1, "evaluation.games": 2}
    with tempfile.TemporaryDirectory() as folder:
        run = dancfr.train(
            "leduc-policy-gradient",
            {"game": f"openspiel:{name}", **settings},
            run_dir=Path(folder) / "run",
            inline=True,
            device="cpu",
            wandb="off",
            progress=False,
        )
        return {"trained": len(run.rows("evaluation")) > 0}


def grow(name: str) -> Found:
    """Makes the tree, and evaluates the uniform policy; solves the game if two players have a constant sum."""
    tree = make_tree(f"openspiel:{name}", {}, MOST_NODES, observations=False, general=True)
    form = exact_form(tree)
    found: Found = {"nodes": tree.num_nodes, "nash_conv": evaluate_form(form, tree.uniform()).nash_conv}
    if isinstance(form, SequenceForm):
        solver = make_solver(form, "cfr+")
        solver.run(10)
        found["solved"] = evaluate_form(form, solver.average_policy()).nash_conv
    return found


STEPS: dict[str, Callable[[str], Found]] = {
    "description": describe,
    "game": adapt,
    "match": play,
    "policy gradients": train,
    "tree": grow,
}
"""All steps, in order; after a failure of the first two there is nothing more to try."""


def probe(name: str, seconds: int) -> Found:
    """Tries a game in a process of its own, which is a fork of this one: everything is imported already.

    Args:
        name: The game, with parameters in OpenSpiel's syntax.
        seconds: CPU time after which the process is ended.

    Returns:
        What all steps found, the ``name``, and by step what failed, ``failed``. A crash and the end of the time are
        failures of the step that ran.
    """
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_try_all, args=(name, seconds, there))
    process.start()
    there.close()
    row: Found = {"name": name, "failed": {}}
    step = ""
    while here.poll(WAITED * seconds):
        try:
            found = json.loads(here.recv_bytes())
        except EOFError:
            break
        step = found.pop("step", step)
        row["failed"] |= found.pop("failed", {})
        row |= found
    process.kill()  # if it has not ended by itself
    process.join()
    code = process.exitcode or 0
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        row["failed"][step] = f"{step}: not done after {seconds} s"
    elif code:
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        row["failed"][step] = f"{step}: the process ends by {how}"
    row["failed"] = {key: _plainly(text, name) for key, text in row["failed"].items()}
    return row


def _try_all(name: str, seconds: int, out: Connection) -> None:
    """Tries all steps; sends the name of each, and then its result."""
    spent = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    resource.setrlimit(resource.RLIMIT_CPU, (spent + seconds, spent + seconds + 5))
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # lines of the training, and of OpenSpiel
        os.dup2(nothing, stream)
    for step, attempt in STEPS.items():
        out.send_bytes(json.dumps({"step": step}).encode())
        try:
            found = attempt(name)
        except Exception as error:  # whatever a game of OpenSpiel raises
            found = {"failed": {step: one_line(error)}}
        out.send_bytes(json.dumps(found).encode())
        if "failed" in found and step in ("description", "game"):
            return


def _plainly(text: str, name: str) -> str:
    """Returns an error without its class and the name of the game."""
    for start in ("UsageError: ", f"openspiel:{name}: ", f"openspiel:{name} ", f"OpenSpiel's {name} "):
        text = text.removeprefix(start)
    return text.partition(": choose smaller")[0]


def _words(kind: Any) -> str:
    return str(kind.name).lower().replace("_", "-")
