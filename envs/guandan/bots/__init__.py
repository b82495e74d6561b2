"""The bots of GuanDan."""
