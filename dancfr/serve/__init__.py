"""Servers and clients that play games over a network, by the protocols of the games' competitions.

`dancfr.serve.guandan` and `dancfr.serve.geister` contain the server, the client and the messages of their game. The
other modules are shared by all servers and clients: options, connections, clocks and records.
"""
