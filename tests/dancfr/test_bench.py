"""Each benchmark measures something and keeps the contract; none is held to a speed here."""

import math
import sys

import pytest

from dancfr.bench import BENCHES
from dancfr.bench.table import table
from dancfr.bench.tabular import GAMES
from dancfr.cli import main


@pytest.mark.parametrize("name", BENCHES)
def test_a_benchmark_measures_a_rate_and_its_limit(name: str) -> None:
    measured = BENCHES[name](seconds=0.05)
    assert set(measured) == {"name", "rate", "unit", "limit", "ratio", "detail"}
    assert measured["name"] == name
    for key in ("rate", "limit", "ratio"):
        assert math.isfinite(measured[key])
        assert measured[key] > 0
    assert f"`{name}`" in table([measured])
    if name == "cfr-plus":
        ratios = [measured["detail"][game]["ratio"] for game in GAMES]
        assert measured["ratio"] == min(ratios)
        assert measured["rate"] == measured["detail"]["leduc"]["iterations/s"]
    if name == "cheat-env":
        assert measured["rate"] > measured["detail"]["sets"]["actions/s"] > 0
        assert set(measured["detail"]["nanoseconds"]) > {"legal", "choice", "step", "finished"}
    if name == "mccfr":
        assert measured["ratio"] == measured["detail"]["external-sampling"]["ratio"]
        assert measured["detail"]["outcome-sampling"]["ratio"] > 0


@pytest.mark.parametrize("name", ["cfr-plus", "mccfr"])
def test_without_openspiel_there_is_nothing_to_compare_with(
    name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(SystemExit) as ended:
        main(["bench", name, "--json"])
    assert ended.value.code == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "dancfr: games of OpenSpiel need the package open_spiel: pip install dancfr[openspiel]\n"
