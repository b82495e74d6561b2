"""Geister by the lines of its competition: agents of ours at any server, and a server for any clients."""

from dancfr.serve.geister.client import Client
from dancfr.serve.geister.referee import Referee

__all__ = ["Client", "Referee"]
