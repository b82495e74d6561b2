"""Search at play time: beliefs about what is hidden, roll-outs in worlds drawn from them, and the better move."""
