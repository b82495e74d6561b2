"""Games that list their actions: nets over pairs of state and action, agents that play by them, and their search."""
