"""Best responses to a frozen agent: Q-nets fitted to returns, and exact best responses in Mini Geister."""
