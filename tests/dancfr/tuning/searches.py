"""Small searches on Kuhn poker, each training of which takes a second."""

from pathlib import Path

PRESET = "leduc-policy-gradient"
ITERATIONS = 6
SETTINGS = (
    "game=kuhn", f"iterations={ITERATIONS}", "games=128", "chunk=128", "evaluation.every=2", "evaluation.games=4",
    "evaluation.exploitability=true", "checkpoint_every=2",
)  # fmt: skip
SPACE = """
"training.learning_rate" = {low = 1e-4, high = 1e-2, log = true}
"network.width" = {choices = [16, 32]}
"""


def write_space(folder: Path, text: str = SPACE) -> str:
    """Writes a space file and returns its path."""
    path = folder / "space.toml"
    path.write_text(text)
    return str(path)


def arguments(folder: Path, *more: str, settings: tuple[str, ...] = SETTINGS) -> list[str]:
    """Arguments of a search in a folder, without --space and --trials."""
    return ["tune", PRESET, *settings, "--folder", str(folder), "--device", "cpu", *more]
