"""Games: compiled rules over batches of states, and PettingZoo environments that are views of the same rules.

Importing this package sets the folder in which Numba caches compiled kernels, see `envs.compiled`.
"""

from envs import compiled as compiled
