"""Hyperparameter search over the settings of a preset (`dancfr tune`)."""
