"""The page of a game's rules, made of the README.md beside the game."""

import html
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from string import Template

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title &ndash; dancfr</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="../style.css">
</head>
<body class="reading">
<main>
$content</main>
</body>
</html>
""")


def rules_page(readme: Path) -> str:
    """Returns the page of a file of Markdown as HTML, which asks for nothing but the style of the site.

    Elements of HTML in the file are shown as text. Headings have ids, so that a link may lead to one. Links to other
    files of the repository, which the server does not have, become text, and pictures their descriptions.
    """
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(readme.read_text(encoding="utf-8"))
    headings = dict(_headings(tokens))
    for token in tokens:
        if token.children:
            token.children = list(_local(token.children))
    title = next(iter(headings.values()), readme.parent.name)
    content = markdown.renderer.render(tokens, markdown.options, {})
    return _PAGE.substitute(title=html.escape(title), content=content)


def _headings(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    """Gives each heading its id, and yields both."""
    taken: set[str] = set()
    for token, text in pairwise(tokens):
        if token.type == "heading_open":
            words = "-".join(re.findall(r"\w+", text.content.lower()))
            anchor = next(each for n in range(len(tokens)) if (each := f"{words}-{n}" if n else words) not in taken)
            taken.add(anchor)
            token.attrSet("id", anchor)
            yield anchor, text.content


def _local(tokens: list[Token]) -> Iterator[Token]:
    """Leaves out links that lead nowhere here, and pictures."""
    kept: list[bool] = []  # for each link that is open, whether it stays
    for token in tokens:
        if token.type == "link_open":
            target = str(token.attrGet("href"))
            kept.append(target.startswith(("#", "https://", "http://")))
            if not target.startswith("#"):
                token.attrSet("rel", "noopener noreferrer")
        if token.type == "image":
            yield Token("text", "", 0, content=token.content)
        elif token.type == "link_close":
            if kept.pop():
                yield token
        elif token.type != "link_open" or kept[-1]:
            yield token


__all__ = ["rules_page"]
