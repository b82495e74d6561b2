"""The page of the rules as HTML: nothing of a README.md is taken for elements, and no link leads nowhere."""

from pathlib import Path

from dancfr.serve.browser.rules_page import rules_page

README = """# Chess & <more>

<script src="https://example.org/x.js"></script>

Read [our notes](../../docs/notes.md), [the site](https://example.org/), [the moves](#the-moves) and
[this](javascript:alert(1)). ![A board](board.png) An <b>element</b>.

## The moves

| a | b |
|---|---|
| `x` | 1 < 2 |

## The moves
"""


def test_markdown_becomes_html_and_html_becomes_text(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(README)
    page = rules_page(tmp_path / "README.md")
    assert "<title>Chess &amp; &lt;more&gt; &ndash; dancfr</title>" in page
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;script src=" in page
    assert '<h2 id="the-moves">The moves</h2>' in page
    assert '<h2 id="the-moves-1">The moves</h2>' in page
    assert "<td><code>x</code></td>\n<td>1 &lt; 2</td>" in page


def test_links_lead_somewhere(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(README)
    page = rules_page(tmp_path / "README.md")
    assert "Read our notes, " in page
    assert '<a href="https://example.org/" rel="noopener noreferrer">the site</a>' in page
    assert '<a href="#the-moves">the moves</a>' in page
    assert "<img" not in page
    assert "A board An" in page
    assert 'href="javascript' not in page
