"""README.md of a packed agent: the front matter that the Hugging Face hub reads, and the card as text."""

import json
import re
from pathlib import Path

from dancfr.agents.cards import Card, section
from dancfr.agents.hub.files import method_in
from dancfr.agents.pretrained import PREFIX
from dancfr.methods.agent_name import HUB

PLACEHOLDER = f"{HUB}OWNER/NAME"
"""The agent's name in a README.md that has not been pushed yet."""
TAGS = ("reinforcement-learning", "imperfect-information")
_PLAIN = re.compile(r"[A-Za-z][\w.+-]*", re.ASCII)
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
"""Words that YAML reads as other values than text."""


def readme(folder: Path, card: Card) -> str:
    """The text of README.md.

    Args:
        folder: Folder of the packed agent, whose files name the method.
        card: Its card.
    """
    text = section(PLACEHOLDER, _named(card)).partition("\n")[2].strip()
    return "\n".join([*_front_matter(card, method_in(folder)), "", f"# {card.name}", "", text, "", *_use(card)])


def _front_matter(card: Card, method: str) -> list[str]:
    tags = dict.fromkeys((*TAGS, card.game, method))
    return [
        "---",
        "library_name: dancfr",
        f"license: {_scalar(card.licence.lower())}",  # the hub's identifiers are those of SPDX in small letters
        f"pipeline_tag: {TAGS[0]}",
        "tags:",
        *(f"- {_scalar(tag)}" for tag in tags),
        "---",
    ]


def _scalar(text: str) -> str:
    """A text in YAML, of which JSON is a part."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text)


def _named(card: Card) -> Card:
    """The card with the agent's name on the hub in the command that measures its exploitability again."""
    if card.exploitability is None:
        return card
    own = rf"(?<!\S){re.escape(PREFIX + card.name)}(?!\S)"
    command = re.sub(own, PLACEHOLDER, card.exploitability.command)
    return card.model_copy(update={"exploitability": card.exploitability.model_copy(update={"command": command})})


def _use(card: Card) -> list[str]:
    return [
        "## How to use it",
        "",
        "The agent is fetched by its name, which every command of dancfr takes:",
        "",
        "    pip install 'dancfr[hub]'",
        f"    dancfr evaluate {PLACEHOLDER} --game {card.game} --against random --games 1000",
        f"    dancfr play {card.game} --agent {PLACEHOLDER}               # needs dancfr[serve], too",
        "",
        "A folder with its files plays without the hub, by its path:",
        "",
        f"    dancfr evaluate path/to/{card.name} --game {card.game} --against random --games 1000",
        f"    dancfr play {card.game} --agent path/to/{card.name}",
        "",
        "In Python:",
        "",
        "    import dancfr",
        "",
        f"    dancfr.play({PLACEHOLDER!r}, 'random', {card.game!r}, games=1000)",
        "",
        "Its files are safetensors and JSON; there is no pickle among them.",
        "",
    ]
