"""Citation contexts: mentions, ranges, sentences, and the time that they take."""
