"""The linter for prose finds each forbidden phrase wherever the repository has text, and nothing in code."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.prose import ROOT, Rule, find, read_rules

RULES = read_rules()
PLACES = {
    "docstring": ("a.py", 'def f() -> None:\n    """{}"""\n', 2),
    "comment": ("a.py", "x = 1\n\n# {}\n", 3),
    "comment behind code": ("a.py", "x = 1  # {}\n", 1),
    "message": ("a.py", 'raise ValueError(\n    "{}"\n)\n', 2),
    "f-string": ("a.py", 'raise ValueError(f"{{x}}: {}")\n', 1),
    "document": ("a.md", "# A title\n\n{}\n", 3),
    "script": ("a.js", "const a = 1;\n// {}\n", 2),
    "Makefile": ("Makefile", "a: ## {}\n", 1),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_finds_its_bad_sentence_in_every_place(rule: Rule, place: str) -> None:
    name, form, line = PLACES[place]
    found = [(at, each.name) for at, _, each in find(name, form.format(rule.bad), RULES)]
    assert found == ([(line, rule.name)] if place == "docstring" or not rule.first_line else [])
    assert list(find(name, form.format(rule.good), RULES)) == []


def test_a_phrase_across_lines_is_found_where_it_begins() -> None:
    own, on = (rule.bad.split() for rule in RULES if rule.name in ("own", "go-on"))
    text = '"""Deals.\n\n' + "\n    ".join(own) + '\n"""\n# ' + "\n# ".join(on) + "\n"
    assert own[1:3] == ["the", "own"]
    assert on[2:4] == ["goes", "on"]
    assert [(line, rule.name) for line, _, rule in find("a.py", text, RULES)] == [(4, "own"), (10, "go-on")]


def test_code_is_not_prose() -> None:
    words = ("anew", "nobody")
    document = f"Run `dancfr {words[0]}`, see [the\nguide](docs/{words[0]}.md):\n\n```python\nx = {words}\n```\n"
    assert list(find("a.md", document, RULES)) == []
    assert list(find("a.py", f"names = {words}\n{words[0]} = 1  # not {words[1].upper()}\n", RULES)) == []


def test_the_command_names_file_line_and_cure_and_fails(tmp_path: Path) -> None:
    rule, phrase = RULES[0], " ".join(RULES[0].bad.split()[1:3])
    for name in ("bad", "good"):
        (tmp_path / f"{name}.md").write_text(f"# Cards\n\n{getattr(rule, name)}\n")

    def lint(name: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "tests.packaging.prose", str(tmp_path / name)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return done.returncode, done.stdout

    assert lint("good.md") == (0, "")
    assert lint("bad.md") == (1, f"{tmp_path}/bad.md:3: {phrase!r}: write {rule.instead}\n")
