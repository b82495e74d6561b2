"""The rules of GuanDan, compiled: cards, legal actions, states, tributes."""
