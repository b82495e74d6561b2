"""Beliefs about the hidden hands of GuanDan: certain knowledge, inputs and scores of a net, and deals that agree."""
