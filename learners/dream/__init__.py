"""DREAM: regret matching, sampled advantages with baselines, advantage and baseline learners, average policies."""
