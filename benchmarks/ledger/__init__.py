"""The ledger at the size of a field: store, restarts, outcomes a second, and how soon a work that comes late is linked to."""
