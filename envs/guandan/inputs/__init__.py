"""Inputs of nets and bots in GuanDan: infostates, splits of a hand into plays, prices, candidates."""
