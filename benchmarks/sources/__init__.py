"""Measurements of `reflink.sources`: speed and memory of the readers."""
