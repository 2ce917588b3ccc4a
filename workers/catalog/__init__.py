"""How workers follow the catalog topic, open and build snapshots of it, and load works into it."""
