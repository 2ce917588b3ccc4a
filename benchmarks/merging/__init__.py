"""Measure how well records of one article are found and joined, beside splink."""
