"""Failures of workers that explain themselves."""


class Explained(RuntimeError):
    """A failure whose message names the cause and the cure in one line. It ends a run with that line.

    Attributes:
        wrong_use: Whether the cause is a wrong request, in which case the program ends with exit code 2.
    """

    wrong_use = False
