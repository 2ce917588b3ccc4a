"""The runtime, single workers and the whole pipeline under load."""
