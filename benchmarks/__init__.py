"""Speed, measured by hand; never in a test."""
