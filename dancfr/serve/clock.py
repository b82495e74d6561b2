"""A player's clock: a reserve of time for the whole game, and then a limit for each answer."""

from dataclasses import dataclass


@dataclass
class Clock:
    """Runs while an answer is awaited. Times are in seconds, readings of one monotonic clock.

    Attributes:
        reserve: What is left of the time for the whole game.
        per_answer: What each answer may take beyond the reserve.
    """

    reserve: float
    per_answer: float
    _since: float | None = None

    def start(self, now: float) -> float:
        """Starts the clock at `now`, which may lie in the future, and returns how long the answer may take."""
        self._since = now
        return self.reserve + self.per_answer

    def stop(self, now: float) -> None:
        """Stops the clock, and takes the time since its start off the reserve. Has no effect on a stopped clock."""
        if self._since is not None:
            self.reserve = max(0.0, self.reserve - max(0.0, now - self._since))
            self._since = None
