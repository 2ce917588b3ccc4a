"""Tests that the links after any history equal those of a fresh run over the final papers, works and overrides."""
