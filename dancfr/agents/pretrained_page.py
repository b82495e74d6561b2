"""Writes the cards of the pretrained agents into docs/reference/pretrained.md: ``make cards``."""

from pathlib import Path

from dancfr.agents.cards import section
from dancfr.agents.pretrained import FOLDER, card_of, pretrained_names
from dancfr.generated import with_part

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "pretrained.md"
"""The page in the source tree; an installed package has none."""


def with_cards(text: str) -> str:
    """The page with one section for each pretrained agent between the marks of ``cards``.

    Args:
        text: The page as it is.
    """
    size = sum(file.stat().st_size for file in FOLDER.rglob("*") if file.suffix == ".safetensors")
    total = f"Nets and tables of all agents together: {size / 1e6:.2f} MB.\n"
    sections = [section(name, card_of(name)) for name in pretrained_names()]
    return with_part(text, "cards", "\n".join([total, *sections]))


if __name__ == "__main__":
    PAGE.write_text(with_cards(PAGE.read_text()))
