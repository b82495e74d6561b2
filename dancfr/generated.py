"""Pages with a generated part, which lies between ``<!-- name -->`` and ``<!-- /name -->``."""


def with_part(text: str, name: str, part: str) -> str:
    """Returns a page whose part of this name is replaced.

    Args:
        text: The page.
        name: Name of the part.
        part: Its new lines.

    Raises:
        ValueError: the page has no such part.
    """
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, rest = text.split(start, 1)
    _, after = rest.split(end, 1)
    return f"{before}{start}\n{part}\n{end}{after}"
