"""Output of `huggingface_hub` itself: bars, which belong on a terminal only, and its log."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dancfr.errors import warn


@contextmanager
def quiet_client() -> Iterator[None]:
    """Turns the bars off for a while, unless standard error is a terminal, and tells once if the client waits.

    The client tries each file up to six times, and its log tells of every time.
    """
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    handlers, filtering = logging.getLogger("huggingface_hub").handlers, _Waiting()
    hidden = not are_progress_bars_disabled() and not (sys.stderr is not None and sys.stderr.isatty())
    if hidden:
        disable_progress_bars()
    for handler in handlers:
        handler.addFilter(filtering)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(filtering)
        if hidden:
            enable_progress_bars()


class _Waiting(logging.Filter):
    """Shows no line of the log below an error; the first one that says that the client waits becomes a line of ours."""

    def __init__(self) -> None:
        super().__init__()
        self._told = False

    def filter(self, record: logging.LogRecord) -> bool:
        text = ""
        with suppress(TypeError, ValueError):  # a line whose arguments do not fit it
            text = record.getMessage()
        if "Retry" in text and not self._told:
            self._told = True
            warn("the hub does not serve a request, or asks to wait: it is tried again, up to five times")
        return record.levelno >= logging.ERROR
