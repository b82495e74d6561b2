"""Best responses to a frozen agent: a Q-net fitted to returns against it, and an exact one in Mini Geister."""
