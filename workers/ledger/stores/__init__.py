"""What the ledger keeps on disk: outcomes with their index, and the works of the catalog, as caches of topics."""
