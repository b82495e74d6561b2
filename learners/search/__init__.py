"""Search at play time: beliefs about the hidden state, roll-outs in worlds drawn from them, and the better move."""
