"""Learners: what turns games or samples into policies. Knows torch and Numba; knows neither Ray nor files of a run."""
