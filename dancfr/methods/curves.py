"""What the record of a run is drawn as, by method: its phases, and which of its metrics make which figure."""

from dataclasses import dataclass

from dancfr.report.history import History

APART = ("evaluation", "checkpoint")
"""Phases that the training time leaves out."""

_APART_KEYS = {phase: f"time/{phase}_s" for phase in APART}


@dataclass(frozen=True)
class Metric:
    """A figure of plain metrics over iterations.

    Attributes:
        unit: Of the values, for the headings of its table.
        keys: Title of a panel to key of a training row.
        note: What is said below the figure.
        by_player: Players are drawn apart, not put together.
        total: Rows of one iteration are put together by summing, else by averaging.
        log: Logarithmic axis where all values are positive.
        percent: Values are shares.
        weighted: Only of runs that weigh their samples by importance: for others it says nothing.
    """

    name: str
    title: str
    y_label: str
    unit: str
    keys: dict[str, str]
    note: str = ""
    by_player: bool = False
    total: bool = False
    log: bool = False
    percent: bool = False
    weighted: bool = False

    def of(self, run: History) -> bool:
        """Whether the figure says something about a run."""
        return not self.weighted or run.info.get("config", {}).get("importance", "none") != "none"


@dataclass(frozen=True)
class Drawn:
    """What is drawn of the runs of a method.

    Attributes:
        phases: Name of a phase to the key of its seconds.
        overlap: Why phases do not add up to the training time, of which those `APART` are no part.
        counted: When the seconds of a phase count that runs beside others.
        samples, rate: Keys of the samples offered so far, and of the decisions a second.
        metrics: The figures of plain metrics.
    """

    phases: dict[str, str]
    overlap: str
    counted: str
    samples: str
    rate: str
    metrics: tuple[Metric, ...]

    def overlapping(self, apart: str = "") -> str:
        """What a figure of phases says of them; `apart`: how it shows those that are no part of the training."""
        return (
            f"Phases overlap, since {self.overlap}: they do not add up to the training time, of which evaluations and "
            f"checkpoints{apart} are no part."
        )

    @property
    def phase_times(self) -> Metric:
        """Seconds of each phase in each iteration."""
        titles = {
            f"{phase.capitalize()} (no part of the training time)" if phase in APART else phase.capitalize(): key
            for phase, key in self.phases.items()
        }
        note = f"{self.overlapping()} {self.counted}"
        title = "Time of each phase by iteration"
        return Metric(
            "phase-times", title, "seconds per iteration", "s per iteration", titles, note, total=True, log=True
        )


DREAM = Drawn(
    phases={
        "traversal": "time/traversal_s",
        "advantage network": "time/advantage_s",
        "baseline network": "time/baseline_s",
        **_APART_KEYS,
    },
    overlap="a baseline network is fitted beside the next iterations",
    counted="A baseline fit counts where its network is first used.",
    samples="samples/advantage",
    rate="traversal/decisions_per_second",
    metrics=(
        Metric(
            "losses",
            "Training losses",
            "mean weighted squared error",
            "squared error",
            {"Loss of the advantage network": "loss/advantage", "Loss of the baseline network": "loss/baseline"},
            by_player=True,
            log=True,
        ),
        Metric(
            "buffers",
            "Fill of the buffers",
            "fill (% of capacity)",
            "% of capacity",
            {"Advantage reservoir": "buffer/advantage_fill", "Baseline buffer": "buffer/baseline_fill"},
            by_player=True,
            percent=True,
        ),
        Metric(
            "effective-sample-size",
            "Effective sample size of the importance weights",
            "effective samples (% of samples)",
            "% of samples",
            {"Effective sample size of the importance weights": "traversal/effective_sample_size"},
            percent=True,
            weighted=True,
        ),
        Metric(
            "game-length",
            "Length of the games traversed",
            "plies per game",
            "plies",
            {"Length of the games traversed": "traversal/mean_plies"},
        ),
        Metric(
            "throughput",
            "Throughput of traversals and fits",
            "per second",
            "1/s",
            {
                "Decisions in traversals": "traversal/decisions_per_second",
                "Rows in fits of the advantage network": "learner/advantage_rows_per_second",
                "Rows in fits of the baseline network": "learner/baseline_rows_per_second",
            },
        ),
    ),
)

DMC = Drawn(
    phases={"self-play": "time/selfplay_s", "Q-network": "time/value_s", **_APART_KEYS},
    overlap="the Q-network is fitted beside the next self-play",
    counted="A fit counts where its weights are first used.",
    samples="samples/values",
    rate="selfplay/decisions_per_second",
    metrics=(
        Metric(
            "losses",
            "Training loss, and how far values are from returns",
            "mean squared error",
            "squared error",
            {
                "Loss: values clipped where samples are stale": "loss/value",
                "Error of the learner's values": "learner/q_error",
                "Error of the values that the actors played by": "selfplay/q_error",
            },
            log=True,
        ),
        Metric(
            "staleness",
            "Samples without gradient",
            "clipped (% of samples)",
            "% of samples",
            {"Samples without gradient": "learner/clipped"},
            "A sample is clipped where the learner's value has left the band around the actor's.",
            percent=True,
        ),
        Metric(
            "age",
            "Age of the weights that made the samples",
            "updates of the weights",
            "updates",
            {"Age of the weights that made the samples": "learner/age_updates"},
        ),
        Metric(
            "waiting",
            "Waiting of actors and learner",
            "seconds per iteration",
            "s per iteration",
            {"Actors wait for the fit": "time/actors_waited_s", "The learner waits for samples": "learner/waited_s"},
            "Each iteration one of both may be ready first; neither waits long where both take the same time.",
            total=True,
        ),
        Metric(
            "throughput",
            "Throughput of self-play and fits",
            "per second",
            "1/s",
            {
                "Decisions in self-play": "selfplay/decisions_per_second",
                "Samples in self-play": "selfplay/samples_per_second",
                "Rows in fits": "learner/rows_per_second",
            },
        ),
        Metric(
            "game-length",
            "Length of the games of self-play",
            "decisions per game",
            "decisions",
            {"Length of the games of self-play": "selfplay/decisions_per_game"},
        ),
    ),
)

CHEAT_CFR = Drawn(
    phases={"tree walk": "time/traversal_s", **_APART_KEYS},
    overlap="evaluations run beside the next iterations",
    counted="",
    samples="samples/nodes",
    rate="cfr/nodes_per_second",
    metrics=(
        Metric(
            "infosets",
            "Infosets met",
            "infosets",
            "infosets",
            {"Infosets in the table": "cfr/infosets", "Met in this stage": "cfr/visited"},
        ),
        Metric(
            "nodes", "Nodes walked", "nodes per iteration", "nodes", {"Nodes of an iteration": "cfr/nodes"}, log=True
        ),
        Metric("memory", "Memory of the table", "megabytes", "MB", {"Table": "cfr/megabytes"}),
    ),
)

BELIEF_TABLES = Drawn(
    phases={"traversal": "time/traversal_s", **_APART_KEYS},
    overlap="evaluations run beside the next iterations",
    counted="",
    samples="samples/nodes",
    rate="tables/nodes_per_second",
    metrics=(
        Metric("nodes", "Nodes walked", "nodes per iteration", "nodes", {"Nodes of an iteration": "tables/nodes"}),
    ),
)

DEPTH_LIMITED = Drawn(
    phases={
        "self-play and search": "time/search_s",
        "advantage network": "time/advantage_s",
        "policy network": "time/policy_s",
        "value network": "time/value_s",
        **_APART_KEYS,
    },
    overlap="the networks are fitted beside each other",
    counted="",
    samples="samples/advantages",
    rate="search/decisions_per_second",
    metrics=(
        Metric(
            "losses",
            "Training losses",
            "mean squared error",
            "squared error",
            {
                "Loss of the advantage network": "loss/advantage",
                "Loss of the policy network": "loss/policy",
                "Loss of the value network": "loss/value",
            },
            log=True,
        ),
        Metric(
            "buffers",
            "Fill of the buffers",
            "fill (% of capacity)",
            "% of capacity",
            {
                "Advantage reservoir": "buffer/advantage_fill",
                "Policy reservoir": "buffer/policy_fill",
                "Value buffer": "buffer/value_fill",
            },
            percent=True,
        ),
        Metric(
            "game-length",
            "Length of the games of self-play",
            "plies per game",
            "plies",
            {"Length of the games of self-play": "search/mean_plies"},
        ),
        Metric(
            "throughput",
            "Throughput of self-play, searches and fits",
            "per second",
            "1/s",
            {
                "Decisions in self-play and searches": "search/decisions_per_second",
                "Rows in fits of the advantage network": "learner/advantage_rows_per_second",
                "Rows in fits of the policy network": "learner/policy_rows_per_second",
                "Rows in fits of the value network": "learner/value_rows_per_second",
            },
        ),
    ),
)

VALUE_NET = Drawn(
    phases={"solving": "time/solving_s", "fit of the net": "time/fit_s", **_APART_KEYS},
    overlap="evaluations run beside the training",
    counted="",
    samples="samples/values",
    rate="learner/rows_per_second",
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
            "Errors on samples that were held out",
            "error, in the unit of the game",
            "error",
            {"Mean absolute error": "validation/l1", "Largest error": "validation/linf"},
            log=True,
        ),
        Metric("losses", "Training loss", "loss", "loss", {"Loss of the value net": "loss/values"}, log=True),
        Metric(
            "targets",
            "Largest gain of a best response to the solved bottoms",
            "share of the largest return",
            "share",
            {"Largest gain of a best response": "solving/gap"},
            log=True,
        ),
    ),
)

METHODS = {
    "dream": DREAM,
    "dmc": DMC,
    "cheat-cfr": CHEAT_CFR,
    "belief-tables": BELIEF_TABLES,
    "depth-limited": DEPTH_LIMITED,
    "value-net": VALUE_NET,
}


def method_of(run: History) -> str:
    """The method by which a run was trained."""
    return str(run.info.get("method", "dream"))


def drawn(run: History) -> Drawn:
    """What is drawn of a run; of one of a method that is not known here, what would be of DREAM."""
    return METHODS.get(method_of(run), DREAM)
