"""Compiling kernels before they are needed: workers do a small piece of their work and throw the result away."""

from typing import Any

from envs.compiled import compilations


class WarmUp:
    """A worker that can be warmed up. To be inherited by classes whose methods return a small value and a block."""

    def warm_up(self, call: tuple[str, Any], *arguments: Any) -> tuple[list[str], None]:
        """Does a task and throws the result away.

        Args:
            call: Name of the method, and the task.
            arguments: What follows the task.

        Returns:
            Names of the kernels that were compiled, not loaded from the cache; and no block.
        """
        method, task = call
        with compilations() as compiled:
            getattr(self, method)(task, *arguments)
        return compiled, None
