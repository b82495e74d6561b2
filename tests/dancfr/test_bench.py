"""Each benchmark measures something and keeps the contract; none is held to a speed here."""

import math

import pytest

from dancfr.bench import BENCHES
from dancfr.bench.table import table


@pytest.mark.parametrize("name", BENCHES)
def test_a_benchmark_measures_a_rate_and_its_limit(name: str) -> None:
    measured = BENCHES[name](seconds=0.05)
    assert set(measured) == {"name", "rate", "unit", "limit", "ratio", "detail"}
    assert measured["name"] == name
    for key in ("rate", "limit", "ratio"):
        assert math.isfinite(measured[key])
        assert measured[key] > 0
    assert f"`{name}`" in table([measured])
