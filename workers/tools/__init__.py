"""Tools of operators: overrides, withdrawals, dead letters, export of links, access rights, and the check of a pipeline."""
