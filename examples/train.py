"""Trains DREAM on Leduc hold'em for a few iterations, reads its curve, and bounds the agent's loss to any opponent.

Without `inline=True`, the training starts a local Ray and uses all cores.
"""

import tempfile

import dancfr

with tempfile.TemporaryDirectory() as folder:
    settings = {"advantage_training.minibatches": 50, "baseline_training.minibatches": 20}
    run = dancfr.train("leduc-dream-quick", settings, iterations=4, inline=True, run_dir=f"{folder}/run")
    iterations, nash_conv = run.metric("nash_conv", policy="average")
    print(run, dict(zip(iterations.tolist(), nash_conv.tolist(), strict=True)))
    print(run.play(against="random", games=2000, seed=1))
    print(dancfr.best_response(run.name(), minutes=0.2, eval_games=2000, seed=1))

    again = dancfr.load_run(run.path)  # in another program, or tomorrow
    print(dancfr.exploitability(again.name()))
