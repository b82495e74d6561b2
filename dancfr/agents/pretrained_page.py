"""Writes the cards of the pretrained agents into docs/reference/pretrained.md: ``make cards``."""

from pathlib import Path

from dancfr.agents.cards import section
from dancfr.agents.pretrained import FOLDER, card_of, pretrained_names

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "pretrained.md"
"""The page in the source tree; an installed package has none."""

START, END = "<!-- cards -->", "<!-- /cards -->"


def with_cards(text: str) -> str:
    """The page with one section for each pretrained agent between `START` and `END`.

    Args:
        text: The page as it is.
    """
    before, rest = text.split(START)
    size = sum(file.stat().st_size for file in FOLDER.rglob("*") if file.suffix == ".safetensors")
    total = f"Nets and tables of all agents together: {size / 1e6:.2f} MB.\n"
    sections = [section(name, card_of(name)) for name in pretrained_names()]
    return "\n".join([f"{before}{START}", total, *sections, END]) + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(with_cards(PAGE.read_text()))
