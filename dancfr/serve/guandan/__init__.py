"""GuanDan by the competition's messages: agents of ours at any server, and a server for any clients."""

from dancfr.serve.guandan.client import Client
from dancfr.serve.guandan.notation import ProtocolError
from dancfr.serve.guandan.table import Table

__all__ = ["Client", "ProtocolError", "Table"]
