"""Sharing packed agents through the Hugging Face hub.

names.py    ``hf:OWNER/NAME@REVISION``
files.py    the files that a repository with an agent has, and the check of what was fetched
readme.py   README.md of a packed agent: what the hub reads, and the card as text
faults.py   errors of `huggingface_hub` as one line with a cure
progress.py bars and log of the client
fetch.py    the agent of a repository, in the hub's cache
push.py     the command: uploads a packed agent
"""
