"""Configuration of chance-sampled CFR on Cheat: every key that `dancfr train PRESET key=value` knows."""

from typing import Any, Literal

from pydantic import Field

from dancfr.errors import UsageError
from dancfr.methods.curriculum import Curriculum
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, RunConfig
from envs.cheat import Cheat
from learners.cfr.cheat.keys import KeyForm
from learners.cfr.cheat.solver import CheatSolver, check_size


class CheatEvaluation(EvaluationSettings):
    """Evaluation along the run.

    Attributes:
        last: Evaluate the last strategy too, not only the average one.
        exploitability: Compute value and NashConv of these policies exactly, on the tree of the game.
    """

    every: int = Field(5, ge=0)
    opponents: tuple[str, ...] = ("random", "heuristic")
    last: bool = True
    exploitability: bool = False


class CheatCfrConfig(RunConfig):
    """Chance-sampled CFR on two-player Cheat (paper 001, 5): a deal an iteration, the whole tree below it.

    Attributes:
        agent: What infosets tell apart: ``memoryless``, ``hp-aware``, ``history-aware`` or ``general`` (4.2).
        cards: Cards abstraction (4.3).
        turns: History abstraction (4.3): the last so many turns count; 0 for all of them.
    """

    game: str = "mini-cheat"
    iterations: int = Field(100, ge=1)
    agent: Literal["memoryless", "hp-aware", "history-aware", "general"] = "general"
    cards: bool = False
    turns: int = Field(0, ge=0)
    evaluation: CheatEvaluation = CheatEvaluation()

    @property
    def keys(self) -> KeyForm:
        """What infosets tell apart."""
        return KeyForm(self.agent, self.cards, self.turns)

    def check(self) -> None:
        """Raises UsageError where the game, its stages, the keys and the opponents do not fit together."""
        from dancfr.games.registry import make_game

        if self.turns and self.agent in ("memoryless", "hp-aware"):
            raise UsageError(f"turns={self.turns} is for agents that know the history, not for agent={self.agent}")
        game: Any = make_game(self.game, **self.game_options)
        if not isinstance(game, Cheat):
            raise UsageError(f"this method is for Cheat, not for {self.game}: dancfr solve has others for any game")
        self.curriculum.check()
        if self.curriculum.option not in ("", "health"):
            raise UsageError(f"curriculum.option={self.curriculum.option}: here it is health that may grow")
        health = (*self.curriculum.values, game.health)
        if list(health) != sorted(health):
            raise UsageError(f"health must not fall along a curriculum: {', '.join(map(str, health))}")
        try:
            for value in health:
                CheatSolver(make_game(self.game, **{**self.game_options, "health": value}), self.keys)
            check_size(game)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.check_opponents(game)


def _describe(knowledge: str) -> str:
    return f"paper 001: chance-sampled CFR on Mini-Cheat with 3 health points, by infosets {knowledge}"


PRESETS = (
    Preset("cheat-memoryless", CheatCfrConfig(agent="memoryless"), _describe("that know hand, rank and claim")),
    Preset("cheat-hp-aware", CheatCfrConfig(agent="hp-aware"), _describe("that know health points, too")),
    Preset("cheat-history-aware", CheatCfrConfig(agent="history-aware"), _describe("that know all turns")),
    Preset("cheat-general", CheatCfrConfig(agent="general"), _describe("that know all of it")),
    Preset(
        "cheat-curriculum",
        CheatCfrConfig(
            game_options={"health": 5}, curriculum=Curriculum(option="health", values=(1, 2, 3, 4)), iterations=500
        ),
        "Ordered Abstraction of paper 001: Cheat-1 to Cheat-5, each from what was learnt before",
    ),
)
