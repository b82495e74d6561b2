"""The strength that presets have to reach after a fixed number of iterations with a fixed seed.

Each bound is the lower end of the 95 % interval of a measured run, named beside it, with as many games. A training is a
function of its seed and iterations, but not to the last bit on every processor, so another one may end at a slightly
different strength. Opponents marked `chosen by` were watched while the settings of the preset were chosen: they show
whether it still learns, not how strong it is.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """A win rate that a preset must not fall below.

    Attributes:
        opponent: Name of the opponent.
        percent: The bound, in percent of games.
        source: Where the measured run is stated, and its figure.
        chosen_by: Whether the settings of the preset were chosen by games against this opponent.
    """

    opponent: str
    percent: float
    source: str
    chosen_by: bool


@dataclass(frozen=True)
class Case:
    """A preset to train, and the bounds of its win rates.

    Attributes:
        preset: Name of the preset.
        iterations: Iterations of the training.
        game: Name of the game.
        games: Games against each opponent.
        seed: Seed of these games.
        bounds: One for each opponent.
        training_seed: Seed of the training.
    """

    preset: str
    iterations: int
    game: str
    games: int
    seed: int
    bounds: tuple[Bound, ...]
    training_seed: int = 1


_DREAM = "docs/results/dream-on-geister.md, By exploitability, first row"
_LIMITED = "docs/results/belief-search.md, Results"
_GUANDAN = "docs/results/danzero-on-guandan.md, How strong its agents are"
_CHEAT = "docs/results/cheat.md, Larger decks"

CASES = (
    Case(
        "geister-quick",
        120,
        "geister",
        600,
        1,
        (
            Bound("pretrained:geister-response", 52.2, f"{_DREAM}: 56.2", chosen_by=False),
            Bound("pretrained:geister-own-view", 15.3, f"{_DREAM}: 18.2", chosen_by=False),
            Bound("rush", 96.9, f"{_DREAM}: 98.3", chosen_by=True),
        ),
    ),
    Case(
        "guandan-quick",
        800,
        "guandan",
        2000,
        11,
        (
            Bound("greedy", 95.6, f"{_GUANDAN}: 96.5 [95.6, 97.2]", chosen_by=True),
            Bound("planner", 50.1, f"{_GUANDAN}: 52.3 [50.1, 54.4]", chosen_by=True),
        ),
    ),
    Case(
        "geister-belief-search-quick",
        216,
        "geister",
        1000,
        1,
        (
            Bound("heuristic", 92.2, f"{_LIMITED}: 93.9 [92.2, 95.2]", chosen_by=True),
            Bound("rush", 94.1, f"{_LIMITED}: 95.6 [94.1, 96.7]", chosen_by=True),
        ),
    ),
    Case(
        "cheat-dream-5x3",
        97,
        "cheat",
        1000,
        1,
        (
            Bound("random", 97.2, f"{_CHEAT}: 98.2 [97.2, 98.9]", chosen_by=True),
            Bound("heuristic", 81.1, f"{_CHEAT}: 83.5 [81.1, 85.7]", chosen_by=True),
        ),
    ),
)
