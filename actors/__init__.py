"""Code that runs in many processes: traversals, self-play, buffer and learner servers, and the pool of workers."""
