"""Geister by belief states with nets: the nets' inputs, the policies that they give, and the agent (paper 002)."""
