"""Games in which players place stones on a board and see only their own: phantom tic-tac-toe and dark hex."""
