"""Evaluate reflink on third-party labels: the data sets, the published figures, and how far the figures are comparable."""
