"""Articles in publishers' own XML, not JATS: one engine, and one table per publisher (`reflink.formats.publishers.tables`)."""
