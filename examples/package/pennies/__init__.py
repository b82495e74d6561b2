"""A game and a method of one's own: matching pennies, and Hedge."""
