"""Conversion from and to OpenSpiel: its games as `Game` and `Tree`, our trees and policies as its games and policies.

It needs the extra ``openspiel``; `pyspiel` is imported only where it is used.
"""

from envs.openspiel.efg import to_efg
from envs.openspiel.game import OpenSpielGame
from envs.openspiel.loading import load_openspiel
from envs.openspiel.policy import Correspondence, correspond, from_openspiel_policy, to_openspiel_policy
from envs.openspiel.tree import openspiel_tree

__all__ = [
    "Correspondence",
    "OpenSpielGame",
    "correspond",
    "from_openspiel_policy",
    "load_openspiel",
    "openspiel_tree",
    "to_efg",
    "to_openspiel_policy",
]
