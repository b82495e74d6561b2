"""`dancfr export`: the nets of an agent as ONNX, for programs without this package."""

from pathlib import Path
from typing import Any

from dancfr.agents.by_name import game_of, game_options_of, make_agent, parse_agent
from dancfr.agents.folders import new_folder
from dancfr.agents.hub.fetch import record_of_commits
from dancfr.agents.searching import split_search
from dancfr.errors import RunError, UsageError, naming_extras
from dancfr.games.registry import make_game
from dancfr.runs.folder import write_json
from envs.game import listed, numbered
from learners.listed.agent import QAgent

ABOUT = "agent.json"
CLOSE = 1e-5
"""Largest difference from our own inference: of a probability, and of other results in units of the largest return."""


def export(agent: str, folder: Path) -> dict[str, Any]:
    """Writes each net of an agent as an ONNX graph, and `ABOUT`, which names the game as the agent was trained on it,
    the encoding, and how the agent plays by the nets.

    Every graph is computed by ONNX's reference implementation at decisions of random games, and compared with the
    agent; over numbered actions, the play by all nets together is compared in games of the agent with itself, too. See
    `dancfr.agents.export_numbered` and `dancfr.agents.export_listed`.

    Args:
        agent: Name, see `dancfr.agents.by_name`.
        folder: Folder to write, new or empty.

    Returns:
        ``difference``, the largest from the agent; ``infostates``, the number of those compared; and what `ABOUT` has,
        which lists the files as ``nets``.

    Raises:
        UsageError: the agent does not play by nets that can be exported, the folder is not empty, or the package onnx
            is missing.
        RunError: the folder cannot be written, or a graph does not compute what the agent does.
    """
    with naming_extras():
        from dancfr.agents import export_listed, export_numbered

    if split_search(parse_agent(agent))[1] is not None:
        raise UsageError(f"{agent}: a search is not part of an agent's nets: leave out its options")
    name = game_of((agent,), None)
    options = game_options_of(agent, name)
    rules = make_game(name, **options)
    made = make_agent(agent, rules)
    with new_folder(folder) as aside:
        if isinstance(made, QAgent):
            found = export_listed.write_net(aside, made, listed(rules))
        else:
            found = export_numbered.write_nets(aside, agent, made, numbered(rules))
        if not found.difference <= CLOSE:  # nor nan
            raise RunError(
                f"{agent}: an exported net differs from the agent by {found.difference:.2g}: nothing was written"
            )
        about = {"agent": agent, **record_of_commits((agent,)), "game": name, "game_options": options, **found.about}
        write_json(aside / ABOUT, about)
    return {"folder": str(folder), "difference": found.difference, "infostates": found.infostates, **about}
