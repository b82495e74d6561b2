"""GuanDan by the JSON messages of its competition: agents at any such server, and a server for any clients."""

from dancfr.serve.guandan.client import Client
from dancfr.serve.guandan.table import Table
from dancfr.serve.messages import ProtocolError

__all__ = ["Client", "ProtocolError", "Table"]
