"""What runs many times: traversals, self-play, evaluation and buffers, and the pool that starts and restarts them."""
