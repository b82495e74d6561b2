"""Time of a player: so much in all, and when that is used up so much for each answer."""

from dataclasses import dataclass

TOTAL_S = 600.0
MOVE_S = 10.0


@dataclass
class Clock:
    """Counts down while an answer is awaited. Times are those of one monotonic clock, in seconds.

    Attributes:
        reserve: What is left of the time in all.
        per_answer: What each answer may take beyond that.
    """

    reserve: float = TOTAL_S
    per_answer: float = MOVE_S
    _since: float | None = None

    @property
    def runs(self) -> bool:
        """Whether an answer is awaited."""
        return self._since is not None

    def start(self, now: float) -> float:
        """An answer is awaited from now on; how long it may take."""
        self._since = now
        return self.reserve + self.per_answer

    def stop(self, now: float) -> None:
        """The answer has come, or is awaited no longer."""
        if self._since is not None:
            self.reserve = max(0.0, self.reserve - (now - self._since))
            self._since = None
