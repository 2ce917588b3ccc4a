"""Compiled kernels that compute the evidence of many pairs: pure functions on flat arrays.

1. ``gathering`` joins the text of a batch into one array of characters; ``letters`` holds the folding tables, and ``tables``
   all tables in one tuple.
2. ``packing`` prepares each record once: ``wording``, ``keys``, ``people``, ``numerals`` and ``vocabulary`` fold the text and
   extract words, trigrams, numbers and names.
3. ``comparing`` computes the evidence of each pair, with ``placing``, ``people`` and ``venues``.
4. ``points`` computes the score of each pair on its scorecard.

A kernel freezes the constants of the modules that it imports: `vocabulary` explains what to do after a change.
"""
