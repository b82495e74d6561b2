"""A league: agents that play each other from time to time, with ratings that become more certain.

config.py        league.json, and a line of games.jsonl
folder.py        the folder of a league
fingerprint.py   whether the run of a member still plays as before
membership.py    the arguments of the command: game, and agents that enter and leave
rounds.py        which pairs play next
standings.py     ratings and win rates
driver.py        the command: plays batches in this process or on Ray
"""
