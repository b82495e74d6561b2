"""Keys for display: the docstring of each, and settings that can be typed back."""

import shlex
from typing import Any

import pytest
from pydantic import BaseModel, Field

from dancfr.docstrings import parse_attributes
from dancfr.methods import all_presets, find_preset
from dancfr.runs.config import Config, apply_overrides, differences, flatten
from dancfr.runs.keys import assignments, describe_keys, describe_settings

DOCSTRING = """One line.

    Attributes:
        first: What it is: a number; ``x``: the
            letter, None for none.

            Two: after an empty line.
        second, third: Of
            both.

    Raises:
        ValueError: never.
    """


def test_a_docstring_is_taken_apart() -> None:
    assert parse_attributes(DOCSTRING) == {
        "first": "What it is: a number; `x`: the letter, none for none. Two: after an empty line.",
        "second": "Of both.",
        "third": "Of both.",
    }


@pytest.mark.parametrize("docstring", [None, "", "One line.", "One line.\n\n    Args:\n        name: No attribute."])
def test_a_docstring_without_attributes_has_none(docstring: str | None) -> None:
    assert parse_attributes(docstring) == {}


def test_another_section_of_a_docstring_is_read_by_its_name() -> None:
    docstring = (
        "One line.\n\n    Args:\n        name: An\n            argument.\n\n    Returns:\n        none: No argument."
    )
    assert parse_attributes(docstring, "Args") == {"name": "An argument."}


@pytest.mark.parametrize("name", list(all_presets()))
def test_every_key_of_a_preset_has_a_meaning(name: str) -> None:
    config = find_preset(name).config
    meanings = describe_keys(config)
    assert list(meanings) == [key for key, _ in flatten(config)]
    assert [key for key, text in meanings.items() if not text] == []


def test_meanings_are_those_of_the_docstrings() -> None:
    meanings = describe_keys(find_preset("geister-quick").config)
    assert meanings["minutes"].endswith("none: no limit.")
    assert meanings["network.width"] == meanings["baseline_network.width"] == "Units of each hidden layer."
    assert meanings["network.norm"] == "Normalisation before the linear output layer. One of batch, layer, none."


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("iterations", 5, ["iterations=5"]),
        ("minutes", None, ["minutes=none"]),
        ("baseline", False, ["baseline=false"]),
        ("opponents", ("random", "rush"), ["opponents=random,rush"]),
        ("opponents", (), ["'opponents=[]'"]),
        ("options", {"ply_limit": 100, "forced": True}, ["options.ply_limit=100", "options.forced=true"]),
        ("options", {"name": "a b", "digits": "12"}, ["'options.name=a b'", "'options.digits=\"12\"'"]),
        ("options", {}, ["'options={}'"]),
    ],
)
def test_settings_are_written_as_one_types_them(key: str, value: Any, expected: list[str]) -> None:
    assert assignments(key, value) == expected


@pytest.mark.parametrize("name", list(all_presets()))
def test_the_settings_of_a_preset_can_be_typed_back(name: str) -> None:
    config = find_preset(name).config
    typed = [one for key, value in flatten(config) for one in assignments(key, value)]
    start = type(config).model_validate({"game_options": {}, "evaluation": {"opponents": ()}, "minutes": 1.0})
    overrides = shlex.split(" ".join(typed))
    assert differences(apply_overrides(start, overrides), config) == {}


class Options(Config):
    """A configuration with free options.

    Attributes:
        options: Of all kinds.
    """

    options: dict[str, Any] = Field(default_factory=dict)


def test_options_keep_their_type() -> None:
    options = {"a": 1, "b": "1", "c": True, "d": "true", "e": None, "f": "none", "g": 0.5, "h": [1, "x"], "i": "x y"}
    typed = shlex.split(" ".join(assignments("options", options)))
    read = apply_overrides(Options(), typed).options
    assert read == options
    assert [type(value) for value in read.values()] == [type(value) for value in options.values()]


def test_the_meaning_stands_below_in_lines_of_the_width() -> None:
    text = describe_settings({"a": 1, "b": {"c": 2, "d": 3}, "e": None}, {"a": "word " * 20, "b": "Options."}, 40)
    lines = text.splitlines()
    assert lines[0] == "a=1"
    assert lines[1:4] == ["    " + " ".join(["word"] * count) for count in (7, 7, 6)]
    assert lines[4:] == ["b.c=2", "b.d=3", "    Options.", "e=none"]


def test_a_class_without_a_docstring_has_keys_all_the_same() -> None:
    class Bare(BaseModel):
        key: int = 1

    assert describe_keys(Bare()) == {"key": ""}
