"""The chart's own generators; what it installs is in helm/reflink."""
