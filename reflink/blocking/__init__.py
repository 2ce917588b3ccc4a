"""Blocking keys, which a reference and the work that it cites share: identifiers, locators, and words of titles."""
