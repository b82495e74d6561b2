"""Networks: their description, their torch modules for training, and their NumPy forward pass for playing."""
