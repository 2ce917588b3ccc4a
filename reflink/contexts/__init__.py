"""Where in its text a paper cites: mentions of references, with their sentences and groups (papers 003 and 004)."""
