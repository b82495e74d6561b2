"""The first signal asks, the second ends."""

import os
import signal
import threading

import pytest

from dancfr.methods.signals import catching


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_sets_the_flag_and_the_second_aborts(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    with catching() as stop:
        assert not stop.requested
        with catching() as inner:
            os.kill(os.getpid(), number)
        assert inner is stop
        assert stop.requested
        assert "once more aborts" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(number) is before
    with catching() as fresh:
        assert not fresh.requested


def test_other_threads_have_a_flag_that_stays_down() -> None:
    seen: list[bool] = []

    def work() -> None:
        with catching() as stop:
            seen.append(stop.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]
