"""Programs that play games with others over a network, by the messages of each game's competition.

`dancfr.serve.guandan` and `dancfr.serve.geister` hold a server, a client and the messages of their game; the modules
beside them are what any server or client needs: options, connections, clocks and records.
"""
