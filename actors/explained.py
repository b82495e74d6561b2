"""Failures of workers that explain themselves."""


class Explained(RuntimeError):
    """A failure whose message says in one line what is wrong and what to do. It ends a run with that line.

    Attributes:
        wrong_use: Something was asked for that there is not, so the program ends with exit code 2.
    """

    wrong_use = False
