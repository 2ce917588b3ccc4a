"""Performance measurements, run by hand; no test runs them."""
