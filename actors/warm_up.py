"""Compiles kernels before they are needed: workers run a small task and discard the result."""

from typing import Any

from envs.compiled import compilations


class WarmUp:
    """Base class of workers that can be warmed up; their methods return a small value and a block."""

    def warm_up(self, call: tuple[str, Any], *arguments: Any) -> tuple[list[str], None]:
        """Runs a task and discards the result.

        Args:
            call: Name of the method, and the task.
            arguments: Further arguments of the method.

        Returns:
            Names of the kernels that were compiled rather than loaded from the cache; and no block.
        """
        method, task = call
        with compilations() as compiled:
            getattr(self, method)(task, *arguments)
        return compiled, None
