"""A hook of mkdocs: adds the pages of games, which lie beside their rules, and turns links that lead out of docs/.

A link to the page of a game leads to it on the site; one to any other file outside docs/, which the site lacks, becomes
the path of this file.
"""

import re
from pathlib import Path

from mkdocs.structure.files import File

_ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([^)\s]+)\)")
_GAMES = "reference/games/"


def on_files(files, *, config):
    """Adds envs/<game>/README.md as reference/games/<game>.md."""
    for page in sorted((_ROOT / "envs").glob("*/README.md")):
        files.append(File.generated(config, f"{_GAMES}{page.parent.name}.md", abs_src_path=str(page)))
    return files


def on_page_markdown(markdown, *, page, config, files):
    """Rewrites the links of a page."""
    uri = page.file.src_uri
    depth, of_game = uri.count("/"), uri.startswith(_GAMES)

    def rewrite(match):
        text, up, path = match.groups()
        if of_game:  # as seen from envs/<game>/, two folders below the root
            return f"[{text}]({up}{path.removeprefix('docs/')})" if path.startswith("docs/") else f"`{path}`"
        if up.count("../") <= depth:
            return match.group(0)
        game = re.fullmatch(r"envs/(\w+)/README\.md(#.*)?", path)
        return f"[{text}]({'../' * depth}{_GAMES}{game[1]}.md{game[2] or ''})" if game else f"`{path}`"

    return _LINK.sub(rewrite, markdown)
