"""Benchmarks: each measures the speed of a component, and the speed of its limit in the same process.

A benchmark is the function `measure` of a module in this package; its docstring defines the rate and the limit. The
argument is the approximate time to spend in seconds. The result is that of `dancfr bench NAME --json`: ``name``,
``case``, ``rate``, ``unit``, ``limit`` (in the same unit), ``ratio`` and ``detail``. A benchmark that measures several
things alike, such as several games, names the first one in ``case`` and has the same keys for each other in ``others``.
No row contains the rate of one thing beside the ratio of another.
"""

import importlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from actors.packages import python_path
from dancfr.errors import RunError, UsageError


@dataclass(frozen=True)
class Bench:
    """A benchmark, which imports its module only when it is called.

    Attributes:
        name: Name on the command line.
        module: Module with the function `measure`.
        seconds: Default of the approximate time to spend.
        description: Description in one line.
    """

    name: str
    module: str
    seconds: float
    description: str

    def __call__(self, seconds: float | None = None) -> dict[str, Any]:
        """Runs the benchmark, in this process if it computes on one thread, or else in a new process with one thread.

        A new process is necessary because the number of BLAS threads is fixed when NumPy is imported.
        """
        seconds = self.seconds if seconds is None else seconds
        if os.environ.get("OMP_NUM_THREADS") == "1":
            measured: dict[str, Any] = importlib.import_module(f"dancfr.bench.{self.module}").measure(seconds)
            return measured
        command = [sys.executable, "-P", "-m", "dancfr.bench", self.name, str(seconds)]
        environment = os.environ | python_path() | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode} without a message"]
            kind = UsageError if done.returncode == UsageError.exit_code else RunError
            raise kind(f"the benchmark {self.name} failed: {lines[-1]}")
        measured = json.loads(done.stdout)
        return measured


BENCHES: dict[str, Bench] = {
    bench.name: bench
    for bench in (
        Bench("geister-env", "environment", 6.0, "Plies/s of random Geister in batches of 512, masks included."),
        Bench("cheat-env", "cheat", 6.0, "Actions/s of random 13x4 Cheat in batches of 512, masks included."),
        Bench(
            "dream-traversal",
            "traversal",
            12.0,
            "Decisions/s of DREAM's traversals of 512 games, compared with bare inference.",
        ),
        Bench(
            "inference",
            "inference",
            10.0,
            "Rows/s of forward passes with batches of 512, compared with the bare products and other backends.",
        ),
        Bench(
            "dream-learner",
            "learner",
            16.0,
            "Rows/s of the advantage learner, with the paper's network and batch.",
        ),
        Bench(
            "policy-gradient",
            "policy_gradient",
            20.0,
            "Decisions/s of self-play and learning by policy gradients on one core, compared with the nets alone.",
        ),
        Bench(
            "guandan-env",
            "guandan",
            8.0,
            "Decisions/s of random matches of GuanDan at 512 tables, all legal actions included.",
        ),
        Bench(
            "guandan-selfplay",
            "self_play",
            40.0,
            "Decisions/s of Deep Monte-Carlo self-play on GuanDan, compared with bare inference.",
        ),
        Bench(
            "guandan-policy",
            "candidate_policy",
            30.0,
            "Samples/s of self-play and learning of guandan-quick on one core, compared with the nets alone.",
        ),
        Bench(
            "dmc-learner",
            "dmc_learner",
            40.0,
            "Rows/s of the Deep Monte-Carlo learner, with the paper's network and minibatch.",
        ),
        Bench("guandan-workers", "workers", 60.0, "Samples/s of self-play on two workers, compared with one."),
        Bench(
            "cfr-plus",
            "tabular",
            40.0,
            "Iterations/s of CFR+ on each of four games, compared with OpenSpiel's C++ solver.",
        ),
        Bench("mccfr", "sampling", 12.0, "Iterations/s of external sampling on Leduc, compared with OpenSpiel in C++."),
        Bench(
            "cheat-cfr",
            "cheat_cfr",
            40.0,
            "Iterations/s of CFR on Cheat-3, compared with plain Python on the same nodes.",
        ),
        Bench(
            "belief-tables",
            "belief_tables",
            40.0,
            "Nodes/s of depth-limited external sampling with tables, compared with reads of table rows.",
        ),
        Bench(
            "exact-walk",
            "exact_walk",
            20.0,
            "Histories/s of exact evaluations of dark hex, compared with a walk that only counts them.",
        ),
        Bench("play", "play", 30.0, "Agents' moves/s at 50 tables of `dancfr play` on one core, over WebSockets."),
        Bench(
            "belief-search",
            "belief_search",
            12.0,
            "Infostates/s of self-play and searches with beliefs, compared with bare inference.",
        ),
        Bench(
            "value-solving",
            "value_solving",
            30.0,
            "Samples/s of the data sets of paper 003, compared with the bare products with payoffs.",
        ),
        Bench("average-policy", "average", 6.0, "Milliseconds per move of the average of 200 networks."),
        Bench(
            "worker-scaling",
            "scaling",
            60.0,
            "Decisions/s of DREAM's traversals with a worker for each core, compared with perfect scaling.",
        ),
        Bench(
            "coordination",
            "coordination",
            20.0,
            "Chunks/s of the driver and 8 workers that sleep instead of computing.",
        ),
        Bench("broadcast", "broadcast", 5.0, "Milliseconds until 16 actors have read new weights of 5 MB."),
        Bench("buffer-intake", "intake", 10.0, "MB/s added to a buffer actor, compared with plain copies."),
        Bench(
            "ray-overhead",
            "overhead",
            60.0,
            "Decisions per CPU second of geister-quick with Ray, compared with --inline.",
        ),
        Bench("buffers", "buffers", 5.0, "Rows/s into and out of the reservoir, in blocks of 10,000."),
    )
}
