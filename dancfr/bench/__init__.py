"""Benchmarks: each measures a part of the program, on one core, and what limits it in the same process.

A benchmark is the function `measure` of a module here, whose docstring says what it does. It is given the seconds that
it may take, roughly; it returns what `dancfr bench NAME --json` prints: ``name``, ``rate``, ``unit``, ``limit`` (in the
same unit), ``ratio`` and ``detail``.
"""

import importlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from dancfr.errors import RunError, UsageError


@dataclass(frozen=True)
class Bench:
    """A benchmark that may be called without importing what it measures before.

    Attributes:
        name: On the command line.
        module: Where its `measure` is.
        seconds: What it takes, roughly, unless the caller says otherwise.
        description: One line.
    """

    name: str
    module: str
    seconds: float
    description: str

    def __call__(self, seconds: float | None = None) -> dict[str, Any]:
        """Measures here if this process was started with one thread, else in a process that is.

        The threads of a BLAS library cannot be changed any more once NumPy has been imported.
        """
        seconds = self.seconds if seconds is None else seconds
        if os.environ.get("OMP_NUM_THREADS") == "1":
            measured: dict[str, Any] = importlib.import_module(f"dancfr.bench.{self.module}").measure(seconds)
            return measured
        command = [sys.executable, "-m", "dancfr.bench", self.name, str(seconds)]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["it said nothing"]
            kind = UsageError if done.returncode == UsageError.exit_code else RunError
            raise kind(f"the benchmark {self.name} failed: {said[-1]}")
        measured = json.loads(done.stdout)
        return measured


BENCHES: dict[str, Bench] = {
    bench.name: bench
    for bench in (
        Bench("geister-env", "environment", 6.0, "Random plies a second of Geister in batches of 512, masks included."),
        Bench("cheat-env", "cheat", 6.0, "Random actions a second of 13x4 Cheat in batches of 512, masks included."),
        Bench(
            "dream-traversal",
            "traversal",
            12.0,
            "Decisions a second of DREAM's traversals at 512 games, beside bare inference.",
        ),
        Bench(
            "inference", "inference", 10.0, "Rows a second of a forward pass at batch 512, by the backends there are."
        ),
        Bench(
            "dream-learner",
            "learner",
            16.0,
            "Rows a second that the advantage learner trains on, with the paper's network and batch.",
        ),
        Bench(
            "guandan-env",
            "guandan",
            8.0,
            "Random decisions a second of whole matches of GuanDan at 512 tables, all legal actions included.",
        ),
        Bench(
            "guandan-selfplay",
            "self_play",
            40.0,
            "Decisions a second of Deep Monte-Carlo's self-play on GuanDan, beside bare inference.",
        ),
        Bench(
            "dmc-learner",
            "dmc_learner",
            40.0,
            "Rows a second that Deep Monte-Carlo trains on, with the paper's network and minibatch.",
        ),
        Bench("guandan-workers", "workers", 60.0, "Samples a second of self-play on two workers, beside one worker."),
        Bench(
            "cfr-plus", "tabular", 40.0, "Iterations a second of CFR+ on four games, beside OpenSpiel's solver in C++."
        ),
        Bench(
            "mccfr", "sampling", 12.0, "Iterations a second of external sampling on Leduc, beside OpenSpiel's in C++."
        ),
        Bench(
            "cheat-cfr", "cheat_cfr", 40.0, "Iterations a second of CFR on Cheat-3, beside the same in plain Python."
        ),
        Bench(
            "belief-tables",
            "belief_tables",
            40.0,
            "Nodes a second of depth-limited external sampling in tables of Mini Geister, beside reads of its rows.",
        ),
        Bench(
            "belief-search",
            "belief_search",
            12.0,
            "Infostates a second that self-play and searches with beliefs put through nets, beside bare inference.",
        ),
        Bench(
            "value-solving",
            "value_solving",
            30.0,
            "Samples a second for the value functions of paper 003, beside the bare products with payoffs.",
        ),
        Bench("average-policy", "average", 6.0, "Milliseconds of a move by the average of 200 networks on one board."),
        Bench(
            "worker-scaling",
            "scaling",
            20.0,
            "Rows a second of 8 workers that sleep where they would compute, beside 8 times those of one.",
        ),
        Bench("broadcast", "broadcast", 5.0, "Milliseconds until 16 actors have read new weights of 5 MB."),
        Bench("buffer-intake", "intake", 10.0, "MB a second that a buffer actor takes in, beside plain copies."),
        Bench("ray-overhead", "overhead", 30.0, "Decisions a second of geister-quick with Ray, beside --inline."),
        Bench("buffers", "buffers", 5.0, "Rows a second into and out of the reservoir, in blocks of 10,000."),
    )
}
