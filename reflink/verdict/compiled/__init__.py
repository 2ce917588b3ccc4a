"""The evidence of many pairs, compiled: flat arrays and pure functions, equal to reflink.verdict.evidence bit for bit.

A batch's text becomes one array of letters (``gathering``, ``letters``), which is folded and cut into words (``wording``,
``keys``, ``vocabulary``); records are prepared once (``packing``: ``people``, ``numerals``, ``venues``) and pairs compared
(``comparing``, ``placing``); ``points`` counts a scorecard. Kernels freeze the constants of the modules they import.
"""
