"""Deep Monte-Carlo: a Q-network over pairs of state and action, its learner with a clip for staleness, its agent."""
