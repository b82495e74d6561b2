"""GuanDan by the competition's messages: agents of ours at any server, and a server for any clients."""

from dancfr.serve.client import Client
from dancfr.serve.notation import ProtocolError
from dancfr.serve.table import Table

__all__ = ["Client", "ProtocolError", "Table"]
