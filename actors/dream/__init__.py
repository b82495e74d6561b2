"""Traversals of DREAM and of external sampling, which run in workers."""
