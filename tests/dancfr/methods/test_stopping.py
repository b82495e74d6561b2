"""The first signal asks a run to stop, its notice ends the iteration under way, the second signal ends the process."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dancfr.methods.stopping import OutOfTime, Stop, catching


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
        assert "second signal aborts" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(number) is before
    with catching() as fresh:
        assert not fresh.requested


@contextmanager
def hang_up(handler: signal.Handlers) -> Iterator[None]:
    """Sets the handler that a process has before a training begins."""
    before = signal.signal(signal.SIGHUP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def test_sighup_stops_and_never_counts_as_the_second_signal(capfd: pytest.CaptureFixture[str]) -> None:
    """A closed terminal sends it twice, and the end of a session SIGTERM with it."""
    with hang_up(signal.SIG_DFL), catching() as stop:  # the tests may run under nohup
        for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)
            assert stop.requested
        assert capfd.readouterr().err.startswith("SIGHUP: stopping")
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)


def test_sighup_stays_ignored_under_nohup() -> None:
    with hang_up(signal.SIG_IGN), catching() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.requested


@pytest.mark.parametrize("then", ["stopping before an iteration begins", "stopping after this iteration"])
def test_the_first_signal_says_what_it_leads_to_at_this_moment(then: str, capfd: pytest.CaptureFixture[str]) -> None:
    with catching() as stop:
        if "after" in then:  # what a run sets once its iterations begin
            stop.then = then
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.requested
    assert capfd.readouterr().err == f"Ctrl-C: {then}; a second signal aborts\n"


def test_other_threads_have_a_flag_that_stays_down() -> None:
    seen: list[bool] = []

    def work() -> None:
        with catching() as stop:
            seen.append(stop.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def stopped_within(stop: Stop, notice: float, shield: float = 0.0) -> None:
    """Sleeps for half a minute and is asked to stop immediately; shielded code finishes first."""
    with stop.limited(notice):
        os.kill(os.getpid(), signal.SIGTERM)
        with stop.shielded():
            time.sleep(shield)
        time.sleep(30)


def test_what_outlasts_the_notice_is_left_once_and_the_alarm_is_given_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with catching() as stop:
        with pytest.raises(OutOfTime):
            stopped_within(stop, 0.2)
        assert signal.getsignal(signal.SIGALRM) is before
        time.sleep(0.3)  # nothing comes after the block


def test_ctrl_c_leaves_the_iteration_twice_the_time_of_the_last_one() -> None:
    """A person may press it again; SIGTERM comes from a machine that does not wait."""
    for number, long_enough in ((signal.SIGINT, True), (signal.SIGTERM, False)):
        with catching() as stop:
            stop.expect(30.0)
            try:
                with stop.limited(0.2):
                    os.kill(os.getpid(), number)
                    time.sleep(1)
                assert long_enough
            except OutOfTime:
                assert not long_enough


def test_the_longest_iteration_counts() -> None:
    with catching() as stop:
        for seconds in (1.0, 0.01):
            stop.expect(seconds)
        with stop.limited(0.1):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
            ended = True
        assert ended, "OutOfTime was not raised after 0.1 s, nor after twice 0.01 s"


def test_a_signal_before_the_block_limits_it_too() -> None:
    with catching() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(OutOfTime), stop.limited(0.2):
            time.sleep(30)


def test_what_ends_within_the_notice_is_not_disturbed() -> None:
    with catching() as stop:
        with stop.limited(0.3):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.05)
        time.sleep(0.4)
        assert stop.requested


def test_a_shield_puts_the_end_off() -> None:
    started = time.monotonic()
    with catching() as stop, pytest.raises(OutOfTime):
        stopped_within(stop, 0.1, shield=0.5)
    assert time.monotonic() - started > 0.5


def test_other_system_errors_pass_through() -> None:
    with catching() as stop, pytest.raises(SystemError, match="something else"), stop.limited(0.2):
        raise SystemError("something else")
