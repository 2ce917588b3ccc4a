"""Cost of a catalog's works on disk: size, lookups, building."""
