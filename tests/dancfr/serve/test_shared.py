"""What all servers share: clocks, the seats of agents, addresses."""

import pytest

from dancfr.errors import UsageError
from dancfr.serve.clock import Clock
from dancfr.serve.commands import split_agents
from dancfr.serve.network import is_loopback


def test_the_clock_has_a_reserve_and_then_a_time_for_each_answer() -> None:
    clock = Clock(600.0, 10.0)
    assert clock.start(100.0) == 610.0
    clock.stop(700.0)
    assert clock.reserve == 0.0
    assert clock.start(800.0) == 10.0
    clock.stop(809.0)
    assert clock.start(900.0) == 10.0, "what is left of a move is not saved"
    clock = Clock(600.0, 10.0)
    clock.start(0.0)
    clock.stop(605.0)
    assert clock.reserve == 0.0
    clock = Clock(5.0, 1.0)
    clock.start(0.0)
    clock.stop(2.0)
    clock.stop(50.0)
    assert clock.reserve == 3.0, "it runs only while an answer is awaited"
    assert clock.start(60.0) == 4.0
    clock.stop(59.0)
    assert clock.reserve == 3.0, "an answer before the clock runs saves no time"


def test_seats_of_agents() -> None:
    assert split_agents("", 4) == [None] * 4
    assert split_agents("a,b", 4) == [None, None, "a", "b"]
    assert split_agents("-, a,-,b", 4) == [None, "a", None, "b"]
    assert split_agents("a,,b,", 4) == ["a", None, "b", None]
    assert split_agents("rush,-", 2) == ["rush", None]
    with pytest.raises(UsageError, match="5 seats"):
        split_agents("a,b,c,d,e", 4)
    with pytest.raises(UsageError, match="--agents"):
        split_agents("a,b,c,d", 4)


def test_addresses_of_this_machine_only() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.1", "example.org", "")))
