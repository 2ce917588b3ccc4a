"""Rules of other publications, which link the same references to the same works: ``reflink evaluate --policy``."""
