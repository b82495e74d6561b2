"""The legal actions of many tables, as one list of records for each."""

import numpy as np

from envs.game import Ragged, States
from envs.guandan.rules import tables as rules
from envs.guandan.rules.cards import action_dtype
from envs.guandan.rules.generation import LONGEST
from envs.guandan.rules.readings import TABLE


def list_actions(states: States, merged: bool) -> Ragged:
    """Lists the legal actions of all tables, with one reading per multiset if `merged`; enlarges the rows as needed."""
    offsets = np.zeros(len(states) + 1, np.int64)
    table = np.full(TABLE if merged else 1, -1, np.int64)
    rows = np.empty(LONGEST + 64 * len(states), action_dtype)
    done = rules.legal_batch(states, 0, merged, rows, offsets, table)
    while done < len(states):
        rows = np.concatenate([rows[: offsets[done]], np.empty(len(rows), action_dtype)])
        done = rules.legal_batch(states, done, merged, rows, offsets, table)
    return Ragged(offsets, rows[: offsets[-1]])


__all__ = ["list_actions"]
