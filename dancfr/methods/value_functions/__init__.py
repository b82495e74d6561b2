"""Value functions for depth-limited solving (paper 003)."""

from dancfr.methods.curves import APART_KEYS, Curves, Metric
from dancfr.methods.method import Method, lazily
from dancfr.methods.value_functions.config import PRESETS, ValueFunctionConfig
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={"solving": "time/solving_s", "fit of the net": "time/fit_s", **APART_KEYS},
    overlap="evaluations run beside the training",
    counted="",
    metrics=(
        Metric(
            "exploitability",
            "Exploitability of the trunk that DL-CFR+ finds",
            "share of the largest return",
            "share",
            {"Exploitability of the trunk": "normalised_exploitability"},
            log=True,
        ),
        Metric(
            "validation",
            "Errors on held-out samples",
            "error, in the unit of the game",
            "error",
            {"Mean absolute error": "validation/l1", "Largest error of a row, mean": "validation/linf"},
            log=True,
        ),
        Metric("losses", "Training loss", "loss", "loss", {"Loss of the value net": "loss/values"}, log=True),
        Metric(
            "targets",
            "Largest gain of a best response to the solved subgames",
            "share of the largest return",
            "share",
            {"Largest gain of a best response": "solving/gap"},
            log=True,
        ),
    ),
)

METHOD = Method(
    name="value-functions",
    config=ValueFunctionConfig,
    train=lazily("dancfr.methods.value_functions.driver:train"),
    load_agent=lazily("dancfr.methods.value_functions.agent:load_agent"),
    pack=lazily("dancfr.methods.value_functions.agent:pack"),
    presets=PRESETS,
    speed=Speed("learner/rows_per_second", "rows", "in fits"),
    samples="samples/values",
    stored_with="exploitability",
    curves=CURVES,
)
