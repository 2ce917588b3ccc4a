"""Reading of untrusted XML."""
