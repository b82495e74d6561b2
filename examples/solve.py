"""Solves Leduc hold'em by CFR+, stores the strategy, and measures it again from the file."""

import tempfile
from pathlib import Path

import dancfr

solution = dancfr.solve("leduc", algorithm="cfr+", iterations=1000)
print(solution)
for iteration, exploitability in solution.curve[-3:]:
    print(f"after {iteration} iterations: {exploitability:.6f} chips")

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "leduc.safetensors"
    solution.save(file)
    print(dancfr.exploitability(str(file)))
    print(dancfr.play(str(file), against="random", games=10_000, seed=1))
