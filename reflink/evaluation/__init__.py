"""Evaluation: the protocol's closed and open worlds, figures with intervals, and the training of the verdict."""
