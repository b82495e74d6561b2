"""Geister by the line protocol of its competition: agents at any such server, and a server for any clients."""

from dancfr.serve.geister.client import Client
from dancfr.serve.geister.referee import Referee

__all__ = ["Client", "Referee"]
