"""Trains an agent of dancfr in an environment of PettingZoo, Leduc hold'em of its classic games, and plays it there.

docs/tutorials/other-trainers.md explains the file; `pip install 'pettingzoo[classic]'` brings the game.
"""

import tempfile

import dancfr

GAME, OPTIONS = "pettingzoo:classic/leduc_holdem-v4", {"max_return": 7.0}  # chips, in units of the big blind

settings = {
    "game": GAME,
    "game_options": OPTIONS,
    "evaluation.every": 20,
    "evaluation.exploitability": False,  # PettingZoo does not tell how probable the cards are
}
with tempfile.TemporaryDirectory() as folder:
    run = dancfr.train("leduc-policy-gradient", settings, iterations=40, inline=True, run_dir=f"{folder}/run")
    print(run)
    print(run.play(against="random", games=5000, seed=1))
