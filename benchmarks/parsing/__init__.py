"""The parser and the recogniser: what they find, and how fast."""
