"""A limit on the rate of messages."""

import time


class RateLimit:
    """A token bucket: a number of messages a second on average, with bursts.

    Args:
        rate: Messages a second.
        burst: Messages in a burst, which is also the allowance at the start.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._tokens, self._counted_at = burst, time.monotonic()

    def allows(self, cost: float = 1.0) -> bool:
        """Counts a message, or as many as `cost` says, and returns whether it keeps to the limit."""
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + self._rate * (now - self._counted_at)) - cost
        self._counted_at = now
        return self._tokens >= 0


__all__ = ["RateLimit"]
