"""Segments of an index: one ``segment``, its living rows (``parts``), their ``growth`` by merges and their ``storage``."""
