"""A linter for prose: finds the phrases of `prose.toml` in documents, docstrings, comments and messages.

``python -m tests.packaging.prose [FILE ...]`` prints each as ``file:line: phrase: better ones`` and exits with 1 if
there are any. Without arguments it reads the whole repository.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
ROOT_FILES = ["*.md", "Makefile", "*.yaml"]
FOLDERS = [".ci", "docker", "docs", "examples", "dancfr", "actors", "learners", "envs", "tests"]
SUFFIXES = {".py", ".md", ".js", ".css", ".html", ".j2", ".sh", ".yaml", ".yml", ".json"}
RECORDED = ("tests/data/", "docs/records/", "docs/results/benchmarks.json")  # files that programs wrote


class Rule(NamedTuple):
    """A forbidden phrase and its better forms; with `first_line` in first lines of docstrings only."""

    name: str
    pattern: re.Pattern[str]
    instead: str
    first_line: bool
    bad: str
    good: str


class Text(NamedTuple):
    """Prose of a file: its first line in the file, the text, and whether it is a docstring."""

    line: int
    text: str
    docstring: bool = False


def read_rules() -> list[Rule]:
    """Reads the rules of ``prose.toml``."""
    rules = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["rule"]
    return [
        Rule(
            rule["name"],
            re.compile(rule["pattern"].replace(" ", r"\s+"), re.IGNORECASE),
            rule["instead"],
            rule.get("where") == "first line",
            rule["bad"],
            rule["good"],
        )
        for rule in rules
    ]


def texts_of(name: str, source: str) -> Iterator[Text]:
    """Takes a file apart into its prose."""
    if name.endswith(".py"):
        yield from _docstrings_and_messages(ast.parse(source))
        yield from _comments(source)
        return
    if name.endswith(".md"):
        blank = lambda found: re.sub(r"[^\n]", " ", found.group())  # noqa: E731
        source = re.sub(r"^( *)```.*?^\1```|`[^`]*`|\]\([^)]*\)", blank, source, flags=re.DOTALL | re.MULTILINE)
    yield Text(1, re.sub(r"^[ \t]*(?:#+|//|\*|>)", "", source, flags=re.MULTILINE))


def _docstrings_and_messages(tree: ast.Module) -> Iterator[Text]:
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    inside: set[int] = set()
    for node in ast.walk(tree):  # breadth first: an f-string comes before its parts
        if isinstance(node, ast.JoinedStr):
            inside.update(map(id, node.values))
            parts = (str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield Text(node.lineno, "".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield Text(node.lineno, node.value if " " in node.value else "", id(node) in docstrings)  # a word is a name


def _comments(source: str) -> Iterator[Text]:
    lines = io.StringIO(source).readline
    block: list[str] = []
    first, last = 1, -1
    for token in tokenize.generate_tokens(lines):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1:
            yield Text(first, "\n".join(block))
            block, first = [], token.start[0]
        block.append(token.string.lstrip("#"))
        last = token.start[0]
    yield Text(first, "\n".join(block))


def find(name: str, source: str, rules: list[Rule]) -> Iterator[tuple[int, str, Rule]]:
    """Finds forbidden phrases: each one's line, its words, and the rule that forbids it."""
    for text in texts_of(name, source):
        for rule in rules:
            if rule.first_line and not text.docstring:
                continue
            for found in rule.pattern.finditer(text.text.partition("\n")[0] if rule.first_line else text.text):
                if not found.group().isupper():  # a constant, such as NOBODY
                    yield text.line + text.text.count("\n", 0, found.start()), " ".join(found.group().split()), rule


def files() -> Iterator[Path]:
    """Lists the files of the repository that hold prose."""
    for place in ROOT_FILES + FOLDERS:
        for path in sorted(ROOT.glob(place)):
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                name = file.relative_to(ROOT).as_posix()
                if file.is_file() and (file.suffix in SUFFIXES or not file.suffix) and not name.startswith(RECORDED):
                    yield file


def main(names: list[str]) -> int:
    """Prints the forbidden phrases of files and returns the exit code."""
    rules, count = read_rules(), 0
    for path in [Path(name).resolve() for name in names] or files():
        for line, phrase, rule in find(path.name, path.read_text(encoding="utf-8"), rules):
            shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
            print(f"{shown}:{line}: {phrase!r}: write {rule.instead}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
