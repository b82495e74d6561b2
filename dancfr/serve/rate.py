"""A limit on the rate of messages."""

import time


class RateLimit:
    """A token bucket: so many messages a second on average, and a burst at once.

    Args:
        rate: Messages a second.
        burst: Messages at once, which is also what is allowed at the start.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._tokens, self._counted_at = burst, time.monotonic()

    def allows(self) -> bool:
        """Counts a message, and returns whether it keeps to the limit."""
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + self._rate * (now - self._counted_at)) - 1
        self._counted_at = now
        return self._tokens >= 0


__all__ = ["RateLimit"]
