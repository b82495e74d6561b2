"""Configuration and presets of chance-sampled CFR on Cheat."""

from typing import Literal

from pydantic import Field

from dancfr.errors import UsageError
from dancfr.methods.curriculum import Curriculum
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, RunConfig
from envs.cheat import Cheat
from learners.cheat_cfr.keys import KeyForm
from learners.cheat_cfr.solver import CheatSolver, check_size


class CheatEvaluation(EvaluationSettings):
    """Evaluation during training.

    Attributes:
        last: Evaluate the current strategy in addition to the average strategy.
        exploitability: Compute the exact value and NashConv of the evaluated strategies on the game tree.
    """

    every: int = Field(5, ge=0)
    opponents: tuple[str, ...] = ("random", "heuristic")
    last: bool = True
    exploitability: bool = False


class CheatCfrConfig(RunConfig):
    """Chance-sampled CFR on two-player Cheat (paper 001, 5): each iteration samples a deal and walks its whole tree.

    Attributes:
        agent: Information that defines an infoset: ``memoryless``, ``hp-aware``, ``history-aware`` or ``general``
            (paper 001, 4.2).
        cards: Use the Cards abstraction (4.3).
        turns: Number of most recent turns that an infoset distinguishes (History abstraction, 4.3); 0: all turns.
        claims: Claims of past turns that an infoset distinguishes: ``all`` or only the ``challenged`` ones; in both it
            distinguishes which turns were challenged.
        keep_sums: At the next game of a curriculum, keep the strategy sums, so that the average is over all games; the
            paper carries over regrets and the first strategy (4.1.1, step 3).
        copy_infosets: At the next game of a curriculum, let infosets with more health than before start with the
            numbers of those with the most health before; in the paper only infosets of both games are initialised.
    """

    game: str = "mini-cheat"
    iterations: int = Field(100, ge=1)
    agent: Literal["memoryless", "hp-aware", "history-aware", "general"] = "general"
    cards: bool = False
    turns: int = Field(0, ge=0)
    claims: Literal["all", "challenged"] = "all"
    keep_sums: bool = False
    copy_infosets: bool = False
    evaluation: CheatEvaluation = CheatEvaluation()

    @property
    def key_form(self) -> KeyForm:
        """Form of the infoset keys."""
        return KeyForm(self.agent, self.cards, self.turns, self.claims)

    def check(self) -> None:
        """Raises UsageError if the game, the curriculum, the infoset keys and the opponents are not compatible."""
        from dancfr.games.registry import make_game, make_game_as

        if self.agent in ("memoryless", "hp-aware"):
            for key, unused in (("turns", 0), ("claims", "all")):
                if (value := getattr(self, key)) != unused:
                    raise UsageError(
                        f"{key}={value} requires an agent with history, got agent={self.agent}: "
                        f"set agent=history-aware or agent=general, or leave out {key}"
                    )
        game = make_game(self.game, **self.game_options)
        if not isinstance(game, Cheat):
            raise UsageError(
                f"game must be cheat or mini-cheat for this method, got {self.game}: use dancfr solve for other games"
            )
        self.curriculum.check()
        if self.curriculum.option not in ("", "health"):
            raise UsageError(f"curriculum.option must be health for this method, got {self.curriculum.option}")
        health = (*self.curriculum.values, game.health)
        if list(health) != sorted(health):
            raise UsageError(f"curriculum.values: health must not decrease, got {', '.join(map(str, health))}")
        try:
            for value in health:
                CheatSolver(make_game_as(Cheat, self.game, **{**self.game_options, "health": value}), self.key_form)
            check_size(game)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.check_opponents(game)


def _describe(knowledge: str) -> str:
    return f"paper 001: chance-sampled CFR on Mini-Cheat with 3 health points, infosets {knowledge}"


PRESETS = (
    Preset("cheat-memoryless", CheatCfrConfig(agent="memoryless"), _describe("of hand, rank and claim")),
    Preset("cheat-hp-aware", CheatCfrConfig(agent="hp-aware"), _describe("of hand, rank, claim and health")),
    Preset(
        "cheat-history-aware", CheatCfrConfig(agent="history-aware"), _describe("of hand, rank, claim and all turns")
    ),
    Preset("cheat-general", CheatCfrConfig(agent="general"), _describe("of hand, rank, claim, health and all turns")),
    Preset(
        "cheat-curriculum",
        CheatCfrConfig(
            game_options={"health": 5},
            curriculum=Curriculum(option="health", values=(1, 2, 3, 4)),
            copy_infosets=True,  # without copies the paper's gain for General does not show
            iterations=500,
        ),
        "paper 001: Ordered Abstraction, Cheat-1 to Cheat-5, each initialised with the result of the previous one",
    ),
)
