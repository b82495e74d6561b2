"""Progress bars of `huggingface_hub`, which belong on a terminal only."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def bars_on_a_terminal() -> Iterator[None]:
    """Turns the bars off for a while, unless standard error is a terminal; some of them do not ask."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled() or (sys.stderr is not None and sys.stderr.isatty()):
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
