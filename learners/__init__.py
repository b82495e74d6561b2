"""Learners, which turn games or samples into policies. They use torch and Numba, but neither Ray nor files of a run."""
