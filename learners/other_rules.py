"""The error of a net that is asked for its policy on the tree of a game with other infostates."""

from envs.game import GameBase
from envs.tree import Tree


class OtherRules(ValueError):
    """An agent was made for other rules than those of a tree.

    Args:
        name: Name of the agent.
        made_for: The game that it was made for.
        tree: The tree.

    Attributes:
        made_for: As given; the options of both games tell which rule differs.
    """

    def __init__(self, name: str, made_for: GameBase, tree: Tree) -> None:
        here, there = tree.observed.shape[1], made_for.spec.packed_size
        super().__init__(
            f"{name} was made for infostates of {made_for.spec.name} of {there} bytes, but those of this tree of "
            f"{tree.name} have {here}"
        )
        self.made_for = made_for


def require_infostates(name: str, made_for: GameBase, tree: Tree) -> None:
    """Raises OtherRules if the packed infostates of a tree have another size than those that an agent was made for."""
    if tree.observed.shape[1] != made_for.spec.packed_size:
        raise OtherRules(name, made_for, tree)
