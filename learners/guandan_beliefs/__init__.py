"""Beliefs about the hidden hands of GuanDan, learnt from games."""
