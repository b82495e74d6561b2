"""A trained best response to a frozen agent: a lower bound of its exploitability."""

from dancfr.methods.best_response.config import PRESETS, RESULT, BestResponseConfig
from dancfr.methods.curves import APART_KEYS, Curves, Metric, entropy, throughput
from dancfr.methods.method import Method, lazily
from dancfr.watch.progress import Speed

CURVES = Curves(
    phases={"games": "time/play_s", "nets": "time/fit_s", **APART_KEYS},
    overlap="the nets are fitted beside the next games",
    counted="A fit counts where its weights are first used.",
    metrics=(
        Metric(
            "response",
            "Mean return of the best response at each point",
            "mean return",
            "return",
            {"Moving first": "response/value_first", "Moving second": "response/value_second"},
        ),
        entropy("Entropy of the responses", "Entropy at the infostates of the games"),
        throughput("games and fits", {"Games": "play/games_per_second", "Rows in fits": "learner/rows_per_second"}),
    ),
)

METHOD = Method(
    name="best-response",
    config=BestResponseConfig,
    train=lazily("dancfr.methods.best_response.driver:train"),
    load_agent=lazily("dancfr.methods.best_response.agent:load_agent"),
    pack=lazily("dancfr.methods.best_response.agent:pack"),
    presets=PRESETS,
    speed=Speed("play/games_per_second", "games", "in play", "games"),
    samples="samples/responses",
    budget="games",
    curves=CURVES,
    load_file=lazily("dancfr.methods.best_response.agent:load_file"),
    file_kind="best response",
    result=RESULT,
)
