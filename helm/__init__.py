"""Generators for files of the Helm chart; the chart itself is in helm/reflink."""
