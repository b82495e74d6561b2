"""The arguments of the Gymnasium environments: game, opponent, seat, encoding and render mode."""

from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

from dancfr.agents.by_name import agent_for
from dancfr.agents.given import AsAgent, as_agents
from dancfr.agents.match import rules_of_match
from dancfr.arguments import read
from dancfr.errors import UsageError
from dancfr.games.view import numbered_game, view_of
from envs.agent import Agent
from envs.game import Game, GameBase
from envs.pettingzoo_view import GameEnv

MOST_DEALS = 1000
"""Number of games in a row without a decision of the learner after which a reset gives up."""


class Arguments(NamedTuple):
    """The arguments of an environment, read.

    Attributes:
        name: Name of the game.
        game: Its rules.
        opponent: A copy of the agent that plays the other seats, for this environment alone.
        seat: Seat of the learner; None: drawn.
        view: The game's PettingZoo environment, which has encoding, spaces and pictures.
    """

    name: str
    game: Game
    opponent: Agent
    seat: int | None
    view: GameEnv


def read_arguments(
    game: str | GameBase,
    opponent: str | Agent | AsAgent,
    seat: int | None,
    encoding: str | None,
    render_mode: str | None,
    options: Mapping[str, Any],
) -> Arguments:
    """Reads the arguments of an environment.

    Args:
        game, opponent, seat, encoding, render_mode, options: See `dancfr.gym.environment.SingleAgentEnv`.

    Raises:
        UsageError: see there.
    """
    game = read(game, str | GameBase, "game")
    (rival,) = as_agents([read(opponent, str | Agent | AsAgent, "opponent")])
    name, rules, _ = rules_of_match(game, [rival], options)
    played = numbered_game(name, rules, "an environment of gymnasium numbers them")
    checked = _checked_seat(seat, played)
    copied = copy(agent_for(rival, played))
    view = view_of(played, read(encoding, str | None, "encoding"), render_mode)
    return Arguments(name, played, copied, checked, view)


def _checked_seat(seat: int | None, game: Game) -> int | None:
    found: int | None = read(seat, int | None, "seat")
    players = game.spec.num_players
    if found is not None and not 0 <= found < players:
        raise UsageError(f"seat must be from 0 to {players - 1} in {game.spec.name}, or None, got {found}")
    return found


__all__ = ["MOST_DEALS", "Arguments", "read_arguments"]
