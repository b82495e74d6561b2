"""Games as compiled batched rules, with PettingZoo views of the same rules.

Importing this package decides where Numba keeps its compiled kernels, see `envs.compiled`.
"""

from envs import compiled as compiled
