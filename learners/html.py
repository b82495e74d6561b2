"""Tables of HTML, as which results show themselves in a notebook."""

from collections.abc import Iterable, Sequence
from html import escape

_CAPTION = "text-align: left; min-width: 40em"
"""Style of captions, which would be as narrow as the table without it."""


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> str:
    """Returns a table of HTML with a caption; every text is escaped."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    title = f"<caption style='{_CAPTION}'>{escape(caption)}</caption>"
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
