"""Deep Monte-Carlo: the learner of Q-values, with a clip for staleness."""
