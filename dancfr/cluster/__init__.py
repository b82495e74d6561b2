"""Jobs on a Ray cluster."""

CONTINUE = "DANCFR_CONTINUE"
"""Variable of a job with the command that continues its run from the machine that sent it."""
