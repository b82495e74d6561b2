"""Reads the tables of the pages in docs."""

from itertools import takewhile


def table(head: str, page: str) -> list[list[str]]:
    """The cells of the table whose head begins so, without the line below it."""
    lines = iter(page.splitlines())
    first = next(line for line in lines if line.startswith(head))
    next(lines)
    return [split_row(first), *map(split_row, takewhile(lambda line: line.startswith("| "), lines))]


def split_row(line: str) -> list[str]:
    """The cells of a line of a table."""
    return [cell.strip() for cell in line.split("|")[1:-1]]
